/** A reusable view of a key in packed rows, borrowed until the next call: one view per key would cost more than the keys themselves. */
import { packedLengthAt, packedLengthBytes } from '../packed-rows.ts'

/** Up to this length a loop is faster than a native call. */
const loopedBytes = 48

export class BorrowedKey {
  private readonly buffer: Buffer
  /** Views of the buffer, by length. */
  private readonly views: (Buffer | undefined)[]

  constructor(keyBytesMost: number) {
    this.buffer = Buffer.allocUnsafeSlow(keyBytesMost)
    this.views = new Array<Buffer | undefined>(keyBytesMost + 1).fill(undefined)
  }

  /** The key whose length prefix is at offset `place` of packed keys. */
  at(keys: Buffer, place: number): Buffer {
    const length = packedLengthAt(keys, place)
    const from = place + packedLengthBytes
    const { buffer } = this
    if (length > loopedBytes) keys.copy(buffer, 0, from, from + length)
    else for (let i = 0; i < length; i++) buffer[i] = keys[from + i] as number
    let view = this.views[length]
    if (view === undefined) {
      view = buffer.subarray(0, length)
      this.views[length] = view
    }
    return view
  }
}
