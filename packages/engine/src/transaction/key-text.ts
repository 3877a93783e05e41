/** Keys as strings, for maps and sets. */
import type { Bytes } from '../store/store.ts'

/** A key as a string, one character for each byte, in the same order. */
export function keyText(key: Bytes): string {
  const buffer = Buffer.isBuffer(key) ? key : Buffer.from(key.buffer, key.byteOffset, key.length)
  return buffer.toString('latin1')
}
