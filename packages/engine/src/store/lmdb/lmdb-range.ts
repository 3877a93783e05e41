/** Key ranges (from ≤ key < to) as a cursor goes through them, in both directions. */
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
  /** It goes on after an entry that was checked. */
  readonly isContinued: boolean
}

/** Undefined when the range can hold nothing. */
export function lmdbRange(range: KeyRange, reverse: boolean, limit: number): LmdbRange | undefined {
  // No key is empty, so an empty lower bound is open and nothing is below an empty upper bound.
  if (range.to?.length === 0 || limit <= 0) return undefined
  const from = checkedBound(range.from?.length === 0 ? undefined : range.from)
  const to = checkedBound(range.to)
  return reverse
    ? made(to, from, reverse, true, true, limit, false)
    : made(from, to, reverse, false, false, limit, false)
}

/** What is left of a range after the key `last`. */
export function rangeAfter(range: LmdbRange, last: Bytes, limit: number): LmdbRange | undefined {
  return limit <= 0 ? undefined : made(last, range.end, range.reverse, true, range.inclusiveEnd, limit, true)
}

/** The same range, of which so many entries are wanted. */
export function withLimit(range: LmdbRange, limit: number): LmdbRange {
  const { start, end, reverse, exclusiveStart, inclusiveEnd, isContinued } = range
  return made(start, end, reverse, exclusiveStart, inclusiveEnd, limit, isContinued)
}

/**
 * All of them are made here. Made by spreading another, with a limit that is a small integer in the one and infinite in the other, they
 * kept V8 changing the shape of these objects, and giving up on the compilation of whatever reads them: scans took twice as long.
 */
function made(
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
