/** What every driver demands of a commit before it looks at it: keys and values within the limits of the store. */
import { assert } from '../errors.ts'
import type { Bytes, Commit, Expectation, StoreFacts } from './store.ts'

type Limits = Pick<StoreFacts, 'keyBytesMax' | 'valueBytesMax'>

/** Bytes of keys and values that the commit writes. Throws when one is out of bounds: our own fault, never a client's. */
export function checkedCommitBytes(commit: Commit, limits: Limits): number {
  let bytes = 0
  for (const change of commit.changes) {
    checkKey(change.key, limits)
    bytes += change.key.length
    if (change.kind !== 'put') continue
    assert(change.value.length <= limits.valueBytesMax, `a value has at most ${limits.valueBytesMax} bytes`)
    bytes += change.value.length
  }
  for (const expectation of commit.expectations) checkExpectation(expectation, limits)
  return bytes
}

function checkExpectation(expectation: Expectation, limits: Limits): void {
  if (expectation.kind !== 'range') checkKey(expectation.key, limits)
  else checkKey(expectation.guard, limits)
}

function checkKey(key: Bytes, limits: Limits): void {
  const isInBounds = key.length >= 1 && key.length <= limits.keyBytesMax
  assert(isInBounds, `a key has 1 to ${limits.keyBytesMax} bytes, this one has ${key.length}`)
}
