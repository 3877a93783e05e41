/** A sequence type for more elements than one array should hold. */

/** An array, or an iterable that can be iterated repeatedly in the same order. */
export type Sequence<T> = Iterable<T> & { readonly length: number }

/** Like `Array.prototype.some`. */
export function hasSome<T>(all: Iterable<T>, test: (one: T) => boolean): boolean {
  for (const one of all) if (test(one)) return true
  return false
}
