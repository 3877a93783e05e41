/** A text that is written many times, such as the name of an attribute: kept so that four of its bytes are written at once. */
export class PreparedText {
  /** In bytes. */
  readonly length: number
  /** Little-endian; the last one is filled up with zeros. */
  readonly words: Int32Array

  constructor(text: string) {
    const bytes = Buffer.from(text)
    this.length = bytes.length
    this.words = new Int32Array(Math.ceil(bytes.length / 4))
    const padded = Buffer.alloc(this.words.length * 4)
    bytes.copy(padded)
    for (let i = 0; i < this.words.length; i++) this.words[i] = padded.readInt32LE(i * 4)
  }
}
