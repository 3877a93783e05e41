/** Values that are there now or come later: handled without a promise where none is needed, for the hottest paths. */
import type { Awaitable, Snapshot, Store } from './store.ts'

/** `next` of the value, at once if it is there. */
export function when<T, U>(value: Awaitable<T>, next: (value: T) => Awaitable<U>): Awaitable<U> {
  return value instanceof Promise ? value.then(next) : next(value)
}

/** Runs `use` on a fresh snapshot, which ends with it. */
export function withSnapshot<T>(store: Store, use: (snapshot: Snapshot) => Awaitable<T>): Awaitable<T> {
  return when(store.snapshot(), (snapshot) => {
    let result: Awaitable<T>
    try {
      result = use(snapshot)
    } catch (error) {
      snapshot.release()
      throw error
    }
    if (result instanceof Promise) return result.finally(() => snapshot.release())
    snapshot.release()
    return result
  })
}
