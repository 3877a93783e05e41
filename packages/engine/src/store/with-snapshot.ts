/**
 * Consistent reads: the only place that knows the guarantees of snapshots, and what to do if one has shown two points in
 * time. If the snapshots of a store are not consistent (`StoreCapabilities.hasConsistentSnapshots`), two keys of one
 * snapshot may be read as of different points in time; code that detects this throws ReadSkew. A read is then retried
 * once on a consistent snapshot; a change is retried after the commits in progress. A failed assertion is a bug in
 * Ashlar on every store, and is never retried. A snapshot that is lost with its connection is replaced by another.
 */
import { AshlarError } from '../errors.ts'
import { readSkewRetriesMax } from '../limits.ts'
import { ReadSkew } from './read-skew.ts'
import type { Sequence } from './sequence.ts'
import { SnapshotInvalidated } from './snapshot-invalidated.ts'
import { LostSnapshots, SnapshotLost } from './snapshot-lost.ts'
import type { Awaitable, Entry, Precondition, Snapshot, SnapshotOptions, Store } from './store.ts'

/**
 * Runs `use` on a fresh snapshot, which is released with it. `use` is repeated on another one after read skew or if the `prefetchKeys` have changed,
 * and after a lost snapshot as long as the store has patience (`lost`). `use` must not commit, nor wait for a commit. Throws the last error of `use`.
 */
export function withSnapshot<T>(
  store: Store,
  use: (snapshot: Snapshot) => Awaitable<T>,
  options?: SnapshotOptions,
  lost?: LostSnapshots,
): Awaitable<T> {
  const opened = store.snapshot(options)
  if (opened instanceof Promise) return opened.then((snapshot) => readOn(snapshot, store, use, options, lost))
  return readOn(opened, store, use, options, lost)
}

/** Runs `use` on a fresh snapshot without retries: for commits with preconditions on their reads, and for tools that are simply restarted. */
export async function onSnapshot<T>(
  store: Pick<Store, 'snapshot'>,
  use: (snapshot: Snapshot) => Awaitable<T>,
  options?: SnapshotOptions,
): Promise<T> {
  const snapshot = await store.snapshot(options)
  try {
    return await use(snapshot)
  } finally {
    snapshot.release()
  }
}

function readOn<T>(
  snapshot: Snapshot,
  store: Store,
  use: (snapshot: Snapshot) => Awaitable<T>,
  options: SnapshotOptions | undefined,
  lost = new LostSnapshots(),
): Awaitable<T> {
  let result: Awaitable<T>
  try {
    result = use(snapshot)
  } catch (error) {
    snapshot.release()
    throw error
  }
  if (result instanceof Promise) {
    const ended = result.finally(() => snapshot.release())
    const { hasConsistentSnapshots, hasSynchronousReads } = store.capabilities
    if (hasConsistentSnapshots && hasSynchronousReads && options?.prefetchKeys === undefined) return ended
    return ended.catch(async (error) => {
      const again = await snapshotToReadAgain(store, options, error, lost)
      return withSnapshot(store, use, again, lost)
    })
  }
  snapshot.release()
  return result
}

/** A read whose snapshot outlives its start; an interface, since a closure per query costs more. */
export interface LastingRead<T> {
  begin(snapshot: Snapshot, options: SnapshotOptions): Awaitable<T>
}

/**
 * Like `withSnapshot` for a snapshot that outlives the beginning of the read, for example of a reply whose rows are still being read: it is released
 * here only if the beginning throws. Later errors must pass through `lateReadError`. `expected`: see `Snapshot.expect`.
 */
export function withLastingSnapshot<T>(
  store: Store,
  read: LastingRead<T>,
  options: SnapshotOptions,
  expected?: Entry,
  lost?: LostSnapshots,
): Awaitable<T> {
  const snapshot = store.snapshot(options)
  return snapshot instanceof Promise
    ? beginAsync(snapshot, store, read, options, expected, lost)
    : beginOn(snapshot, store, read, options, expected, lost)
}

async function beginAsync<T>(
  snapshot: Promise<Snapshot>,
  store: Store,
  read: LastingRead<T>,
  options: SnapshotOptions,
  expected: Entry | undefined,
  lost: LostSnapshots | undefined,
): Promise<T> {
  return beginOn(await snapshot, store, read, options, expected, lost)
}

function beginOn<T>(
  snapshot: Snapshot,
  store: Store,
  read: LastingRead<T>,
  options: SnapshotOptions,
  expected: Entry | undefined,
  lost: LostSnapshots | undefined,
): Awaitable<T> {
  if (expected !== undefined && snapshot.expect !== undefined) {
    snapshot.expect(expected)
    return orRetry(confirmed(snapshot, read, options), snapshot, store, read, options, lost)
  }
  let started: Awaitable<T>
  try {
    started = read.begin(snapshot, options)
  } catch (error) {
    return beginAgain(snapshot, store, read, options, error, lost)
  }
  return started instanceof Promise ? orRetry(started, snapshot, store, read, options, lost) : started
}

