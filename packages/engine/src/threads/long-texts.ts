/** Texts of statements that took longer than a slice when they were run last: they begin in a thread, and cost the event loop nothing. */
const textsMax = 2_048
const charactersMax = 2_048

export class LongTexts {
  private readonly texts = new Set<string>()

  has(text: string): boolean {
    return this.texts.has(text)
  }

  add(text: string): void {
    if (text.length > charactersMax) return
    // All of them, since those that are in use are soon known again.
    if (this.texts.size === textsMax) this.texts.clear()
    this.texts.add(text)
  }

  /** It took less than a slice. */
  delete(text: string): void {
    this.texts.delete(text)
  }
}
