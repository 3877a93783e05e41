/** Packs the rows of one index, or of the objects of one container, for a commit that writes very many. */
import { ByteWriter } from '../bytes/byte-writer.ts'
import { writeUint32At } from '../bytes/write-number.ts'
import { detachBytes } from '../store/detach-bytes.ts'
import { type PackedRows, packedAt, packedLengthBytes } from '../store/packed-rows.ts'
import { sortNumbersInPieces } from '../store/sort-in-pieces.ts'

/** About what a packed row takes in memory beside its key and value: their lengths, and its place while rows are sorted and written. */
export const packedRowBytes = 2 * packedLengthBytes + 24

/** Room for most keys, with their lengths. */
const keyRoomBytes = 32

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

  /** `areNew`: the keys are required to be absent. `rows`: room for so many to begin with, with values of so many bytes. */
  constructor(areNew: boolean, rows: number, valueBytes: number) {
    this.areNew = areNew
    this.keys = new ByteWriter(rows * keyRoomBytes)
    this.values = new ByteWriter(rows * (packedLengthBytes + valueBytes))
  }

  /** Rows so far. */
  get length(): number {
    return this.count
  }

  /** Of keys and values, with their lengths. */
  get bytes(): number {
    return this.keys.length + this.values.length
  }

  /** The first bytes of `key`, and then those of `suffix`. A value is to follow. */
  addKey(key: Uint8Array, length: number, suffix: Uint8Array | undefined): void {
    const { keys } = this
    const whole = length + (suffix === undefined ? 0 : suffix.length)
    const start = keys.reserve(packedLengthBytes + whole) + packedLengthBytes
    const { bytes } = keys
    writeUint32At(bytes, whole, start - packedLengthBytes)
    for (let at = 0; at < length; at++) bytes[start + at] = key[at] as number
    if (suffix !== undefined)
      for (let at = 0; at < suffix.length; at++) bytes[start + length + at] = suffix[at] as number
    this.isAscending &&= this.count === 0 || compareKeys(bytes, start, whole, this.lastKeyAt, this.lastKeyLength) > 0
    this.lastKeyAt = start
    this.lastKeyLength = whole
    this.keyBytesMost = Math.max(this.keyBytesMost, whole)
    this.count++
  }

  addValue(value: Uint8Array): void {
    const to = this.beginValue()
    const start = to.reserve(value.length)
    const { bytes } = to
    for (let at = 0; at < value.length; at++) bytes[start + at] = value[at] as number
    this.endValue()
  }

  /** Where the value is to be written, until `endValue`. */
  beginValue(): ByteWriter {
    this.valueAt = this.values.reserve(packedLengthBytes)
    return this.values
  }

  /** Returns the length of the value. */
  endValue(): number {
    const { values, valueAt } = this
    const length = values.length - valueAt - packedLengthBytes
    writeUint32At(values.bytes, length, valueAt)
    this.valueBytesMost = Math.max(this.valueBytesMost, length)
    return length
  }

  /**
   * The rows, and the packer holds nothing more; where new keys are there twice, what has them. In pieces, between which others may have their turn;
   * where keys came in order, there is one.
   */
  *packed(): Generator<undefined, PackedRows | KeysTwice, undefined> {
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

/** Of a new key that is there twice: the value before, undefined where it is the one that is stored, and the one that would take it. */
export interface KeyTaken {
  readonly holder: Buffer | undefined
  readonly taker: Buffer
}

export interface KeysTwice {
  readonly twice: readonly KeyTaken[]
}

/** Of fewer rows it does not matter in what order they are written. */
const sortedRowsMin = 16_384

/** Rows that are looked at or copied in one piece. */
const pieceRows = 2_048

/** By numbers alone: an object for each of very many rows would take as much as the rows. */
function* sorted(rows: PackedRows): Generator<undefined, PackedRows | KeysTwice, undefined> {
  const { count, keys, values } = rows
  const keyPlaces = new Uint32Array(count)
  const valuePlaces = new Uint32Array(count)
  let [keyAt, valueAt] = [0, 0]
  for (let i = 0; i < count; i++) {
    keyPlaces[i] = keyAt
    valuePlaces[i] = valueAt
    keyAt += packedLengthBytes + keys.readUInt32BE(keyAt)
    valueAt += packedLengthBytes + values.readUInt32BE(valueAt)
    if (i % pieceRows === pieceRows - 1) yield
  }
  const compare = (one: number, other: number): number => {
    const [at, otherAt] = [keyPlaces[one] as number, keyPlaces[other] as number]
    const [length, otherLength] = [lengthAt(keys, at), lengthAt(keys, otherAt)]
    return compareKeys(keys, at + packedLengthBytes, length, otherAt + packedLengthBytes, otherLength)
  }
  const ordered = yield* sortNumbersInPieces(count, compare)
  const sortedKeys = Buffer.allocUnsafe(keys.length)
  const sortedValues = Buffer.allocUnsafe(values.length)
  const twice: KeyTaken[] = []
  let [keysEnd, valuesEnd] = [0, 0]
  for (let i = 0; i < count; i++) {
    const place = ordered[i] as number
    const before = ordered[i - 1]
    const [from, valueFrom] = [keyPlaces[place] as number, valuePlaces[place] as number]
    if (before !== undefined && compare(place, before) === 0) {
      const holder = packedAt(values, valuePlaces[before] as number)
      twice.push({ holder, taker: packedAt(values, valueFrom) })
    }
    keysEnd += keys.copy(sortedKeys, keysEnd, from, from + packedLengthBytes + lengthAt(keys, from))
    valuesEnd += values.copy(
      sortedValues,
      valuesEnd,
      valueFrom,
      valueFrom + packedLengthBytes + lengthAt(values, valueFrom),
    )
    if (i % pieceRows === pieceRows - 1) yield
  }
  if (rows.areNew && twice.length > 0) return { twice }
  detachBytes(keys, values, keyPlaces, valuePlaces, ordered)
  return { ...rows, keys: sortedKeys, values: sortedValues }
}

function lengthAt(bytes: Uint8Array, at: number): number {
  return (
    (bytes[at] as number) * 0x1_00_00_00 +
    (((bytes[at + 1] as number) << 16) | ((bytes[at + 2] as number) << 8) | (bytes[at + 3] as number))
  )
}

/** Keys are short, and views of them would cost more than their bytes. */
function compareKeys(bytes: Uint8Array, at: number, length: number, otherAt: number, otherLength: number): number {
  const common = Math.min(length, otherLength)
  for (let i = 0; i < common; i++) {
    const difference = (bytes[at + i] as number) - (bytes[otherAt + i] as number)
    if (difference !== 0) return difference
  }
  return length - otherLength
}
