/** JSON with comments, as configuration files have it: what stands in comments becomes blanks, so that places in messages stay right. */

const commentOrText = /"(?:[^"\\]|\\.)*"|\/\/[^\n]*|\/\*[\s\S]*?\*\//g

export function withoutComments(text: string): string {
  return text.replaceAll(commentOrText, (found) => (found.startsWith('"') ? found : found.replaceAll(/[^\n]/g, ' ')))
}
