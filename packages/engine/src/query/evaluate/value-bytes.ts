/** How much memory values take, as it is charged. */
import { NewObject } from './new-object.ts'

/** An element of a list, with its place there: a number, or what a text or a list takes beside its content. */
export const elementBytes = 32
const characterBytes = 2

/** Of arrays that are long, or hold others: the same may occur in a value any number of times. */
const known = new WeakMap<readonly unknown[], number>()
const shortElements = 16

export function textBytes(characters: number): number {
  return characters * characterBytes
}

/**
 * About how many bytes a value takes beside its place. What occurs in it several times counts as often: a list of a list, twice, takes no
 * memory to speak of, and writing, comparing or sorting it takes twice as long.
 */
export function valueBytes(value: unknown): number {
  if (typeof value === 'string') return textBytes(value.length)
  if (typeof value !== 'object' || value === null) return 0
  if (Array.isArray(value)) return arrayBytes(value)
  if (value instanceof NewObject) return arrayBytes(value.values)
  // A pair of a map, an edge, a moment with its offset; objects of the store are counted where they are read.
  return Object.getPrototypeOf(value) === Object.prototype ? arrayBytes(Object.values(value)) : elementBytes
}

function arrayBytes(values: readonly unknown[]): number {
  const before = known.get(values)
  if (before !== undefined) return before
  let bytes = values.length * elementBytes
  let isFlat = true
  for (const value of values) {
    if (typeof value === 'string') bytes += textBytes(value.length)
    else if (typeof value === 'object' && value !== null) {
      isFlat = false
      bytes += valueBytes(value)
    }
  }
  if (!isFlat || values.length > shortElements) known.set(values, bytes)
  return bytes
}
