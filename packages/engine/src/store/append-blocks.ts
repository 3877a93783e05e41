/**
 * What several commits in a row append, in one entry. A store may keep single values so: under the number of the last commit, one after the other, each behind
 * its length. Part of the storage format.
 */
import { assert } from '../errors.ts'
import { appendedBytes, appendedKey, appendedNumber, appendedPart, appendedRange, firstAppendedKey } from './append.ts'
import type { Bytes, Snapshot } from './store.ts'

/** Of a key: no commit has so many values. */
export const blockPart = 0xffff_ffff
const lengthBytes = 2

export interface AppendedValue {
  /** Of the commit. */
  readonly number: number
  readonly part: number
  readonly value: Bytes
}

/** A block that is made. */
export class AppendBlock {
  readonly prefix: Bytes
  /** Of the last commit. */
  number: number
  private readonly bytes: Buffer
  private end = 0
  /** Of its values. */
  count = 0

  /** `number`: the last one that was given before. `bytesMax`: of the block. */
  constructor(prefix: Bytes, number: number, bytesMax: number) {
    this.prefix = prefix
    this.number = number
    this.bytes = Buffer.allocUnsafe(bytesMax)
  }

  /** As `value` gave it. */
  restore(value: Bytes): void {
    this.bytes.set(value)
    this.end = value.length
    for (let at = 0; at < value.length; this.count++) at += lengthBytes + lengthAt(value, at)
  }

  get isEmpty(): boolean {
    return this.end === 0
  }

  hasRoomFor({ length }: Bytes): boolean {
    return this.end + lengthBytes + length <= this.bytes.length
  }

  /** Of the next commit. */
  add(value: Bytes): void {
    const { bytes, end } = this
    const { length } = value
    bytes[end] = length >>> 8
    bytes[end + 1] = length & 0xff
    bytes.set(value, end + lengthBytes)
    this.end = end + lengthBytes + length
    this.number++
    this.count++
  }

  clear(): void {
    this.end = 0
    this.count = 0
  }

  key(): Buffer {
    return appendedKey(this.prefix, this.number, blockPart, this.end)
  }

  /** Borrowed. */
  value(): Buffer {
    return this.bytes.subarray(0, this.end)
  }
}

function lengthAt(value: Bytes, at: number): number {
  return ((value[at] as number) << 8) | (value[at + 1] as number)
}

/** What an entry holds: one value, or those of a block. They are views of it. */
export function appendedValues(key: Bytes, value: Bytes): readonly AppendedValue[] {
  const part = appendedPart(key)
  const last = appendedNumber(key)
  if (part !== blockPart) return [{ number: last, part, value }]
  const values: Bytes[] = []
  for (let at = 0; at < value.length; ) {
    const length = lengthAt(value, at)
    values.push(value.subarray(at + lengthBytes, at + lengthBytes + length))
    at += lengthBytes + length
  }
  const end = values.reduce((sum, { length }) => sum + lengthBytes + length, 0)
  assert(end === value.length && end === appendedBytes(key), 'a block of what was appended holds its values whole')
  return values.map((one, nth) => ({ number: last - values.length + 1 + nth, part: 0, value: one }))
}

/** Entries of a batch of a scan. */
const entriesAtOnce = 64

/** In order, the values of the commits from the one number up to the other, in batches. They belong to the caller. */
export async function* scanAppended(
  snapshot: Snapshot,
  prefix: Bytes,
  first: number,
  last: number,
): AsyncGenerator<readonly AppendedValue[], undefined, undefined> {
  const range = { from: firstAppendedKey(prefix, first), to: appendedRange(prefix).to }
  const read = (key: Bytes, value: Bytes) => appendedValues(key, Buffer.from(value))
  for await (const batch of snapshot.scan(range, read, { batch: entriesAtOnce })) {
    const values = batch.flat()
    yield values.filter(({ number }) => number >= first && number <= last)
    if ((values.at(-1)?.number ?? 0) > last) return undefined
  }
  return undefined
}
