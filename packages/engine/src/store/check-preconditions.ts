/** Evaluates the preconditions of a commit, for every driver that checks in this process. */
import { RangeContent } from './range-content.ts'
import type { Bytes, KeyRange, Precondition, UnchangedRange } from './store.ts'

/** The store immediately before a commit is applied. */
export interface CurrentState {
  /** The value of the key, valid until the next call. */
  get(key: Bytes): Bytes | undefined
  /** The first keys of a range in order, at most `limit`. */
  keys(range: KeyRange, limit: number): Iterable<Bytes>
  /** True if nothing was committed since the ranges required unchanged were read. */
  readonly isUnchanged?: boolean
  /** Passes borrowed entries of a range to `use` until it returns false. Returns the last key passed then; undefined at the end of the range. */
  visit(range: KeyRange, use: (key: Bytes, value: Bytes) => boolean): Bytes | undefined
}

/** The first precondition that does not hold, in iteration order; undefined if all hold. */
export function failedPrecondition(
  preconditions: Iterable<Precondition>,
  state: CurrentState,
): Precondition | undefined {
  for (const precondition of preconditions) if (!holds(precondition, state)) return precondition
  return undefined
}

export function holds(precondition: Precondition, state: CurrentState): boolean {
  switch (precondition.kind) {
    case 'absent':
      return state.get(precondition.key) === undefined
    case 'present':
      return state.get(precondition.key) !== undefined
    case 'revision': {
      const value = state.get(precondition.key)
      return value !== undefined && beginsWith(value, precondition.prefix)
    }
    case 'range':
      return rangeHolds(precondition.range, precondition.keys, state)
    case 'unchanged':
      return (
        state.isUnchanged === true || new UnchangedCheck(precondition, state).isDone(Number.POSITIVE_INFINITY) === true
      )
  }
}

function beginsWith(value: Bytes, prefix: Bytes): boolean {
  const { length } = prefix
  if (value.length < length) return false
  if (length > loopedBytes) return Buffer.compare(value.subarray(0, length), prefix) === 0
  for (let at = 0; at < length; at++) if (value[at] !== prefix[at]) return false
  return true
}

/** Up to this length a loop is faster than a call of `Buffer.compare`. */
const loopedBytes = 48

function rangeHolds(range: KeyRange, expected: readonly Bytes[], state: CurrentState): boolean {
  let position = 0
  // Reads one key more than required, to detect a surplus key.
  for (const key of state.keys(range, expected.length + 1)) {
    const requiredKey = expected[position]
    if (requiredKey === undefined || Buffer.compare(key, requiredKey) !== 0) return false
    position += 1
  }
  return position === expected.length
}

const afterKey = Buffer.of(0)

/** Compares a range with its content at the time it was read, in steps if it is long. */
export class UnchangedCheck {
  private readonly required: UnchangedRange
  private readonly state: CurrentState
  private readonly found: RangeContent
  private rest: KeyRange

  constructor(required: UnchangedRange, state: CurrentState) {
    this.required = required
    this.state = state
    this.found = new RangeContent(required.valueBytes)
    this.rest = required.range
  }

  /** Reads up to `entriesMax` further entries. Returns whether the range is unchanged; undefined if entries remain. */
  isDone(entriesMax: number): boolean | undefined {
    const { required, found } = this
    const end = Math.min(found.count + entriesMax, required.count + 1)
    const last = this.state.visit(this.rest, (key, value) => {
      found.add(key, value)
      return found.count < end
    })
    if (found.count > required.count) return false
    if (last !== undefined) {
      this.rest = { ...required.range, from: Buffer.concat([last, afterKey]) }
      return undefined
    }
    return found.count === required.count && Buffer.compare(found.bytes(), required.content) === 0
  }
}
