/** The open snapshots of one store: reports the age of the oldest, ends a snapshot at its time limit, and all when the store closes. */
import { AshlarError } from '../errors.ts'
import type { SnapshotLimits, SnapshotOptions, Store } from './store.ts'
import { type Placed, UnorderedSet } from './unordered-set.ts'

interface Tracked extends Placed {
  readonly openedAtMs: number
  /** The options with which it was opened. */
  readonly options?: SnapshotOptions | undefined
  release(): void
  /** Releases it; reading from it throws the error from then on. */
  end(error: AshlarError): void
}

export interface OpenSnapshots<S extends Tracked> {
  add(snapshot: S): S
  remove(snapshot: S): void
  some(isSelected: (snapshot: S) => boolean): boolean
  oldestMs(): number
  /** The store's methods that these snapshots implement. */
  readonly storeMethods: Required<Pick<Store, 'endOldSnapshots' | 'oldestSnapshotMs'>>
  releaseAll(): void
}

export function trackOpenSnapshots<S extends Tracked>(): OpenSnapshots<S> {
  const open = new UnorderedSet<S>()

  function oldestMs(): number {
    const now = performance.now()
    return open.all().reduce((oldest, { openedAtMs }) => Math.max(oldest, now - openedAtMs), 0)
  }

  function endOldSnapshots(limits: SnapshotLimits): void {
    const now = performance.now()
    for (const snapshot of open.all()) {
      const limit = snapshot.options?.isLong === true ? 'longSnapshotMsMax' : 'snapshotMsMax'
      if (now - snapshot.openedAtMs < limits[limit]) continue
      const error = tooOld(limit, limits[limit])
      snapshot.end(error)
      snapshot.options?.watch?.onEnded?.(error)
    }
  }

  return {
    add(snapshot) {
      open.add(snapshot)
      return snapshot
    },
    remove(snapshot) {
      open.delete(snapshot)
    },
    some: (isSelected) => open.all().some(isSelected),
    oldestMs,
    storeMethods: { endOldSnapshots, oldestSnapshotMs: oldestMs },
    releaseAll() {
      for (const snapshot of open.all()) snapshot.release()
    },
  }
}

function tooOld(limit: string, ms: number): AshlarError {
  const message = `What is read is as of a moment more than ${ms / 1_000} s ago (${limit}): it is kept no longer, since the data file grows meanwhile.`
  return new AshlarError('LimitExceeded', message)
}
