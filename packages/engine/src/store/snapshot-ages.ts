/** Ends snapshots that exceed their time limits: while one is open, the files of a store grow by everything that is written. */
import type { SnapshotLimits, Store } from './store.ts'

const checksPerLimit = 20
const checkMsMin = 5
const checkMsMax = 10_000

/** Checks periodically until the timer is cleared. The timer does not keep the process alive. */
export function watchSnapshotAges(store: Store, limits: SnapshotLimits): NodeJS.Timeout {
  const shortest = Math.min(limits.snapshotMsMax, limits.longSnapshotMsMax)
  const checkMs = Math.min(checkMsMax, Math.max(checkMsMin, shortest / checksPerLimit))
  return setInterval(() => store.endOldSnapshots?.(limits), checkMs).unref()
}
