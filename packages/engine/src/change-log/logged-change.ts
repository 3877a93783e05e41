/** The encoding of a change in a log entry. Part of the storage format. */
import { assert } from '../errors.ts'
import type { Bytes } from '../store/store.ts'

export interface LoggedChange {
  readonly key: Bytes
  /**
   * The previous value: for a record always; for a class, unless an earlier build logged it. For a removed link the known part of it: empty if there
   * was none, absent if it is removed with its object.
   */
  readonly before: Bytes | undefined
  /** Absent if the entry is removed. */
  readonly after: Bytes | undefined
}

const tagBefore = 1
const tagAfter = 2
/** Lengths are shorter, and `after` is encoded as a difference from `before`. */
const tagShort = 4

const shortKeyMax = 0xff
const shortValueMax = 0xffff

export function changeBytesMax(key: Bytes, before: Bytes | undefined, after: Bytes | undefined): number {
  return 3 + key.length + (before === undefined ? 0 : 4 + before.length) + (after === undefined ? 0 : 4 + after.length)
}

/** Returns the end offset. */
export function writeChange(
  to: Buffer,
  start: number,
  key: Bytes,
  before: Bytes | undefined,
  after: Bytes | undefined,
): number {
  const tag = (before === undefined ? 0 : tagBefore) | (after === undefined ? 0 : tagAfter)
  const longest = Math.max(before?.length ?? 0, after?.length ?? 0)
  if (key.length > shortKeyMax || longest > shortValueMax) {
    to[start] = tag
    let at = copy(key, to, writeUint16(to, start + 1, key.length))
    if (before !== undefined) at = copy(before, to, writeUint32(to, at, before.length))
    if (after !== undefined) at = copy(after, to, writeUint32(to, at, after.length))
    return at
  }
  to[start] = tag | tagShort
  to[start + 1] = key.length
  let at = copy(key, to, start + 2)
  if (before !== undefined) at = copy(before, to, writeUint16(to, at, before.length))
  if (after === undefined) return at
  return before === undefined
    ? copy(after, to, writeUint16(to, at, after.length))
    : writeDifference(to, at, before, after)
}

/** The encoding of a change that is too long for the short form, in parts without copies of long values. */
export function* longChangeParts({ key, before, after }: LoggedChange): Generator<Bytes> {
  const head = Buffer.allocUnsafe(3)
  head[0] = (before === undefined ? 0 : tagBefore) | (after === undefined ? 0 : tagAfter)
  writeUint16(head, 1, key.length)
  yield head
  yield key
  for (const one of [before, after]) {
    if (one === undefined) continue
    const length = Buffer.allocUnsafe(4)
    writeUint32(length, 0, one.length)
    yield length
    yield one
  }
}

function writeDifference(to: Buffer, start: number, before: Bytes, after: Bytes): number {
  const shared = Math.min(before.length, after.length)
  let first = 0
  while (first < shared && before[first] === after[first]) first++
  const beforeEnd = before.length - 1
  const afterEnd = after.length - 1
  let last = 0
  while (last < shared - first && before[beforeEnd - last] === after[afterEnd - last]) last++
  const others = after.length - first - last
  let at = writeUint16(to, start, first)
  at = writeUint16(to, at, last)
  at = writeUint16(to, at, others)
  for (let nth = 0; nth < others; nth++) to[at + nth] = after[first + nth] as number
  return at + others
}

/** Both return the end offset. Methods of buffers make checks that are too slow for every commit. */
export function writeUint16(to: Buffer, at: number, value: number): number {
  to[at] = value >>> 8
  to[at + 1] = value & 0xff
  return at + 2
}

export function writeUint32(to: Buffer, at: number, value: number): number {
  writeUint16(to, at, value >>> 16)
  return writeUint16(to, at + 2, value & 0xffff)
}

/** Up to this length a loop is faster than a native call. */
const loopedBytes = 48

function copy(bytes: Bytes, to: Buffer, at: number): number {
  const { length } = bytes
  if (length > loopedBytes) to.set(bytes, at)
  else for (let nth = 0; nth < length; nth++) to[at + nth] = bytes[nth] as number
  return at + length
}

/** Decodes consecutive changes. The results are views, except for values encoded as differences. */
export class ChangeReader {
  private readonly body: Buffer
  private at = 0

  constructor(body: Buffer) {
    this.body = body
  }

  get isAtEnd(): boolean {
    return this.at >= this.body.length
  }

  next(): LoggedChange {
    const tag = this.body[this.at++] as number
    const isShort = (tag & tagShort) !== 0
    const key = this.bytes(this.number(isShort ? 1 : 2))
    const lengthBytes = isShort ? 2 : 4
    const before = (tag & tagBefore) === 0 ? undefined : this.bytes(this.number(lengthBytes))
    const after = (tag & tagAfter) === 0 ? undefined : this.after(isShort ? before : undefined, lengthBytes)
    return { key, before, after }
  }

  private after(from: Buffer | undefined, lengthBytes: number): Buffer {
    if (from === undefined) return this.bytes(this.number(lengthBytes))
    const [first, last, others] = [this.number(2), this.number(2), this.number(2)] as const
    assert(first + last <= from.length, 'a difference in the change log is one from what is there before')
    return Buffer.concat([from.subarray(0, first), this.bytes(others), from.subarray(from.length - last)])
  }

  private number(bytes: number): number {
    this.at += bytes
    return this.body.readUIntBE(this.at - bytes, bytes)
  }

  private bytes(length: number): Buffer {
    this.at += length
    assert(this.at <= this.body.length, 'an entry of the change log holds its changes whole')
    return this.body.subarray(this.at - length, this.at)
  }
}
