/** A stable merge sort with yields between steps. */

import { detachBytes } from './detach-bytes.ts'

/** Elements sorted or merged without a yield: about a millisecond. */
const stepElements = 2_048
/** Bytes compared without a yield, for elements that are slow to compare: a few milliseconds if all are equal. */
const stepBytes = 1_048_576

/** `bytesOf`: upper bound of the bytes that comparing an element reads. */
export function* sortSteps<T>(
  all: readonly T[],
  compare: (one: T, other: T) => number,
  bytesOf?: (one: T) => number,
): Generator<undefined, T[], undefined> {
  let sorted: T[][] = []
  for (let from = 0; from < all.length; ) {
    const to = endOfStep(all, from, bytesOf)
    sorted.push(all.slice(from, to).sort(compare))
    if (to < all.length || to - from === stepElements) yield
    from = to
  }
  while (sorted.length > 1) {
    const merged: T[][] = []
    for (let at = 0; at < sorted.length; at += 2) {
      const [one = [], other = []] = sorted.slice(at, at + 2)
      merged.push(other.length === 0 ? one : yield* merge(one, other, compare, bytesOf))
    }
    sorted = merged
  }
  return sorted[0] ?? []
}

function endOfStep<T>(all: readonly T[], from: number, bytesOf: ((one: T) => number) | undefined): number {
  const end = Math.min(from + stepElements, all.length)
  if (bytesOf === undefined) return end
  let bytes = bytesOf(all[from] as T)
  for (let at = from + 1; at < end; at++) {
    bytes += bytesOf(all[at] as T)
    if (bytes > stepBytes) return at
  }
  return end
}

function* merge<T>(
  one: readonly T[],
  other: readonly T[],
  compare: (one: T, other: T) => number,
  bytesOf: ((one: T) => number) | undefined,
): Generator<undefined, T[], undefined> {
  const merged: T[] = []
  let left = 0
  let right = 0
  let bytes = 0
  let yielded = 0
  while (left < one.length || right < other.length) {
    const isLeft = right >= other.length || (left < one.length && compare(one[left] as T, other[right] as T) <= 0)
    const next = (isLeft ? one[left++] : other[right++]) as T
    merged.push(next)
    if (bytesOf !== undefined) bytes += bytesOf(next)
    if (bytes <= stepBytes && merged.length - yielded < stepElements) continue
    yielded = merged.length
    bytes = 0
    yield
  }
  return merged
}

/**
 * The numbers from 0 to `count`, exclusive, sorted stably by their elements. Like `sortSteps`, but in two arrays of four bytes per number: growing
 * arrays in each round of merging takes ten times as long.
 */
export function* sortNumbersSteps(
  count: number,
  compare: (one: number, other: number) => number,
): Generator<undefined, Uint32Array, undefined> {
  let sorted = new Uint32Array(count)
  for (let from = 0; from < count; from += stepElements) {
    const to = Math.min(from + stepElements, count)
    for (let i = from; i < to; i++) sorted[i] = i
    sorted.subarray(from, to).sort(compare)
    yield
  }
  let merged = new Uint32Array(count > stepElements ? count : 0)
  for (let run = stepElements; run < count; run *= 2) {
    for (let from = 0; from < count; from += 2 * run) {
      const [middle, to] = [Math.min(from + run, count), Math.min(from + 2 * run, count)]
      let [left, right] = [from, middle]
      for (let at = from; at < to; at++) {
        const isLeft = right >= to || (left < middle && compare(sorted[left] as number, sorted[right] as number) <= 0)
        merged[at] = sorted[isLeft ? left++ : right++] as number
        if (at % stepElements === stepElements - 1) yield
      }
    }
    ;[sorted, merged] = [merged, sorted]
  }
  detachBytes(merged)
  return sorted
}
