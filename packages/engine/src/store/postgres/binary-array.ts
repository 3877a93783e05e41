/** Arrays in PostgreSQL's binary format: half the size of their text format, and cheaper to process on both sides. */
import type { Bytes } from '../store.ts'

/** Type OIDs of PostgreSQL. */
const elementType = { int2: 21, int4: 23, bytea: 17, text: 25 } as const

export function int2Array(values: readonly number[]): Buffer {
  return integers(values, 'int2', 2)
}

export function int4Array(values: readonly number[]): Buffer {
  return integers(values, 'int4', 4)
}

export function byteaArray(values: readonly (Bytes | null)[]): Buffer {
  return elements(values, 'bytea')
}

export function textArray(values: readonly string[]): Buffer {
  return elements(
    values.map((value) => Buffer.from(value)),
    'text',
  )
}

const headerBytes = 20

function integers(values: readonly number[], type: 'int2' | 'int4', width: 2 | 4): Buffer {
  const array = newArray(values.length, type, values.length * (4 + width))
  setIntegers(array, headerBytes, values, width)
  return array
}

/** Sets bytes one by one, which costs less than a call of `Buffer` per number. Returns the end offset. */
function setIntegers(array: Buffer, start: number, values: readonly number[], width: 2 | 4): number {
  let at = start
  for (const value of values) {
    at = setInt32(array, width, at)
    if (width === 4) at = setInt32(array, value, at)
    else {
      array[at++] = value >> 8
      array[at++] = value
    }
  }
  return at
}

/** Returns the end offset. */
export function setInt32(array: Buffer, value: number, at: number): number {
  array[at] = value >> 24
  array[at + 1] = value >> 16
  array[at + 2] = value >> 8
  array[at + 3] = value
  return at + 4
}

/** Up to this length a loop copies faster than a call. */
const fewBytes = 32

function elements(values: readonly (Bytes | null)[], type: 'bytea' | 'text'): Buffer {
  const array = newArray(values.length, type, bytesOf(values, 0, values.length, itself))
  setElements(array, headerBytes, values, 0, values.length, itself)
  return array
}

function itself(value: Bytes | null): Bytes | null {
  return value
}

/** Copied without a yield: about a millisecond of work. */
const stepElements = 2_048
const stepBytes = 1_048_576

/** An array of one number per item, built in steps with yields; few items take one step. */
export function* int4ArraySteps<T>(
  all: readonly T[],
  numberOf: (one: T) => number,
): Generator<undefined, Buffer, undefined> {
  const array = newArray(all.length, 'int4', all.length * 8)
  let at = headerBytes
  for (let from = 0; from < all.length; from += stepElements) {
    if (from > 0) yield
    const to = Math.min(all.length, from + stepElements)
    for (let i = from; i < to; i++) at = setInt32(array, numberOf(all[i] as T), setInt32(array, 4, at))
  }
  return array
}

/** An array of one value per item; `bytesIn` is called several times per item. */
export function* byteaArraySteps<T>(
  all: readonly T[],
  bytesIn: (one: T) => Bytes | null,
): Generator<undefined, Buffer, undefined> {
  let bytes = 0
  for (let from = 0; from < all.length; from += stepElements) {
    if (from > 0) yield
    bytes += bytesOf(all, from, Math.min(all.length, from + stepElements), bytesIn)
  }
  const array = newArray(all.length, 'bytea', bytes)
  const isLong = all.length > stepElements || bytes > stepBytes
  let at = headerBytes
  for (let from = 0; from < all.length; ) {
    if (isLong) yield
    const to = endOfStep(all, from, bytesIn)
    at = setElements(array, at, all, from, to, bytesIn)
    from = to
  }
  return array
}

function endOfStep<T>(all: readonly T[], from: number, bytesIn: (one: T) => Bytes | null): number {
  const end = Math.min(all.length, from + stepElements)
  let bytes = 0
  for (let i = from; i < end; i++) {
    bytes += bytesIn(all[i] as T)?.length ?? 0
    if (bytes >= stepBytes) return i + 1
  }
  return end
}

function bytesOf<T>(all: readonly T[], from: number, to: number, bytesIn: (one: T) => Bytes | null): number {
  let bytes = 0
  for (let i = from; i < to; i++) bytes += 4 + (bytesIn(all[i] as T)?.length ?? 0)
  return bytes
}

/** Returns the end offset. */
function setElements<T>(
  array: Buffer,
  start: number,
  all: readonly T[],
  from: number,
  to: number,
  bytesIn: (one: T) => Bytes | null,
): number {
  let at = start
  for (let i = from; i < to; i++) {
    const value = bytesIn(all[i] as T)
    at = value === null ? setInt32(array, -1, at) : setBytes(array, at, value)
  }
  return at
}

/** Returns the end offset. */
function setBytes(array: Buffer, start: number, value: Bytes): number {
  const { length } = value
  const at = setInt32(array, length, start)
  if (length > fewBytes) array.set(value, at)
  else for (let byte = 0; byte < length; byte++) array[at + byte] = value[byte] as number
  return at + length
}

/** Writes the header: one dimension with lower bound 1, or none for an empty array. Lengths mark null elements. */
export function newArray(length: number, type: keyof typeof elementType, bytes: number): Buffer {
  const array = Buffer.allocUnsafe(length === 0 ? 12 : headerBytes + bytes)
  array.writeInt32BE(length === 0 ? 0 : 1, 0)
  array.writeInt32BE(1, 4)
  array.writeInt32BE(elementType[type], 8)
  if (length === 0) return array
  array.writeInt32BE(length, 12)
  array.writeInt32BE(1, 16)
  return array
}

export function bufferOf(bytes: Bytes): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
}
