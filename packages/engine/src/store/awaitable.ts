/** Values that are there now or come later: handled without a promise where none is needed, for the hottest paths. */
import { AssertionFailed } from '../errors.ts'
import { MomentPassed } from './moment-passed.ts'
import type { Awaitable, Snapshot, SnapshotOptions, Store } from './store.ts'

/** `next` of the value, at once if it is there. */
export function when<T, U>(value: Awaitable<T>, next: (value: T) => Awaitable<U>): Awaitable<U> {
  return value instanceof Promise ? value.then(next) : next(value)
}

/**
 * Runs `use` on a fresh snapshot, which ends with it; on another one when `first` keys have changed under it, and where what
 * it read does not fit together because the store shows several moments.
 */
export function withSnapshot<T>(
  store: Store,
  use: (snapshot: Snapshot) => Awaitable<T>,
  options?: SnapshotOptions,
): Awaitable<T> {
  return when(store.snapshot(options), (snapshot) => {
    let result: Awaitable<T>
    try {
      result = use(snapshot)
    } catch (error) {
      snapshot.release()
      throw error
    }
    if (result instanceof Promise) {
      const ended = result.finally(() => snapshot.release())
      return options === undefined ? ended : ended.catch((error) => again(store, use, options, error))
    }
    snapshot.release()
    return result
  })
}

function again<T>(
  store: Store,
  use: (snapshot: Snapshot) => Awaitable<T>,
  { first: _, ...options }: SnapshotOptions,
  error: unknown,
): Awaitable<T> {
  if (error instanceof MomentPassed) return withSnapshot(store, use, options)
  if (isOfSeveralMoments(store, error) && options.purpose === 'reading') {
    return withSnapshot(store, use, { ...options, purpose: 'whole' })
  }
  throw error
}

/** What contradicts itself may only have been read at several moments. */
export function isOfSeveralMoments({ facts }: Store, error: unknown): boolean {
  return error instanceof AssertionFailed && !facts.snapshotsAreWhole
}
