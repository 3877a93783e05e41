/** The checksum that follows each stored value: CRC-32 over key and value, in four bytes. */
import { crc32 } from 'node:zlib'
import type { Bytes } from '../store.ts'

export const checksumBytes = 4

// Below this length JavaScript is faster than calling zlib; see docs/decisions/0007-damage.md.
const nativeBytesMin = 320

/** Up to this length a loop is faster than a native call. */
const loopedBytes = 48

/** The same for a part of a buffer, for which the native call would need a view. */
const partLoopedBytes = 160

/** Sixteen tables of 256 entries each: table n has the effect of a byte that n more bytes follow. */
const table = slicingTable()

/** The value followed by its checksum, in a new buffer. */
export function withChecksum(key: Bytes, value: Bytes): Buffer {
  const stored = Buffer.allocUnsafe(value.length + checksumBytes)
  fill(stored, key, value)
  return stored
}

/** lmdb-js writes the bytes from `start` to `end` of a buffer that has these properties. */
export interface BorrowedBuffer extends Buffer {
  start: number
  end: number
}

const borrowed: BorrowedBuffer = Object.assign(Buffer.allocUnsafeSlow(65_536), { start: 0, end: 0 })

/** The same in a reused buffer if the value fits, for writes that copy it immediately. */
export function borrowedWithChecksum(key: Bytes, value: Bytes): Buffer | BorrowedBuffer {
  const length = value.length + checksumBytes
  if (length > borrowed.length) return withChecksum(key, value)
  fill(borrowed, key, value)
  borrowed.end = length
  return borrowed
}

/** Like `borrowedWithChecksum`, for a value within `bytes`. */
export function borrowedPartWithChecksum(
  key: Bytes,
  bytes: Bytes,
  from: number,
  length: number,
): Buffer | BorrowedBuffer {
  if (length > partLoopedBytes) return borrowedWithChecksum(key, bytes.subarray(from, from + length))
  for (let at = 0; at < length; at++) borrowed[at] = bytes[from + at] as number
  addChecksum(borrowed, key, length)
  borrowed.end = length + checksumBytes
  return borrowed
}

function fill(stored: Buffer, key: Bytes, value: Bytes): void {
  const { length } = value
  if (length > loopedBytes) stored.set(value)
  else for (let at = 0; at < length; at++) stored[at] = value[at] as number
  addChecksum(stored, key, length)
}

/** Writes the checksum after the first `length` bytes, the value. */
function addChecksum(stored: Buffer, key: Bytes, length: number): void {
  const sum = checksum(key, stored, length)
  stored[length] = sum >>> 24
  stored[length + 1] = (sum >>> 16) & 0xff
  stored[length + 2] = (sum >>> 8) & 0xff
  stored[length + 3] = sum & 0xff
}

/** Length of a value stored with its checksum; -1 if the checksum does not match. `view`: of the bytes of `stored`, if available. */
export function checkedLength(key: Bytes, stored: Bytes, storedLength: number, view?: DataView): number {
  const length = storedLength - checksumBytes
  if (length < 0) return -1
  const sum =
    ((stored[length] as number) << 24) |
    ((stored[length + 1] as number) << 16) |
    ((stored[length + 2] as number) << 8) |
    (stored[length + 3] as number)
  const found =
    view === undefined || length >= nativeBytesMin
      ? checksum(key, stored, length)
      : checksumWithin(view, 0, length, addBytes(~0, key, key.length))
  return found === sum ? length : -1
}

/** The checksum of the key and the first `length` bytes of `value`, as a signed 32-bit number. */
export function checksum(key: Bytes, value: Bytes, length: number): number {
  const keySum = addBytes(~0, key, key.length)
  if (length < nativeBytesMin) return ~addBytes(keySum, value, length)
  return crc32(value.subarray(0, length), ~keySum >>> 0) | 0
}

