/** Packs the rows of one index, or of the objects of one container, for a commit of very many rows. */
import { ByteWriter } from '../bytes/byte-writer.ts'
import { writeUint32At } from '../bytes/write-number.ts'
import { detachBytes } from '../store/detach-bytes.ts'
import { type PackedRows, packedAt, packedLengthBytes } from '../store/packed-rows.ts'
import { sortNumbersSteps } from '../store/sort-in-pieces.ts'

/** Approximate memory for a packed row in addition to its key and value: their lengths, and its offsets while rows are sorted and written. */
export const packedRowBytes = 2 * packedLengthBytes + 24

/** Buffer space per key, including its length, which suffices for most. */
const keySpaceBytes = 32

export class RowPacker {
  private readonly areNew: boolean
  private keys: ByteWriter
  private values: ByteWriter
  private count = 0
  private isAscending = true
  private lastKeyAt = 0
  private lastKeyLength = 0
  private keyBytesMost = 0
  private valueBytesMost = 0
  private valueAt = 0

  /** `areNew`: the keys are required to be absent. `rows`: initial capacity, for values of `valueBytes` each. */
  constructor(areNew: boolean, rows: number, valueBytes: number) {
    this.areNew = areNew
    this.keys = new ByteWriter(rows * keySpaceBytes)
    this.values = new ByteWriter(rows * (packedLengthBytes + valueBytes))
  }

  get length(): number {
    return this.count
  }

  get bytes(): number {
    return this.keys.length + this.values.length
  }

  /** Adds a key: the first `length` bytes of `key`, followed by `suffix`. A value must follow. */
  addKey(key: Uint8Array, length: number, suffix: Uint8Array | undefined): void {
    const { keys } = this
    const keyBytes = length + (suffix === undefined ? 0 : suffix.length)
    const start = keys.reserve(packedLengthBytes + keyBytes) + packedLengthBytes
    const { bytes } = keys
    writeUint32At(bytes, keyBytes, start - packedLengthBytes)
    for (let at = 0; at < length; at++) bytes[start + at] = key[at] as number
    if (suffix !== undefined)
      for (let at = 0; at < suffix.length; at++) bytes[start + length + at] = suffix[at] as number
    this.isAscending &&= this.count === 0 || compareKeys(bytes, start, keyBytes, this.lastKeyAt, this.lastKeyLength) > 0
    this.lastKeyAt = start
    this.lastKeyLength = keyBytes
    this.keyBytesMost = Math.max(this.keyBytesMost, keyBytes)
    this.count++
  }

  addValue(value: Uint8Array): void {
    const to = this.beginValue()
    const start = to.reserve(value.length)
    const { bytes } = to
    for (let at = 0; at < value.length; at++) bytes[start + at] = value[at] as number
    this.endValue()
  }

  /** Returns the writer for the value, to be used until `endValue`. */
  beginValue(): ByteWriter {
    this.valueAt = this.values.reserve(packedLengthBytes)
    return this.values
  }

  endValue(): number {
    const { values, valueAt } = this
    const length = values.length - valueAt - packedLengthBytes
    writeUint32At(values.bytes, length, valueAt)
    this.valueBytesMost = Math.max(this.valueBytesMost, length)
    return length
  }

  /** Empties the packer. Returns the rows, or the duplicates among new keys. Yields between steps; keys added in order take one step. */
  *packed(): Generator<undefined, PackedRows | DuplicateKeys, undefined> {
    const { count, areNew, keyBytesMost, valueBytesMost } = this
    const rows = {
      count,
      keys: this.keys.written(),
      values: this.values.written(),
      keyBytesMost,
      valueBytesMost,
      areNew,
    }
    this.keys = new ByteWriter(0)
    this.values = new ByteWriter(0)
    const isInOrder = this.isAscending || (!areNew && count < sortedRowsMin)
    return isInOrder ? rows : yield* sorted(rows)
  }
}

/** A duplicate new key: the value that has it, undefined if that is stored, and the value that conflicts with it. */
export interface DuplicateKey {
  readonly holder: Buffer | undefined
  readonly conflicting: Buffer
}

export interface DuplicateKeys {
  readonly duplicates: readonly DuplicateKey[]
}

/** Fewer rows may be written in any order. */
const sortedRowsMin = 16_384

const rowsPerStep = 2_048

/** By index, without an object per row, which would take as much memory as the rows. */
function* sorted(rows: PackedRows): Generator<undefined, PackedRows | DuplicateKeys, undefined> {
  const { count, keys, values } = rows
  const keyPlaces = new Uint32Array(count)
  const valuePlaces = new Uint32Array(count)
  let [keyAt, valueAt] = [0, 0]
  for (let i = 0; i < count; i++) {
    keyPlaces[i] = keyAt
    valuePlaces[i] = valueAt
    keyAt += packedLengthBytes + keys.readUInt32BE(keyAt)
    valueAt += packedLengthBytes + values.readUInt32BE(valueAt)
    if (i % rowsPerStep === rowsPerStep - 1) yield
  }
  const compare = (one: number, other: number): number => {
    const [at, otherAt] = [keyPlaces[one] as number, keyPlaces[other] as number]
    const [length, otherLength] = [lengthAt(keys, at), lengthAt(keys, otherAt)]
    return compareKeys(keys, at + packedLengthBytes, length, otherAt + packedLengthBytes, otherLength)
  }
  const ordered = yield* sortNumbersSteps(count, compare)
  const sortedKeys = Buffer.allocUnsafe(keys.length)
  const sortedValues = Buffer.allocUnsafe(values.length)
  const duplicates: DuplicateKey[] = []
  let [keysEnd, valuesEnd] = [0, 0]
  for (let i = 0; i < count; i++) {
    const place = ordered[i] as number
    const before = ordered[i - 1]
    const [from, valueFrom] = [keyPlaces[place] as number, valuePlaces[place] as number]
    if (before !== undefined && compare(place, before) === 0) {
      const holder = packedAt(values, valuePlaces[before] as number)
      duplicates.push({ holder, conflicting: packedAt(values, valueFrom) })
    }
    keysEnd += keys.copy(sortedKeys, keysEnd, from, from + packedLengthBytes + lengthAt(keys, from))
    valuesEnd += values.copy(
      sortedValues,
      valuesEnd,
      valueFrom,
      valueFrom + packedLengthBytes + lengthAt(values, valueFrom),
    )
    if (i % rowsPerStep === rowsPerStep - 1) yield
  }
  if (rows.areNew && duplicates.length > 0) return { duplicates }
  detachBytes(keys, values, keyPlaces, valuePlaces, ordered)
  return { ...rows, keys: sortedKeys, values: sortedValues }
}

function lengthAt(bytes: Uint8Array, at: number): number {
  return (
    (bytes[at] as number) * 0x1_00_00_00 +
    (((bytes[at + 1] as number) << 16) | ((bytes[at + 2] as number) << 8) | (bytes[at + 3] as number))
  )
}

/** Keys are short, so a loop is faster than creating views. */
function compareKeys(bytes: Uint8Array, at: number, length: number, otherAt: number, otherLength: number): number {
  const common = Math.min(length, otherLength)
  for (let i = 0; i < common; i++) {
    const difference = (bytes[at + i] as number) - (bytes[otherAt + i] as number)
    if (difference !== 0) return difference
  }
  return length - otherLength
}
