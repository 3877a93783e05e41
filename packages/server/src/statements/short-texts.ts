/**
 * Texts of statements whose last run ended in the turn of the event loop in which it began: they may begin before long ones that are queued. A text
 * is removed if other values have made it long.
 */
const textsMax = 2_048
const charactersMax = 2_048

export class ShortTexts {
  private readonly texts = new Set<string>()

  has(text: string): boolean {
    return this.texts.has(text)
  }

  /** Records a text whose statement was short. */
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
