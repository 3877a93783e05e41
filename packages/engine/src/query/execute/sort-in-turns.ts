/** Sorting with turns for others in between: a merge sort, whose parts are sorted at once. */

/** Sorted, or merged, without a turn for others: about a millisecond. */
const atOnce = 2_048

/** Equal elements stay in their order. `yieldIfDue`: undefined, or waited for before the sort goes on. */
export async function sortInTurns<T>(
  all: readonly T[],
  compare: (one: T, other: T) => number,
  yieldIfDue: () => Promise<void> | undefined,
): Promise<T[]> {
  let sorted: T[][] = []
  for (let from = 0; from < all.length; from += atOnce) {
    sorted.push(all.slice(from, from + atOnce).sort(compare))
    const pause = yieldIfDue()
    if (pause !== undefined) await pause
  }
  while (sorted.length > 1) {
    const merged: T[][] = []
    for (let at = 0; at < sorted.length; at += 2) {
      const [one = [], other = []] = sorted.slice(at, at + 2)
      merged.push(other.length === 0 ? one : await merge(one, other, compare, yieldIfDue))
    }
    sorted = merged
  }
  return sorted[0] ?? []
}

async function merge<T>(
  one: readonly T[],
  other: readonly T[],
  compare: (one: T, other: T) => number,
  yieldIfDue: () => Promise<void> | undefined,
): Promise<T[]> {
  const merged: T[] = []
  let left = 0
  let right = 0
  while (left < one.length || right < other.length) {
    const isLeft = right >= other.length || (left < one.length && compare(one[left] as T, other[right] as T) <= 0)
    merged.push((isLeft ? one[left++] : other[right++]) as T)
    if (merged.length % atOnce !== 0) continue
    const pause = yieldIfDue()
    if (pause !== undefined) await pause
  }
  return merged
}
