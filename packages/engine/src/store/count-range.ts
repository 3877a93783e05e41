/** Counts the entries of a range by their keys, with yields. */
import type { KeyRange, ScanOptions, Snapshot } from './store.ts'
import { openTimeSlice } from './time-slice.ts'

/** Entries counted between clock checks: less than a millisecond of work where the store counts natively. */
const countBatch = 4_096

export interface RangeCountOptions extends Pick<ScanOptions, 'slice' | 'isEstimate'> {
  /** Stops counting here. */
  readonly max?: number
  /** Receives the increments of the count; may throw to abort. */
  readonly passed?: (count: number) => void
}

export async function countRange(
  snapshot: Snapshot,
  range: KeyRange,
  options: RangeCountOptions = {},
): Promise<number> {
  const { max = Number.POSITIVE_INFINITY, passed, isEstimate = false, slice = openTimeSlice() } = options
  let count = 0
  if (snapshot.count === undefined) {
    const keys = { keysOnly: true, isEstimate, batch: countBatch, limit: max, slice }
    for await (const batch of snapshot.scan(range, () => undefined, keys)) {
      count += batch.length
      passed?.(batch.length)
    }
    return count
  }
  for (let rest: KeyRange | undefined = range; rest !== undefined && count < max; ) {
    const counted = snapshot.count(rest, Math.min(countBatch, max - count))
    count += counted.count
    passed?.(counted.count)
    rest = counted.last && { ...rest, from: Buffer.concat([counted.last, zero]) }
    const pause = slice.yieldIfDue()
    if (pause !== undefined) await pause
  }
  return count
}

const zero = Buffer.of(0)
