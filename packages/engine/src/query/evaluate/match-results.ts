/** Cache of pattern matches for short texts: columns often have few distinct values. */

const resultsMax = 256
const charactersMax = 16

export class MatchResults {
  private readonly results = new Map<string, boolean>()
  private pattern: string | undefined

  /** Undefined where the result is not cached. A new pattern clears the cache. */
  of(pattern: string, text: string): boolean | undefined {
    if (pattern !== this.pattern) {
      this.pattern = pattern
      this.results.clear()
    }
    return text.length > charactersMax ? undefined : this.results.get(text)
  }

  /** For the pattern of the last call of `of`. */
  add(text: string, isMatch: boolean): void {
    if (text.length <= charactersMax && this.results.size < resultsMax) this.results.set(text, isMatch)
  }
}
