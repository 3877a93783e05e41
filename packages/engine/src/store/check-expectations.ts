/** Decides whether the expectations of a commit hold: one definition for every driver that checks in this process. */
import type { Bytes, Expectation, KeyRange } from './store.ts'

/** The store as it stands just before a commit is applied. */
export interface CurrentState {
  /** The value of the key, valid until the next call. */
  get(key: Bytes): Bytes | undefined
  /** The first keys of a range in order, at most `limit`. */
  keys(range: KeyRange, limit: number): Iterable<Bytes>
}

/** The first expectation that does not hold, as the very object given; undefined when all hold. */
export function failedExpectation(expectations: readonly Expectation[], state: CurrentState): Expectation | undefined {
  for (const expectation of expectations) if (!holds(expectation, state)) return expectation
  return undefined
}

function holds(expectation: Expectation, state: CurrentState): boolean {
  switch (expectation.kind) {
    case 'absent':
      return state.get(expectation.key) === undefined
    case 'present':
      return state.get(expectation.key) !== undefined
    case 'revision': {
      const value = state.get(expectation.key)
      return value !== undefined && beginsWith(value, expectation.prefix)
    }
    case 'range':
      return rangeHolds(expectation.range, expectation.holds, state)
  }
}

function beginsWith(value: Bytes, prefix: Bytes): boolean {
  return value.length >= prefix.length && Buffer.compare(value.subarray(0, prefix.length), prefix) === 0
}

function rangeHolds(range: KeyRange, expected: readonly Bytes[], state: CurrentState): boolean {
  let position = 0
  // One more than expected is asked for, so that a key too many is seen.
  for (const key of state.keys(range, expected.length + 1)) {
    const wanted = expected[position]
    if (wanted === undefined || Buffer.compare(key, wanted) !== 0) return false
    position += 1
  }
  return position === expected.length
}
