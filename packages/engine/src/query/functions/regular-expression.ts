/** Regular expressions in time linear in the text: RE2's dialect. Seen by this file only. */
import { RE2JS } from 're2js'

export interface RegularExpression {
  /** True where it is found anywhere in the text. */
  isIn(text: string): boolean
}

const patternCharactersMax = 1_000

/** What is wrong with it, as a text, where the pattern is none. */
export function compileRegularExpression(pattern: string, isIgnoringCase: boolean): RegularExpression | string {
  if (pattern.length > patternCharactersMax) {
    return `a regular expression has at most ${patternCharactersMax} characters, not ${pattern.length}`
  }
  try {
    const compiled = RE2JS.compile(pattern, isIgnoringCase ? RE2JS.CASE_INSENSITIVE : 0)
    return { isIn: (text) => compiled.test(text) }
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}