function orRetry<T>(
  started: Promise<T>,
  snapshot: Snapshot,
  store: Store,
  read: LastingRead<T>,
  options: SnapshotOptions,
  lost: LostSnapshots | undefined,
): Promise<T> {
  return started.catch((error) => beginAgain(snapshot, store, read, options, error, lost))
}

function beginAgain<T>(
  snapshot: Snapshot,
  store: Store,
  read: LastingRead<T>,
  options: SnapshotOptions,
  error: unknown,
  lost = new LostSnapshots(),
): Awaitable<T> {
  snapshot.release()
  const again = snapshotToReadAgain(store, options, error, lost)
  if (again instanceof Promise)
    return again.then((retryOptions) => withLastingSnapshot(store, read, retryOptions, undefined, lost))
  return withLastingSnapshot(store, read, again, undefined, lost)
}

/** The error to throw for one that occurred on such a snapshot too late to read again. */
export function lateReadError(store: Store, options: SnapshotOptions, error: unknown): unknown {
  return mayBeReadSkew(store, options, error) ? inconsistentReply(error) : error
}

/** The result, or error, counts only if the snapshot holds the expected content. */
async function confirmed<T>(snapshot: Snapshot, read: LastingRead<T>, options: SnapshotOptions): Promise<T> {
  let result: T
  try {
    result = await read.begin(snapshot, options)
  } catch (error) {
    if (!(error instanceof SnapshotInvalidated)) await snapshot.confirm?.()
    throw error
  }
  const confirming = snapshot.confirm?.()
  if (confirming !== undefined) await confirming
  return result
}

/** The snapshot for another attempt after `error`. Rethrows the error if another attempt cannot help. */
function snapshotToReadAgain(
  store: Store,
  { prefetchKeys: _, ...options }: SnapshotOptions = {},
  error: unknown,
  lost: LostSnapshots,
): Awaitable<SnapshotOptions> {
  if (error instanceof SnapshotInvalidated) return options
  if (error instanceof SnapshotLost) return lost.another(error).then(() => options)
  if (mayBeReadSkew(store, options, error)) return { ...options, isolation: 'consistent' }
  throw error
}

/** Whether read skew may have caused the error: on a consistent snapshot, contradictory data is damaged. */
function mayBeReadSkew({ capabilities }: Store, { isolation }: SnapshotOptions, error: unknown): error is ReadSkew {
  return error instanceof ReadSkew && !capabilities.hasConsistentSnapshots && isolation !== 'consistent'
}

function inconsistentReply({ contradiction }: ReadSkew): AshlarError {
  return new AshlarError(
    'StoreUnavailable',
    `The reply would have contradicted itself, since others have committed changes while it was read: ${contradiction}.`,
  )
}

/** The failed attempts of one change, which ended because of data they read. */
export class FailedReads {
  private skews = 0
  private lost: LostSnapshots | undefined

  /** Whether to retry after `error`, resolved when the retry may start. The snapshot must be released. Throws SnapshotLost when patience ends. */
  async canRetryAfter(store: Store, error: unknown): Promise<boolean> {
    if (error instanceof SnapshotInvalidated) return true
    if (error instanceof SnapshotLost) {
      this.lost ??= new LostSnapshots()
      await this.lost.another(error)
      return true
    }
    if (!mayBeReadSkew(store, {}, error) || ++this.skews > readSkewRetriesMax) return false
    await awaitPendingCommits(store)
    return true
  }
}

/**
 * Whether all preconditions of an uncommitted change hold at one time. An error, or the absence of changes, is a
 * conclusion from reads too; if snapshots are inconsistent, an empty commit checks it.
 */
export async function preconditionsHold(store: Store, expected: Sequence<Precondition>): Promise<boolean> {
  if (store.capabilities.hasConsistentSnapshots || expected.length === 0) return true
  return (await store.commit({ changes: [], preconditions: expected })).isCommitted
}

/** Resolves once commits in progress are visible to later snapshots: for work that must see all writes from before a catalog change. */
export async function awaitPendingCommits(store: Store): Promise<void> {
  if (store.capabilities.hasConsistentSnapshots) return
  // Only the first read waits, whichever key it reads.
  await onSnapshot(store, (snapshot) => snapshot.view(anyKey, () => undefined), { isolation: 'consistent' })
}

const anyKey = Buffer.of(0)
