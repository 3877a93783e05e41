/** Approximate memory of values, as it is charged. */
import { NewObject } from './new-object.ts'

/** Memory of a list element: a number, or the overhead of a string or list. */
export const elementBytes = 32
const characterBytes = 2

/** Sizes of long or nested arrays, which may occur in a value many times. */
const cachedSizes = new WeakMap<readonly unknown[], number>()
const shortElements = 16

export function textBytes(characters: number): number {
  return characters * characterBytes
}

/** Approximate memory of a value's contents. Shared parts count at each occurrence, since they are written and compared each time. */
export function valueBytes(value: unknown): number {
  if (typeof value === 'string') return textBytes(value.length)
  if (typeof value !== 'object' || value === null) return 0
  if (Array.isArray(value)) return arrayBytes(value)
  if (value instanceof NewObject) return arrayBytes(value.values)
  // A map pair, an edge, or a moment with its offset; stored objects are charged where they are read.
  return Object.getPrototypeOf(value) === Object.prototype ? arrayBytes(Object.values(value)) : elementBytes
}

function arrayBytes(values: readonly unknown[]): number {
  const cached = cachedSizes.get(values)
  if (cached !== undefined) return cached
  let bytes = values.length * elementBytes
  let isFlat = true
  for (const value of values) {
    if (typeof value === 'string') bytes += textBytes(value.length)
    else if (typeof value === 'object' && value !== null) {
      isFlat = false
      bytes += valueBytes(value)
    }
  }
  if (!isFlat || values.length > shortElements) cachedSizes.set(values, bytes)
  return bytes
}
