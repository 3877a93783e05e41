/**
 * The byte layout of the values of a shape: null bits, fixed-width values, end offsets of variable-width values, then these
 * values. Any value can be located without reading the rest. Part of the storage format.
 */
import type { ByteWriter } from '../bytes/byte-writer.ts'
import { readUint32 } from '../bytes/read-number.ts'
import { writeUint32At } from '../bytes/write-number.ts'
import { assert } from '../errors.ts'
import type { Bytes } from '../store/store.ts'
import { positionBytes } from '../transaction/store-session.ts'
import type { Codec, StepwiseWork } from '../types/logical-type.ts'

export interface LayoutField {
  readonly codec: Codec
  /** A to-one reference whose partner is a list is followed by its position in that list. */
  readonly hasPosition: boolean
}

interface PlacedField extends LayoutField {
  /** Its index in the values passed to `encode`. */
  readonly valueIndex: number
  readonly nullByte: number
  readonly nullMask: number
  /** From the start of the body; -1 for values of variable width. */
  readonly fixedOffset: number
  /** Its index in the end offsets; -1 for values of fixed width. */
  readonly variableIndex: number
}

/** The extent of a value; `start` is -1 for null. */
export interface Slice {
  start: number
  end: number
}

const endBytes = 4

export class RecordLayout {
  private readonly placed: readonly (PlacedField | undefined)[]
  private readonly fixedFields: readonly PlacedField[]
  private readonly variableFields: readonly PlacedField[]
  private readonly nullBytes: number
  private readonly endsOffset: number
  private readonly variableOffset: number

  /** `fields`: in shape order; undefined for attributes stored as links, outside the record. */
  constructor(fields: readonly (LayoutField | undefined)[]) {
    const count = fields.filter((field) => field !== undefined).length
    this.nullBytes = Math.ceil(count / 8)
    let fixedEnd = this.nullBytes
    let variables = 0
    let ordinal = 0
    this.placed = fields.map((field, valueIndex) => {
      if (field === undefined) return undefined
      const nullByte = ordinal >> 3
      const nullMask = 1 << (ordinal++ & 7)
      const width = field.codec.fixedBytes
      if (width === undefined) {
        return { ...field, valueIndex, nullByte, nullMask, fixedOffset: -1, variableIndex: variables++ }
      }
      const fixedOffset = fixedEnd
      fixedEnd += width + (field.hasPosition ? positionBytes : 0)
      return { ...field, valueIndex, nullByte, nullMask, fixedOffset, variableIndex: -1 }
    })
    const present = this.placed.filter((field) => field !== undefined)
    this.fixedFields = present.filter((field) => field.variableIndex < 0)
    this.variableFields = present.filter((field) => field.variableIndex >= 0)
    this.endsOffset = fixedEnd
    this.variableOffset = fixedEnd + endBytes * variables
  }

  /** Appends a body. `values`: in shape order, undefined for a value that is not stored. `positions`: in shape order, for fields that have one. */
  encode(to: ByteWriter, values: readonly unknown[], positions: readonly (Bytes | undefined)[]): void {
    const start = this.encodeFixedFields(to, values, positions)
    const ends = to.reserve(endBytes * this.variableFields.length)
    const variableStart = to.length
    for (const field of this.variableFields) {
      encodeVariable(to, start, field, values[field.valueIndex])
      writeUint32At(to.bytes, to.length - variableStart, ends + endBytes * field.variableIndex)
    }
  }

  /** Like `encode`, in pieces. */
  *encodeStepwise(
    to: ByteWriter,
    values: readonly unknown[],
    positions: readonly (Bytes | undefined)[],
  ): StepwiseWork<void> {
    const start = this.encodeFixedFields(to, values, positions)
    const ends = to.reserve(endBytes * this.variableFields.length)
    const variableStart = to.length
    for (const field of this.variableFields) {
      const value = values[field.valueIndex]
      if (value === null || value === undefined || field.codec.writeStepwise === undefined) {
        encodeVariable(to, start, field, value)
      } else yield* field.codec.writeStepwise(value, to)
      writeUint32At(to.bytes, to.length - variableStart, ends + endBytes * field.variableIndex)
    }
  }

  /** Whether `encodeStepwise` may have several pieces. */
  get hasLongValues(): boolean {
    return this.variableFields.some(({ codec }) => codec.writeStepwise !== undefined)
  }

  /** Sets `slice` to the value of the shape's `index`th attribute in the body that begins at `start`. */
  locate(bytes: Bytes, start: number, index: number, slice: Slice): void {
    const field = this.placed[index]
    assert(field !== undefined, 'a value read from a record is kept in the record')
    if (((bytes[start + field.nullByte] as number) & field.nullMask) !== 0) {
      slice.start = -1
      return
    }
    if (field.variableIndex < 0) {
      slice.start = start + field.fixedOffset
      slice.end = slice.start + (field.codec.fixedBytes as number)
      return
    }
    const ends = start + this.endsOffset + endBytes * field.variableIndex
    const variables = start + this.variableOffset
    slice.start = variables + (field.variableIndex === 0 ? 0 : readUint32(bytes, ends - endBytes))
    slice.end = variables + readUint32(bytes, ends)
  }

  /** The position in the partner's list stored with the reference, or undefined. */
  positionOf(bytes: Bytes, start: number, index: number): Buffer | undefined {
    const field = this.placed[index]
    if (field === undefined || !field.hasPosition) return undefined
    const at = start + field.fixedOffset + (field.codec.fixedBytes as number)
    const position = Buffer.from(bytes.subarray(at, at + positionBytes))
    return position.equals(noPosition) ? undefined : position
  }

  /** Returns the start of the body. */
  private encodeFixedFields(
    to: ByteWriter,
    values: readonly unknown[],
    positions: readonly (Bytes | undefined)[],
  ): number {
    const start = to.reserve(this.nullBytes)
    // Usually one byte, for which a call of `fill` would dominate the cost.
    for (let at = start; at < start + this.nullBytes; at++) to.bytes[at] = 0
    for (const field of this.fixedFields) {
      this.encodeFixed(to, start, field, values[field.valueIndex])
      if (field.hasPosition) to.writeBytes(positions[field.valueIndex] ?? noPosition)
    }
    return start
  }

  private encodeFixed(to: ByteWriter, start: number, field: PlacedField, value: unknown): void {
    if (value !== null && value !== undefined) {
      field.codec.write(value, to)
      return
    }
    setNull(to, start, field)
    const width = field.codec.fixedBytes as number
    const at = to.reserve(width)
    to.bytes.fill(0, at, at + width)
  }
}

const noPosition = Buffer.alloc(positionBytes)

function encodeVariable(to: ByteWriter, start: number, field: PlacedField, value: unknown): void {
  if (value === null || value === undefined) setNull(to, start, field)
  else field.codec.write(value, to)
}

function setNull(to: ByteWriter, start: number, field: PlacedField): void {
  to.bytes[start + field.nullByte] = (to.bytes[start + field.nullByte] as number) | field.nullMask
}
