/** Arrays in PostgreSQL's binary format: half the size of their text format, and cheaper to process on both sides. */
import type { Bytes } from '../store.ts'

/** Type OIDs of PostgreSQL. */
const elementType = { int2: 21, int4: 23, bytea: 17, text: 25 } as const

/** One dimension with lower bound 1; none for an empty array. */
const headerBytes = 20
const emptyBytes = 12
/** Up to this length a loop copies faster than a call. */
const fewBytes = 32

/** An array that is written element by element. */
export class ArrayWriter {
  readonly array: Buffer
  private at = headerBytes

  /** `bytes`: of all elements, without their lengths. */
  constructor(type: keyof typeof elementType, count: number, bytes: number) {
    this.array = Buffer.allocUnsafe(count === 0 ? emptyBytes : headerBytes + 4 * count + bytes)
    this.array.writeInt32BE(count === 0 ? 0 : 1, 0)
    this.array.writeInt32BE(1, 4)
    this.array.writeInt32BE(elementType[type], 8)
    if (count === 0) return
    this.array.writeInt32BE(count, 12)
    this.array.writeInt32BE(1, 16)
  }

  int2(value: number): void {
    const at = setInt32(this.array, 2, this.at)
    this.array[at] = value >> 8
    this.array[at + 1] = value
    this.at = at + 2
  }

  int4(value: number): void {
    this.at = setInt32(this.array, value, setInt32(this.array, 4, this.at))
  }

  /** A length of -1 marks null. */
  bytes(value: Bytes | null): void {
    const { array } = this
    const length = value?.length ?? -1
    const at = setInt32(array, length, this.at)
    this.at = at
    if (value === null) return
    if (length > fewBytes) array.set(value, at)
    else for (let byte = 0; byte < length; byte++) array[at + byte] = value[byte] as number
    this.at = at + length
  }

  /** Copies elements that are in this format already, with their lengths. */
  elements(from: Buffer, start: number, end: number): void {
    this.at += from.copy(this.array, this.at, start, end)
  }

  /** The same element several times. */
  repeatedInt4(value: number, times: number): void {
    if (times === 0) return
    const start = this.at
    this.int4(value)
    const end = start + times * (this.at - start)
    this.array.fill(this.array.subarray(start, this.at), this.at, end)
    this.at = end
  }
}

/** Sets bytes one by one, which costs less than a call of `Buffer` per number. Returns the end offset. */
function setInt32(array: Buffer, value: number, at: number): number {
  array[at] = value >> 24
  array[at + 1] = value >> 16
  array[at + 2] = value >> 8
  array[at + 3] = value
  return at + 4
}

export function int2Array(values: readonly number[]): Buffer {
  const writer = new ArrayWriter('int2', values.length, 2 * values.length)
  for (const value of values) writer.int2(value)
  return writer.array
}

export function int4Array(values: readonly number[]): Buffer {
  const writer = new ArrayWriter('int4', values.length, 4 * values.length)
  for (const value of values) writer.int4(value)
  return writer.array
}

export function byteaArray(values: readonly (Bytes | null)[]): Buffer {
  return elementsOf('bytea', values)
}

export function textArray(values: readonly string[]): Buffer {
  return elementsOf(
    'text',
    values.map((value) => Buffer.from(value)),
  )
}

function elementsOf(type: 'bytea' | 'text', values: readonly (Bytes | null)[]): Buffer {
  let bytes = 0
  for (const value of values) bytes += value?.length ?? 0
  const writer = new ArrayWriter(type, values.length, bytes)
  for (const value of values) writer.bytes(value)
  return writer.array
}

export function bufferOf(bytes: Bytes): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
}
