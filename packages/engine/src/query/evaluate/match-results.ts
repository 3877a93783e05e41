/** What matching short texts with one pattern came to: columns often hold few different ones. */

const resultsMax = 256
const charactersMax = 16

export class MatchResults {
  private readonly results = new Map<string, boolean>()
  private pattern: string | undefined

  /** Of a pattern; undefined where it is not known. Those of another pattern are forgotten. */
  of(pattern: string, text: string): boolean | undefined {
    if (pattern !== this.pattern) {
      this.pattern = pattern
      this.results.clear()
    }
    return text.length > charactersMax ? undefined : this.results.get(text)
  }

  /** To the pattern that was asked for last. */
  add(text: string, isMatch: boolean): void {
    if (text.length <= charactersMax && this.results.size < resultsMax) this.results.set(text, isMatch)
  }
}
