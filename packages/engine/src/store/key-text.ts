/** Keys as strings, for maps and sets. */
import type { Bytes } from './entries.ts'

/** One character per byte, which preserves order. */
export function keyText(key: Bytes): string {
  const buffer = Buffer.isBuffer(key) ? key : Buffer.from(key.buffer, key.byteOffset, key.length)
  return buffer.toString('latin1')
}
