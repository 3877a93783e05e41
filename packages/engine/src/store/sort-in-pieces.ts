/** A merge sort in pieces, between which others have their turn. */

/** Sorted, or merged, in one piece: about a millisecond. */
const pieceElements = 2_048

/** Equal elements stay in their order. Of few elements there is one piece alone. */
export function* sortInPieces<T>(
  all: readonly T[],
  compare: (one: T, other: T) => number,
): Generator<undefined, T[], undefined> {
  let sorted: T[][] = []
  for (let from = 0; from < all.length; from += pieceElements) {
    sorted.push(all.slice(from, from + pieceElements).sort(compare))
    if (from + pieceElements <= all.length) yield
  }
  while (sorted.length > 1) {
    const merged: T[][] = []
    for (let at = 0; at < sorted.length; at += 2) {
      const [one = [], other = []] = sorted.slice(at, at + 2)
      merged.push(other.length === 0 ? one : yield* merge(one, other, compare))
    }
    sorted = merged
  }
  return sorted[0] ?? []
}

function* merge<T>(
  one: readonly T[],
  other: readonly T[],
  compare: (one: T, other: T) => number,
): Generator<undefined, T[], undefined> {
  const merged: T[] = []
  let left = 0
  let right = 0
  while (left < one.length || right < other.length) {
    const isLeft = right >= other.length || (left < one.length && compare(one[left] as T, other[right] as T) <= 0)
    merged.push((isLeft ? one[left++] : other[right++]) as T)
    if (merged.length % pieceElements === 0) yield
  }
  return merged
}
