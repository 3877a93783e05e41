/** Values that are there now or come later: handled without a promise where none is needed, for the hottest paths. */
import type { Awaitable } from './store.ts'

/** `next` of the value, at once if it is there. */
export function mapAwaitable<T, U>(value: Awaitable<T>, next: (value: T) => Awaitable<U>): Awaitable<U> {
  return value instanceof Promise ? value.then(next) : next(value)
}
