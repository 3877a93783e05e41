/** Keys of appended values, which contain the number of the commit. Part of the storage format. */
import type { Append, Bytes, Change, KeyRange } from './store.ts'

/** The first two bytes of every prefix, and of no other keys. */
export const appendSpace = 0x07
export const appendPart = 0x00
export const appendPrefixBytes = 6
export const appendNumberBytes = 8
/** Offset of the value's position within its commit. */
export const appendSuffixAt = appendPrefixBytes + appendNumberBytes
const suffixBytes = 8
export const appendedKeyBytes = appendSuffixAt + suffixBytes

/** Whether the key may belong to an appended value. */
export function isAppendedKey(key: Bytes): boolean {
  return key[0] === appendSpace && key[1] === appendPart
}

/** The first key of a commit. `number`: from 1, below 2^53. */
export function firstAppendedKey(prefix: Bytes, number: number): Buffer {
  return writeKey(Buffer.allocUnsafe(appendSuffixAt), prefix, number)
}

/** `part`: position within the commit, from 0. `bytes`: length of the value, so that keys alone show the size. */
export function appendedKey(prefix: Bytes, number: number, part: number, bytes: number): Buffer {
  const key = writeKey(Buffer.allocUnsafe(appendedKeyBytes), prefix, number)
  writeSuffix(key, part, bytes)
  return key
}

function writeKey(key: Buffer, prefix: Bytes, number: number): Buffer {
  key.set(prefix)
  key.writeUInt32BE(Math.floor(number / 2 ** 32), appendPrefixBytes)
  key.writeUInt32BE(number % 2 ** 32, appendPrefixBytes + 4)
  return key
}

export function writeSuffix(key: Buffer, part: number, bytes: number): void {
  key.writeUInt32BE(part, appendSuffixAt)
  key.writeUInt32BE(bytes, appendSuffixAt + 4)
}

/** The commit number in a key; for a block, that of its last commit. */
export function appendedNumber(key: Bytes): number {
  return uint32At(key, appendPrefixBytes) * 2 ** 32 + uint32At(key, appendPrefixBytes + 4)
}

/** The part number in a complete key; `blockPart` for a block. */
export function appendedPart(key: Bytes): number {
  return uint32At(key, appendSuffixAt)
}

/** The length of the value, as recorded in the key. */
export function appendedBytes(key: Bytes): number {
  return uint32At(key, appendSuffixAt + 4)
}

function uint32At(key: Bytes, at: number): number {
  const byte = (nth: number): number => key[at + nth] as number
  return ((byte(0) << 24) | (byte(1) << 16) | (byte(2) << 8) | byte(3)) >>> 0
}

/** All keys under the prefix. No number has its highest bit set. */
export function appendedRange(prefix: Bytes): Required<KeyRange> {
  return { from: prefix as Bytes, to: Buffer.concat([prefix, Buffer.of(0xff)]) }
}

export function appendedPuts({ prefix, values }: Append, number: number): Change[] {
  return values.map((value, part) => ({ kind: 'put', key: appendedKey(prefix, number, part, value.length), value }))
}
