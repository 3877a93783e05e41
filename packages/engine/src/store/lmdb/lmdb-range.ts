/** Key ranges (from ≤ key < to) in the form used by a cursor, in both directions. */
import { assert } from '../../errors.ts'
import type { Bytes, KeyRange } from '../store.ts'
import { lmdbKeyBytesMax } from './environment.ts'

export interface LmdbRange {
  readonly start: Bytes | undefined
  readonly end: Bytes | undefined
  readonly reverse: boolean
  readonly exclusiveStart: boolean
  readonly inclusiveEnd: boolean
  readonly limit: number
  /** It continues after a verified entry. */
  readonly isContinued: boolean
}

/** Undefined if the range is empty. */
export function lmdbRange(range: KeyRange, reverse: boolean, limit: number): LmdbRange | undefined {
  // No key is empty, so an empty lower bound is open and nothing is below an empty upper bound.
  if (range.to?.length === 0 || limit <= 0) return undefined
  const from = checkedBound(range.from?.length === 0 ? undefined : range.from)
  const to = checkedBound(range.to)
  return reverse
    ? newRange(to, from, reverse, true, true, limit, false)
    : newRange(from, to, reverse, false, false, limit, false)
}

/** The remainder of a range after the key `last`. */
export function rangeAfter(range: LmdbRange, last: Bytes, limit: number): LmdbRange | undefined {
  return limit <= 0 ? undefined : newRange(last, range.end, range.reverse, true, range.inclusiveEnd, limit, true)
}

/** The same range with another limit. */
export function withLimit(range: LmdbRange, limit: number): LmdbRange {
  const { start, end, reverse, exclusiveStart, inclusiveEnd, isContinued } = range
  return newRange(start, end, reverse, exclusiveStart, inclusiveEnd, limit, isContinued)
}

/**
 * The only place that creates ranges. Ranges created by spreading others, with limits of small integers or infinity, kept changing the hidden class,
 * so that V8 gave up optimizing functions that read them: scans took twice as long.
 */
function newRange(
  start: Bytes | undefined,
  end: Bytes | undefined,
  reverse: boolean,
  exclusiveStart: boolean,
  inclusiveEnd: boolean,
  limit: number,
  isContinued: boolean,
): LmdbRange {
  return { start, end, reverse, exclusiveStart, inclusiveEnd, limit, isContinued }
}

function checkedBound(bound: Bytes | undefined): Bytes | undefined {
  assert(bound === undefined || bound.length <= lmdbKeyBytesMax, `a bound has at most ${lmdbKeyBytesMax} bytes`)
  return bound
}