/** Steps of eight bytes, then four; each of the at most three remaining bytes takes as long as a step of four. */
function addBytes(sum: number, bytes: Bytes, length: number): number {
  let at = 0
  let crc = sum
  for (; at + 8 <= length; at += 8) {
    crc ^= littleEndian(bytes, at)
    crc =
      entry(0x700, crc & 0xff) ^
      entry(0x600, (crc >>> 8) & 0xff) ^
      entry(0x500, (crc >>> 16) & 0xff) ^
      entry(0x400, crc >>> 24) ^
      entry(0x300, byte(bytes, at + 4)) ^
      entry(0x200, byte(bytes, at + 5)) ^
      entry(0x100, byte(bytes, at + 6)) ^
      entry(0, byte(bytes, at + 7))
  }
  if (at + 4 <= length) {
    crc ^= littleEndian(bytes, at)
    crc =
      entry(0x300, crc & 0xff) ^
      entry(0x200, (crc >>> 8) & 0xff) ^
      entry(0x100, (crc >>> 16) & 0xff) ^
      entry(0, crc >>> 24)
    at += 4
  }
  for (; at < length; at++) crc = entry(0, (crc ^ byte(bytes, at)) & 0xff) ^ (crc >>> 8)
  return crc
}

/**
 * The checksum of the bytes from `from` to `end`, such as a key directly followed by its value, as a signed 32-bit number. `before`: result of
 * `addBytes` for the preceding bytes. Sixteen bytes per step, without calls: V8 would not inline that many.
 */
export function checksumWithin(view: DataView, from: number, end: number, before = ~0): number {
  const sums = table
  let at = from
  let crc = before
  for (; at + 16 <= end; at += 16) {
    crc ^= view.getInt32(at, true)
    const second = view.getInt32(at + 4, true)
    const third = view.getInt32(at + 8, true)
    const fourth = view.getInt32(at + 12, true)
    crc =
      (sums[0xf00 | (crc & 0xff)] as number) ^
      (sums[0xe00 | ((crc >>> 8) & 0xff)] as number) ^
      (sums[0xd00 | ((crc >>> 16) & 0xff)] as number) ^
      (sums[0xc00 | (crc >>> 24)] as number) ^
      (sums[0xb00 | (second & 0xff)] as number) ^
      (sums[0xa00 | ((second >>> 8) & 0xff)] as number) ^
      (sums[0x900 | ((second >>> 16) & 0xff)] as number) ^
      (sums[0x800 | (second >>> 24)] as number) ^
      (sums[0x700 | (third & 0xff)] as number) ^
      (sums[0x600 | ((third >>> 8) & 0xff)] as number) ^
      (sums[0x500 | ((third >>> 16) & 0xff)] as number) ^
      (sums[0x400 | (third >>> 24)] as number) ^
      (sums[0x300 | (fourth & 0xff)] as number) ^
      (sums[0x200 | ((fourth >>> 8) & 0xff)] as number) ^
      (sums[0x100 | ((fourth >>> 16) & 0xff)] as number) ^
      (sums[fourth >>> 24] as number)
  }
  for (; at + 4 <= end; at += 4) {
    crc ^= view.getInt32(at, true)
    crc =
      (sums[0x300 | (crc & 0xff)] as number) ^
      (sums[0x200 | ((crc >>> 8) & 0xff)] as number) ^
      (sums[0x100 | ((crc >>> 16) & 0xff)] as number) ^
      (sums[crc >>> 24] as number)
  }
  for (; at < end; at++) crc = (sums[(crc ^ view.getUint8(at)) & 0xff] as number) ^ (crc >>> 8)
  return ~crc
}

function littleEndian(bytes: Bytes, at: number): number {
  return byte(bytes, at) | (byte(bytes, at + 1) << 8) | (byte(bytes, at + 2) << 16) | (byte(bytes, at + 3) << 24)
}

function byte(bytes: Bytes, at: number): number {
  return bytes[at] as number
}

/** `nth`: offset of the table. */
function entry(nth: number, at: number): number {
  return table[nth | at] as number
}

function slicingTable(): Int32Array {
  const polynomial = 0xedb88320
  const entries = new Int32Array(4_096)
  for (let value = 0; value < 256; value++) {
    let crc = value
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ polynomial : crc >>> 1
    entries[value] = crc
  }
  for (let at = 256; at < entries.length; at++) {
    const crc = entries[at - 256] as number
    entries[at] = (crc >>> 8) ^ (entries[crc & 0xff] as number)
  }
  return entries
}
