/** Counts the entries of a range, from their keys alone, with turns for others in between. */
import type { KeyRange, ScanOptions, Snapshot } from './store.ts'
import { openTimeSlice } from './time-slice.ts'

/** Entries that are counted before the next look at the clock: less than a millisecond's worth, where the store counts them itself. */
const countedAtOnce = 4_096

export interface CountOptions extends Pick<ScanOptions, 'slice' | 'isEstimate'> {
  /** No more are counted than that. */
  readonly max?: number
  /** Is told how many more there are, now and then; it may throw, and so end it. */
  readonly passed?: (count: number) => void
}

/** How many there are, up to `max`. */
export async function countRange(snapshot: Snapshot, range: KeyRange, options: CountOptions = {}): Promise<number> {
  const { max = Number.POSITIVE_INFINITY, passed, isEstimate = false, slice = openTimeSlice() } = options
  let count = 0
  if (snapshot.count === undefined) {
    const keys = { keysOnly: true, isEstimate, batch: countedAtOnce, limit: max, slice }
    for await (const batch of snapshot.scan(range, () => undefined, keys)) {
      count += batch.length
      passed?.(batch.length)
    }
    return count
  }
  for (let rest: KeyRange | undefined = range; rest !== undefined && count < max; ) {
    const counted = snapshot.count(rest, Math.min(countedAtOnce, max - count))
    count += counted.count
    passed?.(counted.count)
    rest = counted.last && { ...rest, from: Buffer.concat([counted.last, zero]) }
    const pause = slice.yieldIfDue()
    if (pause !== undefined) await pause
  }
  return count
}

const zero = Buffer.of(0)
