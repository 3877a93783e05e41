/**
 * Reads on a snapshot of their own, and the one place that decides what to do about read skew: on a store whose snapshots
 * are not whole (`StoreFacts.snapshotsAreWhole`), two keys of one snapshot may be read as of two points in time, so that
 * what was read contradicts itself. It shows as a failed assertion, which on such a store need not be a fault of ours.
 */
import { AssertionFailed } from '../errors.ts'
import { when } from './awaitable.ts'
import { MomentPassed } from './moment-passed.ts'
import type { Awaitable, Snapshot, SnapshotOptions, Store } from './store.ts'

/**
 * Runs `use` on a fresh snapshot, which ends with it; once more where `snapshotToReadAgain` says so. Throws what `use`
 * throws then.
 */
export function withSnapshot<T>(
  store: Store,
  use: (snapshot: Snapshot) => Awaitable<T>,
  options?: SnapshotOptions,
): Awaitable<T> {
  return when(store.snapshot(options), (snapshot) => {
    let result: Awaitable<T>
    try {
      result = use(snapshot)
    } catch (error) {
      snapshot.release()
      throw error
    }
    if (result instanceof Promise) {
      const ended = result.finally(() => snapshot.release())
      return options === undefined ? ended : ended.catch((error) => readAgain(store, use, options, error))
    }
    snapshot.release()
    return result
  })
}

function readAgain<T>(
  store: Store,
  use: (snapshot: Snapshot) => Awaitable<T>,
  options: SnapshotOptions,
  error: unknown,
): Awaitable<T> {
  const next = snapshotToReadAgain(store, options, error)
  if (next === undefined) throw error
  return withSnapshot(store, use, next)
}

/**
 * The snapshot on which a read that ended in `error` is to be run again; undefined where that would be no help. After read
 * skew it is a whole one, on which a read that contradicts itself again has found a fault of ours, or damaged data.
 */
export function snapshotToReadAgain(
  store: Store,
  { first: _, ...options }: SnapshotOptions,
  error: unknown,
): SnapshotOptions | undefined {
  if (error instanceof MomentPassed) return options
  if (options.purpose === 'reading' && mayBeReadSkew(store, error)) return { ...options, purpose: 'whole' }
  return undefined
}

/** Whether the error may come of read skew, rather than of a fault of ours: the work should then read once more. */
export function mayBeReadSkew({ facts }: Store, error: unknown): boolean {
  return error instanceof AssertionFailed && !facts.snapshotsAreWhole
}

/**
 * Resolves once every commit that was under way is seen whole by all snapshots that begin afterwards. Where snapshots are
 * whole that is always so. For work that relies on having seen all that was written before a change of the catalog.
 */
export async function awaitCommitsUnderWay(store: Store): Promise<void> {
  if (store.facts.snapshotsAreWhole) return
  const snapshot = await store.snapshot({ purpose: 'whole' })
  try {
    // The first read is what waits; which key it reads makes no difference.
    await snapshot.view(anyKey, () => undefined)
  } finally {
    snapshot.release()
  }
}

const anyKey = Buffer.of(0)
