/** Arrays as PostgreSQL takes them in binary: half the bytes of their texts, and cheaper to read for both sides. */
import type { Bytes } from '../store.ts'

/** Numbers of PostgreSQL's types. */
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

/** Bytes are set one by one: a call of `Buffer` for each number costs more than all of them. */
function integers(values: readonly number[], type: 'int2' | 'int4', width: 2 | 4): Buffer {
  const array = begun(values.length, type, values.length * (4 + width))
  let at = headerBytes
  for (const value of values) {
    at = setInt32(array, width, at)
    if (width === 4) at = setInt32(array, value, at)
    else {
      array[at++] = value >> 8
      array[at++] = value
    }
  }
  return array
}

function setInt32(array: Buffer, value: number, at: number): number {
  array[at] = value >> 24
  array[at + 1] = value >> 16
  array[at + 2] = value >> 8
  array[at + 3] = value
  return at + 4
}

/** So few bytes are copied sooner than the call that copies them is made. */
const fewBytes = 32

function elements(values: readonly (Bytes | null)[], type: 'bytea' | 'text'): Buffer {
  let bytes = 0
  for (const value of values) bytes += 4 + (value?.length ?? 0)
  const array = begun(values.length, type, bytes)
  let at = headerBytes
  for (const value of values) {
    at = setInt32(array, value?.length ?? -1, at)
    if (value === null) continue
    const { length } = value
    if (length > fewBytes) array.set(value, at)
    else for (let i = 0; i < length; i++) array[at + i] = value[i] as number
    at += length
  }
  return array
}

/** One dimension, counted from 1; none at all where there is nothing. Absent values are told by their lengths. */
function begun(length: number, type: keyof typeof elementType, bytes: number): Buffer {
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
