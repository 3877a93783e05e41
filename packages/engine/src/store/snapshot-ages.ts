/**
 * Ends snapshots that are held for too long: while one is open, the files of a store grow by everything that is
 * written.
 */
import type { SnapshotLimits, Store } from './store.ts'

const looksPerLimit = 20
const betweenLooksMsMin = 5
const betweenLooksMsMax = 10_000

/** Looks now and then, until the timer is cleared; it does not keep the process from ending. */
export function watchSnapshotAges(store: Store, limits: SnapshotLimits): NodeJS.Timeout {
  const shortest = Math.min(limits.snapshotMsMax, limits.longSnapshotMsMax)
  const betweenLooksMs = Math.min(betweenLooksMsMax, Math.max(betweenLooksMsMin, shortest / looksPerLimit))
  return setInterval(() => store.endOldSnapshots?.(limits), betweenLooksMs).unref()
}
