/** Works something out for each of several rows; where a row has to wait for the store, all such rows wait together. */
import type { Awaitable } from '../../store/store.ts'
import { pending } from './run.ts'
import type { SnapshotReader } from './snapshot-reader.ts'

/** The results in order of the rows. Without a promise where nothing had to be waited for. */
export function evaluateRows<R, T>(
  reader: SnapshotReader,
  rows: readonly R[],
  evaluate: (row: R) => T,
): Awaitable<T[]> {
  const results = new Array<T>(rows.length)
  const waiting = attempt(rows, rows.keys(), evaluate, results)
  return waiting.length === 0 ? results : evaluateWaiting(reader, rows, waiting, evaluate, results)
}

async function evaluateWaiting<R, T>(
  reader: SnapshotReader,
  rows: readonly R[],
  first: readonly number[],
  evaluate: (row: R) => T,
  results: T[],
): Promise<T[]> {
  for (let waiting = first; waiting.length > 0; ) {
    await reader.settle()
    waiting = attempt(rows, waiting, evaluate, results)
  }
  return results
}

/** The positions of the rows that have to wait. */
function attempt<R, T>(
  rows: readonly R[],
  positions: Iterable<number>,
  evaluate: (row: R) => T,
  results: T[],
): number[] {
  const waiting: number[] = []
  for (const position of positions) {
    try {
      results[position] = evaluate(rows[position] as R)
    } catch (error) {
      if (error !== pending) throw error
      waiting.push(position)
    }
  }
  return waiting
}
