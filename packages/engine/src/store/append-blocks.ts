/** Block entries: one entry with the length-prefixed values of several consecutive commits, keyed by the last one. Part of the storage format. */
import { assert } from '../errors.ts'
import { appendedBytes, appendedKey, appendedNumber, appendedPart, appendedRange, firstAppendedKey } from './append.ts'
import type { Bytes, Snapshot } from './store.ts'

/** Part number that marks the key of a block; no commit appends so many values. */
export const blockPart = 0xffff_ffff
const lengthBytes = 2

export interface AppendedValue {
  readonly number: number
  readonly part: number
  readonly value: Bytes
}

/** A block being filled. */
export class AppendBlock {
  readonly prefix: Bytes
  /** Number of the last commit in the block. */
  number: number
  private readonly bytes: Buffer
  private end = 0
  count = 0

  /** `number`: the last number assigned so far. `bytesMax`: capacity of the block. */
  constructor(prefix: Bytes, number: number, bytesMax: number) {
    this.prefix = prefix
    this.number = number
    this.bytes = Buffer.allocUnsafe(bytesMax)
  }

  /** Continues a block that `value` returned earlier. */
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

  /** Adds the value of the next commit. */
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

  /** A view that the next `add` extends. */
  value(): Buffer {
    return this.bytes.subarray(0, this.end)
  }
}

function lengthAt(value: Bytes, at: number): number {
  return ((value[at] as number) << 8) | (value[at + 1] as number)
}

/** Decodes an entry, either a single value or a block. The values are views of it. */
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

const scanBatch = 64

/** The values of the commits from `first` to `last` in order, in batches. They are copies. */
export async function* scanAppended(
  snapshot: Snapshot,
  prefix: Bytes,
  first: number,
  last: number,
): AsyncGenerator<readonly AppendedValue[], undefined, undefined> {
  const range = { from: firstAppendedKey(prefix, first), to: appendedRange(prefix).to }
  const read = (key: Bytes, value: Bytes) => appendedValues(key, Buffer.from(value))
  for await (const batch of snapshot.scan(range, read, { batch: scanBatch })) {
    const values = batch.flat()
    yield values.filter(({ number }) => number >= first && number <= last)
    if ((values.at(-1)?.number ?? 0) > last) return undefined
  }
  return undefined
}
