/** Values that are available now or later, handled without a promise where none is needed, for the hottest paths. */
import type { Awaitable } from './store.ts'

/** `next` of the value, at once if it is there. */
export function mapAwaitable<T, U>(value: Awaitable<T>, next: (value: T) => Awaitable<U>): Awaitable<U> {
  return value instanceof Promise ? value.then(next) : next(value)
}

/** What `make` gives, now or later; of what it throws, what `onFailure` gives. */
export function caught<T>(make: () => Awaitable<T>, onFailure: (error: unknown) => Awaitable<T>): Awaitable<T> {
  let made: Awaitable<T>
  try {
    made = make()
  } catch (error) {
    return onFailure(error)
  }
  return made instanceof Promise ? made.catch(onFailure) : made
}
