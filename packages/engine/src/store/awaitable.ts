/** Functions on values that may be promises, which avoid creating one on the hottest paths. */
import type { Awaitable } from './store.ts'

/** Like `then`, but synchronous unless the value is a promise. */
export function mapAwaitable<T, U>(value: Awaitable<T>, next: (value: T) => Awaitable<U>): Awaitable<U> {
  return value instanceof Promise ? value.then(next) : next(value)
}

/** Like `try`/`catch`, also for a promise that `make` returns. */
export function caught<T>(make: () => Awaitable<T>, onFailure: (error: unknown) => Awaitable<T>): Awaitable<T> {
  let made: Awaitable<T>
  try {
    made = make()
  } catch (error) {
    return onFailure(error)
  }
  return made instanceof Promise ? made.catch(onFailure) : made
}
