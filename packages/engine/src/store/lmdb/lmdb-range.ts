/** Translates key ranges (from ≤ key < to) into those of lmdb-js, in both directions. */
import { assert } from '../../errors.ts'
import type { Bytes, KeyRange } from '../store.ts'
import { type LmdbRange, lmdbKeyBytesMax } from './environment.ts'

/** Undefined when the range can hold nothing. */
export function lmdbRange(range: KeyRange, reverse: boolean, limit: number): LmdbRange | undefined {
  // No key is empty, so an empty lower bound is open and nothing is below an empty upper bound.
  if (range.to?.length === 0 || limit <= 0) return undefined
  const from = checkedBound(range.from?.length === 0 ? undefined : range.from)
  const to = checkedBound(range.to)
  return reverse
    ? { start: to, end: from, reverse, exclusiveStart: true, inclusiveEnd: true, limit }
    : { start: from, end: to, reverse, exclusiveStart: false, inclusiveEnd: false, limit }
}

/** What is left of a range after the key `last`. */
export function rangeAfter(range: LmdbRange, last: Bytes, limit: number): LmdbRange | undefined {
  return limit <= 0 ? undefined : { ...range, start: last, exclusiveStart: true, limit, isContinued: true }
}

function checkedBound(bound: Bytes | undefined): Bytes | undefined {
  assert(bound === undefined || bound.length <= lmdbKeyBytesMax, `a bound has at most ${lmdbKeyBytesMax} bytes`)
  return bound
}
