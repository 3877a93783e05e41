/** Values that are there now or come later: handled without a promise where none is needed, for the hottest paths. */
import { MomentPassed } from './moment-passed.ts'
import type { Awaitable, Bytes, Snapshot, Store } from './store.ts'

/** `next` of the value, at once if it is there. */
export function when<T, U>(value: Awaitable<T>, next: (value: T) => Awaitable<U>): Awaitable<U> {
  return value instanceof Promise ? value.then(next) : next(value)
}

/** Runs `use` on a fresh snapshot, which ends with it; on another one when `first` keys have changed under it. */
export function withSnapshot<T>(
  store: Store,
  use: (snapshot: Snapshot) => Awaitable<T>,
  first?: readonly Bytes[],
): Awaitable<T> {
  return when(first === undefined ? store.snapshot() : store.snapshot({ first }), (snapshot) => {
    let result: Awaitable<T>
    try {
      result = use(snapshot)
    } catch (error) {
      snapshot.release()
      throw error
    }
    if (result instanceof Promise) {
      const ended = result.finally(() => snapshot.release())
      return first === undefined ? ended : ended.catch((error) => again(store, use, error))
    }
    snapshot.release()
    return result
  })
}

function again<T>(store: Store, use: (snapshot: Snapshot) => Awaitable<T>, error: unknown): Awaitable<T> {
  if (!(error instanceof MomentPassed)) throw error
  return withSnapshot(store, use)
}
