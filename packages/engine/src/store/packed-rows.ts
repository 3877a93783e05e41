/** Rows of a commit packed in two buffers: as objects, very many rows would cost an object and two views each. */
import { detachBytes } from './detach-bytes.ts'
import type { Sequence } from './sequence.ts'
import type { Bytes, Change, Precondition, Put } from './store.ts'

/** Bytes of the big-endian length before each key and value. */
export const packedLengthBytes = 4

export interface PackedRows {
  readonly count: number
  /** Keys, each after its length, without duplicates; in ascending order if they are new. A driver releases them after writing. */
  keys: Buffer
  /** Values, each after its length, in the order of the keys. */
  values: Buffer
  readonly keyBytesMost: number
  readonly valueBytesMost: number
  readonly areNew: boolean
}

const nothing = Buffer.alloc(0)

/** Must be called once the rows are written, or the commit has failed for good: very many rows take much memory. */
export function releaseRows(rows: PackedRows): void {
  detachBytes(rows.keys)
  rows.keys = nothing
  releaseValues(rows)
}

export function releaseValues(rows: PackedRows): void {
  detachBytes(rows.values)
  rows.values = nothing
}

/** Packed puts, iterated as changes by drivers without support for packed rows. */
export class PackedChanges implements Sequence<Change> {
  readonly all: readonly PackedRows[]
  readonly length: number

  constructor(all: readonly PackedRows[]) {
    this.all = all
    this.length = all.reduce((sum, { count }) => sum + count, 0)
  }

  *[Symbol.iterator](): Generator<Change, undefined, undefined> {
    for (const { keys, values } of this.all) {
      let valueAt = 0
      for (let at = 0; at < keys.length; ) {
        const key = packedAt(keys, at)
        const value = packedAt(values, valueAt)
        at += packedLengthBytes + key.length
        valueAt += packedLengthBytes + value.length
        yield { kind: 'put', key, value }
      }
    }
    return undefined
  }
}

/** All preconditions, with the ones of new packed rows last. */
export class PackedPreconditions implements Sequence<Precondition> {
  readonly others: Sequence<Precondition>
  readonly length: number
  /** Rows whose keys are required to be absent. */
  readonly all: readonly PackedRows[]

  constructor(others: Sequence<Precondition>, all: readonly PackedRows[]) {
    this.others = others
    this.all = all.filter(({ areNew }) => areNew)
    this.length = this.all.reduce((sum, { count }) => sum + count, others.length)
  }

  *[Symbol.iterator](): Generator<Precondition, undefined, undefined> {
    yield* this.others
    for (const rows of this.all) for (const key of packedKeys(rows)) yield { kind: 'absent', key }
    return undefined
  }
}

/** Packs a few puts with ascending keys, written unconditionally. */
export function packedPuts(puts: readonly Put[]): PackedRows {
  const keys = puts.map(({ key }) => key)
  const values = puts.map(({ value }) => value)
  return {
    count: puts.length,
    keys: packedAll(keys),
    values: packedAll(values),
    keyBytesMost: longest(keys),
    valueBytesMost: longest(values),
    areNew: false,
  }
}

function packedAll(all: readonly Bytes[]): Buffer {
  const packed = Buffer.allocUnsafe(all.reduce((sum, { length }) => sum + packedLengthBytes + length, 0))
  let at = 0
  for (const one of all) {
    at = packed.writeUInt32BE(one.length, at)
    packed.set(one, at)
    at += one.length
  }
  return packed
}

function longest(all: readonly Bytes[]): number {
  return all.reduce((most, { length }) => Math.max(most, length), 0)
}

export function* packedKeys({ keys }: PackedRows): Generator<Buffer, undefined, undefined> {
  for (let at = 0; at < keys.length; ) {
    const key = packedAt(keys, at)
    at += packedLengthBytes + key.length
    yield key
  }
  return undefined
}

/** The key or value whose length is at `at`. */
export function packedAt(bytes: Buffer, at: number): Buffer {
  const start = at + packedLengthBytes
  return bytes.subarray(start, start + packedLengthAt(bytes, at))
}

export function packedLengthAt(bytes: Buffer, at: number): number {
  return bytes.readUInt32BE(at)
}
