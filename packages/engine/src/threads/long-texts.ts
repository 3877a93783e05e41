/** Texts of statements whose last run took longer than a slice: they start in a thread, at no cost to the event loop. */
const textsMax = 2_048
const charactersMax = 2_048

export class LongTexts {
  private readonly texts = new Set<string>()

  has(text: string): boolean {
    return this.texts.has(text)
  }

  add(text: string): void {
    if (text.length > charactersMax) return
    // Clears all, since texts in use are soon added again.
    if (this.texts.size === textsMax) this.texts.clear()
    this.texts.add(text)
  }

  delete(text: string): void {
    this.texts.delete(text)
  }
}
