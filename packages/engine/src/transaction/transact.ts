/** Runs a transaction until its commit holds: conflicts are the engine's business, not the client's. */
import type { RequestMemory } from '../budget/request-memory.ts'
import { AshlarError } from '../errors.ts'
import { readSkewRetriesMax } from '../limits.ts'
import { MomentPassed } from '../store/moment-passed.ts'
import type { Awaitable, Bytes, Store } from '../store/store.ts'
import { awaitCommitsUnderWay, mayBeReadSkew } from '../store/with-snapshot.ts'
import { AllocationLog, type CommitSize, OwnWriteConflict, Transaction } from './transaction.ts'
import { Turns } from './turns.ts'

export interface TransactOptions {
  /** See `SnapshotOptions.first`. */
  readonly first?: readonly Bytes[]
  /** Of a client that may go: waiting for other transactions ends then. */
  readonly signal?: AbortSignal | undefined
  /** What the transaction may write; the defaults without it. */
  readonly size?: CommitSize
  /** Of the request, charged with what the transaction holds until its commit. */
  readonly memory?: RequestMemory | undefined
  /** Called as soon as the commit is acknowledged; not where there was nothing to commit. */
  readonly onCommitted?: () => void
}

/**
 * Runs `body` on a fresh snapshot and commits what it wrote; when an expectation failed, again, up to `attemptsMax` times. Whatever
 * `body` throws ends it, with nothing written. For how long it waits for other transactions is bounded (`limits.ts`). Throws
 * TransactionContention, LimitExceeded, and the signal's reason.
 */
export async function transact<T>(
  store: Store,
  attemptsMax: number,
  body: (transaction: Transaction) => Awaitable<T>,
  { first = [], signal, size, memory, onCommitted }: TransactOptions = {},
): Promise<T> {
  const allocations = new AllocationLog()
  const kept = memory?.keptBytes ?? 0
  const turns = new Turns(store, signal)
  let skewRetries = 0
  let isSkewed = false
  try {
    for (let attempt = 1; attempt <= attemptsMax; attempt++) {
      const turn = turns.take()
      if (turn !== undefined) await turn
      if (isSkewed) await awaitCommitsUnderWay(store)
      isSkewed = false
      // A retry reads more than the first attempt.
      const snapshot = await (attempt > 1 || first.length === 0 ? store.snapshot() : store.snapshot({ first }))
      memory?.keepAgain(kept)
      const transaction = new Transaction(snapshot, attempt > 1, allocations, size, memory)
      let result: T
      try {
        result = await body(transaction)
      } catch (error) {
        // A retry reads what this attempt only expected, and so can tell the client the cause.
        if (error instanceof OwnWriteConflict && !transaction.isRetry) continue
        if (error instanceof MomentPassed) continue
        if (mayBeReadSkew(store, error) && attempt < attemptsMax && ++skewRetries <= readSkewRetriesMax) {
          isSkewed = true
          continue
        }
        if (error instanceof AshlarError && !(await isConfirmed(store, transaction))) continue
        throw error
      } finally {
        snapshot.release()
      }
      if (!transaction.hasChanges) {
        if (await isConfirmed(store, transaction)) return result
        continue
      }
      const held = turns.heldBack(transaction)
      if (held !== undefined) {
        await held
        // It was not tried. That ends: the time for which one is held back does.
        attempt--
        continue
      }
      const outcome = await store.commit(transaction.commit())
      if (outcome.isCommitted) {
        onCommitted?.()
        return result
      }
      turns.fail(transaction, outcome.failed)
    }
  } finally {
    turns.leave()
  }
  throw new AshlarError(
    'TransactionContention',
    `The change conflicted with other changes of the same objects ${attemptsMax} times in a row; nothing was changed.`,
  )
}

/**
 * Whether what a transaction read was so at one time. An error is a conclusion from reads as well, and so is that there is
 * nothing to change; neither is committed. Where snapshots are not whole, a commit without changes tells.
 */
async function isConfirmed(store: Store, transaction: Transaction): Promise<boolean> {
  if (store.facts.snapshotsAreWhole) return true
  const { expectations } = transaction.commit()
  return expectations.length === 0 || (await store.commit({ changes: [], expectations })).isCommitted
}
