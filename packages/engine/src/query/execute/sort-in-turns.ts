/** Sorting with turns for others in between. */
import { sortInPieces } from '../../store/sort-in-pieces.ts'

/** Equal elements stay in their order. `yieldIfDue`: undefined, or waited for before the sort goes on. `bytesOf`: as `sortInPieces` has it. */
export async function sortInTurns<T>(
  all: readonly T[],
  compare: (one: T, other: T) => number,
  yieldIfDue: () => Promise<void> | undefined,
  bytesOf?: (one: T) => number,
): Promise<T[]> {
  const pieces = sortInPieces(all, compare, bytesOf)
  for (;;) {
    const piece = pieces.next()
    if (piece.done === true) return piece.value
    const pause = yieldIfDue()
    if (pause !== undefined) await pause
  }
}
