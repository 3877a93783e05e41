/** An ordered sequence that may have more elements than one array should hold. */

/** An array, or what can be walked through as often and in the same order. */
export type Sequence<T> = Iterable<T> & { readonly length: number }

/** Whether `test` holds for an element; asked for one after the other until it does. */
export function hasSome<T>(all: Iterable<T>, test: (one: T) => boolean): boolean {
  for (const one of all) if (test(one)) return true
  return false
}
