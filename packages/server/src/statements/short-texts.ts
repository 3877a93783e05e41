/**
 * Texts of statements that ended, when they were run last, in the turn of the event loop in which they began: they may begin before long ones that
 * wait for their turn. One whose values have made it long is none from then on.
 */
const textsMax = 2_048
const charactersMax = 2_048

export class ShortTexts {
  private readonly texts = new Set<string>()

  has(text: string): boolean {
    return this.texts.has(text)
  }

  /** Notes a text whose statement ended at once. */
  note(text: string): void {
    if (text.length > charactersMax || this.texts.has(text)) return
    // All of them, since those that are still in use are soon known again.
    if (this.texts.size === textsMax) this.texts.clear()
    this.texts.add(text)
  }

  /** Removes a text whose statement took longer. */
  remove(text: string): void {
    this.texts.delete(text)
  }
}
