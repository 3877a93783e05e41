/** A text that is written often, such as an attribute name, stored so that four bytes are written at a time. */
export class EncodedText {
  /** In bytes. */
  readonly length: number
  /** Little-endian; the last word is zero-padded. */
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
