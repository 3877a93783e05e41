/** Packs the rows of one index, or of the objects of one container, for a commit that writes very many. */
import { ByteWriter } from '../bytes/byte-writer.ts'
import { writeUint32At } from '../bytes/write-number.ts'
import { type PackedRows, packedLengthBytes } from '../store/packed-rows.ts'
import { sortInPieces } from '../store/sort-in-pieces.ts'

/** Room for most keys, with their lengths. */
const keyRoomBytes = 32

export class RowPacker {
  private readonly areNew: boolean
  private readonly keys: ByteWriter
  private readonly values: ByteWriter
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
    if (this.areNew)
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

  /** Undefined where a new key is there twice; others are never. In pieces, between which others may have their turn; where keys came in order, there is one. */
  *packed(): Generator<undefined, PackedRows | undefined, undefined> {
    const { count, areNew, keyBytesMost, valueBytesMost } = this
    const keys = this.keys.written()
    const values = this.values.written()
    const rows = { count, keys, values, keyBytesMost, valueBytesMost, areNew }
    return this.isAscending ? rows : yield* sorted(rows)
  }
}

interface Place {
  readonly keyAt: number
  readonly keyLength: number
  readonly valueAt: number
  readonly valueLength: number
}

/** Rows that are looked at or copied in one piece. */
const pieceRows = 2_048

function* sorted(rows: PackedRows): Generator<undefined, PackedRows | undefined, undefined> {
  const { keys, values } = rows
  const places: Place[] = []
  let valueAt = packedLengthBytes
  for (let keyAt = packedLengthBytes; keyAt <= keys.length; ) {
    const keyLength = keys.readUInt32BE(keyAt - packedLengthBytes)
    const valueLength = values.readUInt32BE(valueAt - packedLengthBytes)
    places.push({ keyAt, keyLength, valueAt, valueLength })
    keyAt += keyLength + packedLengthBytes
    valueAt += valueLength + packedLengthBytes
    if (places.length % pieceRows === 0) yield
  }
  const ordered = yield* sortInPieces(places, (one, other) => {
    return compareKeys(keys, one.keyAt, one.keyLength, other.keyAt, other.keyLength)
  })
  const sortedKeys = Buffer.allocUnsafe(keys.length)
  const sortedValues = Buffer.allocUnsafe(values.length)
  let [keysEnd, valuesEnd] = [0, 0]
  for (let i = 0; i < ordered.length; i++) {
    const place = ordered[i] as Place
    const before = ordered[i - 1]
    const isNext =
      before === undefined || compareKeys(keys, place.keyAt, place.keyLength, before.keyAt, before.keyLength) > 0
    if (!isNext) return undefined
    keysEnd += keys.copy(sortedKeys, keysEnd, place.keyAt - packedLengthBytes, place.keyAt + place.keyLength)
    valuesEnd += values.copy(
      sortedValues,
      valuesEnd,
      place.valueAt - packedLengthBytes,
      place.valueAt + place.valueLength,
    )
    if (i % pieceRows === pieceRows - 1) yield
  }
  return { ...rows, keys: sortedKeys, values: sortedValues }
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
