/** Runs a transaction and retries it until its commit succeeds: clients never see conflicts. */

import type { RequestMemory } from '../budget/request-memory.ts'
import type { CancelSignal } from '../cancel-signal.ts'
import { AshlarError } from '../errors.ts'
import { SnapshotLost } from '../store/snapshot-lost.ts'
import type { Bytes, SnapshotOptions, Store } from '../store/store.ts'
import { FailedReads, preconditionsHold } from '../store/with-snapshot.ts'
import { AllocationLog } from './allocation-log.ts'
import type { CommitSize } from './commit-size.ts'
import { ReadSet } from './read-set.ts'
import { OwnWriteConflict, Transaction } from './transaction.ts'
import { RetryScheduler } from './turns.ts'

export interface TransactOptions {
  /** See `SnapshotOptions.prefetchKeys`. */
  readonly prefetchKeys?: readonly Bytes[] | undefined
  /** See `SnapshotOptions.mayShare`. Applies to the first attempt, whose commit requires everything it has read. */
  readonly mayShare?: boolean | undefined
  /** Aborted if the client disconnects, which ends waits for other transactions. */
  readonly signal?: CancelSignal | undefined
  /** Limits on the writes of the transaction; by default the limits of the engine. */
  readonly size?: CommitSize | undefined
  /** Memory of the request, charged for the transaction until its commit. */
  readonly memory?: RequestMemory | undefined
  /** Whether to release all of it once the transaction has ended in any way. */
  readonly releasesMemory?: boolean | undefined
  /** Whether the commit requires data read through `Transaction.observed` to be unchanged. */
  readonly isSerializable?: boolean | undefined
  /**
   * It reserves something for work in progress, which may hold a snapshot meanwhile, see `SnapshotOptions.isNested` and
   * `Commit.isReservation`.
   */
  readonly isReservation?: boolean | undefined
  /** Called as soon as the commit is acknowledged; not if there was nothing to commit. */
  readonly onCommitted?: (() => void) | undefined
}

/**
 * Runs `body` on a fresh snapshot and commits its writes. Retries up to `attemptsMax` times if a precondition fails, and as long as the store has
 * patience if the snapshot is lost. An error of `body` ends it, with nothing written, unless a retry may succeed (`FailedReads`). The time it waits
 * for other transactions is bounded (`limits.ts`). Throws TransactionContention, LimitExceeded, and the signal's reason.
 */
export async function transact<T>(
  store: Store,
  attemptsMax: number,
  body: (transaction: Transaction) => Promise<T>,
  options: TransactOptions = {},
): Promise<T> {
  const { signal, size, memory, releasesMemory, isReservation, onCommitted } = options
  const allocations = new AllocationLog()
  const bytesBefore = memory?.requestBytes ?? 0
  const scheduler = new RetryScheduler(store, signal)
  const failures = new FailedReads()
  let runs = 0
  try {
    for (let attempt = 1; attempt <= attemptsMax; attempt++) {
      const ready = scheduler.beginAttempt()
      if (ready !== undefined) await ready
      if (attempt > 1 && store.counts !== undefined) store.counts.retries++
      const snapshot = await store.snapshot(snapshotOptions(attempt, options))
      if (runs++ > 0 || releasesMemory !== true) memory?.releaseAllBut(bytesBefore)
      const reads = options.isSerializable === true ? new ReadSet(memory) : undefined
      const transaction = new Transaction(snapshot, attempt > 1, allocations, size, memory, signal, reads)
      let result: T
      try {
        result = await body(transaction)
      } catch (thrown) {
        snapshot.release()
        const error = errorWithin(thrown)
        // A retry finds the cause.
        if (error instanceof OwnWriteConflict && !transaction.isRetry) continue
        if (await failures.canRetryAfter(store, error)) {
          // A lost snapshot does not indicate a conflict.
          if (error instanceof SnapshotLost) attempt--
          continue
        }
        if (error instanceof AshlarError && !(await preconditionsHold(store, transaction.requirements))) continue
        throw thrown
      } finally {
        snapshot.release()
      }
      if (!transaction.hasChanges) {
        if (await preconditionsHold(store, transaction.requirements)) return result
        continue
      }
      const append = transaction.logEpoch === 0 ? undefined : await transaction.append()
      const commit = transaction.commit(append, scheduler.lock)
      // With a separate lock, it does not release one held by its requester.
      const isReserving = isReservation === true && scheduler.lock === undefined
      const outcome = await store.commit(isReserving ? { ...commit, isReservation } : commit)
      if (outcome.isCommitted) {
        onCommitted?.()
        return result
      }
      scheduler.fail(outcome.failed)
    }
  } finally {
    scheduler.leave()
    if (releasesMemory === true) memory?.release()
  }
  throw new AshlarError(
    'TransactionContention',
    `The change conflicted with other changes of the same objects ${attemptsMax} times in a row; nothing was changed.`,
  )
}

/** Unwraps the error of one of several operations, which the caller has wrapped to identify the operation. */
function errorWithin(thrown: unknown): unknown {
  if (thrown instanceof AshlarError || !(thrown instanceof Error)) return thrown
  return thrown.cause instanceof AshlarError ? thrown.cause : thrown
}

const shared: SnapshotOptions = { mayShare: true }
const nested: SnapshotOptions = { isNested: true }

function snapshotOptions(
  attempt: number,
  { prefetchKeys, mayShare = false, isReservation = false }: TransactOptions,
): SnapshotOptions | undefined {
  // A retry reads more than the first attempt.
  if (attempt > 1) return isReservation ? nested : undefined
  if (prefetchKeys !== undefined) return { prefetchKeys, mayShare, isNested: isReservation }
  if (isReservation) return nested
  return mayShare ? shared : undefined
}
