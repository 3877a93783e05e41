/** The keys that commits append, and the last number assigned. */
import type { Append, Bytes, Change, KeyRange } from './store.ts'

export const appendPrefixBytes = 6
export const appendNumberBytes = 8
/** Where in a key what the entry itself adds begins. */
export const appendSuffixAt = appendPrefixBytes + appendNumberBytes

/** `number`: from 1, below 2^53. */
export function appendedKey(prefix: Bytes, number: number, suffix: Bytes): Buffer {
  const key = Buffer.allocUnsafe(appendSuffixAt + suffix.length)
  key.set(prefix)
  key.writeUInt32BE(Math.floor(number / 2 ** 32), appendPrefixBytes)
  key.writeUInt32BE(number % 2 ** 32, appendPrefixBytes + 4)
  key.set(suffix, appendSuffixAt)
  return key
}

/** Of a key with a number. */
export function appendedNumber(key: Bytes): number {
  const bytes = Buffer.from(key.buffer, key.byteOffset, key.length)
  return bytes.readUInt32BE(appendPrefixBytes) * 2 ** 32 + bytes.readUInt32BE(appendPrefixBytes + 4)
}

/** All that is appended under the prefix. No number has its highest bit set. */
export function appendedRange(prefix: Bytes): Required<KeyRange> {
  return { from: prefix as Bytes, to: Buffer.concat([prefix, Buffer.of(0xff)]) }
}

export function appendedPuts({ prefix, entries }: Append, number: number): Change[] {
  return entries.map(({ suffix, value }) => ({ kind: 'put', key: appendedKey(prefix, number, suffix), value }))
}
