/** Sorting with turns for others in between. */
import { sortInPieces } from '../../store/sort-in-pieces.ts'

/** Equal elements stay in their order. `yieldIfDue`: undefined, or waited for before the sort goes on. */
export async function sortInTurns<T>(
  all: readonly T[],
  compare: (one: T, other: T) => number,
  yieldIfDue: () => Promise<void> | undefined,
): Promise<T[]> {
  const pieces = sortInPieces(all, compare)
  for (;;) {
    const piece = pieces.next()
    if (piece.done === true) return piece.value
    const pause = yieldIfDue()
    if (pause !== undefined) await pause
  }
}
