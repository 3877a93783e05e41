/** The entries of a range as a short byte string: two ranges with the same content hold the same entries. */
import { createHash, type Hash } from 'node:crypto'
import type { Bytes } from './store.ts'

/** Contents up to this length are not hashed. */
export const plainContentBytes = 1_024

const keyLengthBytes = 2
const valueLengthBytes = 4
const bufferBytes = 16_384
const firstBufferBytes = 128

/**
 * Collects entries in key order. The content has, per entry, the length of its key (2 bytes), the key, and unless
 * only keys count, the length of the value (4 bytes) and its first `valueBytes`. Contents longer than
 * `plainContentBytes` are replaced by their SHA-256. The commit function on PostgreSQL computes the same.
 */
export class RangeContent {
  count = 0
  private readonly valueBytes: number
  private buffer = Buffer.allocUnsafe(firstBufferBytes)
  private length = 0
  private hash: Hash | undefined

  constructor(valueBytes: number) {
    this.valueBytes = valueBytes
  }

  add(key: Bytes, value: Bytes): void {
    this.count++
    const valueBytes = Math.min(value.length, this.valueBytes)
    this.reserve(keyLengthBytes + key.length + valueLengthBytes)
    this.length = this.buffer.writeUInt16BE(key.length, this.length)
    this.buffer.set(key, this.length)
    this.length += key.length
    if (this.valueBytes === 0) return
    this.length = this.buffer.writeUInt32BE(value.length, this.length)
    for (let at = 0; at < valueBytes; at += bufferBytes) {
      const part = value.subarray(at, Math.min(at + bufferBytes, valueBytes))
      this.reserve(part.length)
      this.buffer.set(part, this.length)
      this.length += part.length
    }
  }

  /** Nothing can be added afterwards. */
  bytes(): Buffer {
    const rest = this.buffer.subarray(0, this.length)
    if (this.hash === undefined && this.length <= plainContentBytes) return rest
    return (this.hash ?? createHash('sha256')).update(rest).digest()
  }

  private reserve(bytes: number): void {
    if (this.length + bytes <= this.buffer.length) return
    if (this.buffer.length < bufferBytes) {
      const larger = Buffer.allocUnsafe(
        Math.min(bufferBytes, Math.max(2 * (this.length + bytes), 4 * this.buffer.length)),
      )
      this.buffer.copy(larger, 0, 0, this.length)
      this.buffer = larger
      if (this.length + bytes <= this.buffer.length) return
    }
    this.hash ??= createHash('sha256')
    this.hash.update(this.buffer.subarray(0, this.length))
    this.length = 0
  }
}
