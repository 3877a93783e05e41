/** Runs a transaction until its commit holds: conflicts are the engine's business, not the client's. */
import { setTimeout as delay } from 'node:timers/promises'
import { AshlarError } from '../errors.ts'
import type { Awaitable, Store } from '../store/store.ts'
import { OwnWriteConflict, Tape, Transaction } from './transaction.ts'

/** Attempts made at once, before waiting a little, growing time for others to get through. */
const attemptsWithoutDelay = 3
const delayMsMax = 32

/**
 * Runs `body` on a fresh snapshot and commits what it wrote; when an expectation failed, again, up to
 * `attemptsMax` times. Whatever `body` throws ends it, with nothing written. Throws TransactionContention.
 */
export async function transact<T>(
  store: Store,
  attemptsMax: number,
  body: (transaction: Transaction) => Awaitable<T>,
): Promise<T> {
  const tape = new Tape()
  for (let attempt = 1; attempt <= attemptsMax; attempt++) {
    if (attempt > attemptsWithoutDelay) await delay(Math.random() * Math.min(2 ** (attempt - 3), delayMsMax))
    const snapshot = await store.snapshot()
    const transaction = new Transaction(snapshot, attempt > 1, tape)
    let result: T
    try {
      result = await body(transaction)
    } catch (error) {
      // A careful attempt reads what this one only expected, and so tells the client what contradicts what.
      if (error instanceof OwnWriteConflict && !transaction.isCareful) continue
      throw error
    } finally {
      snapshot.release()
    }
    if (!transaction.hasChanges) return result
    const outcome = await store.commit(transaction.commit())
    if (outcome.isCommitted) return result
  }
  throw new AshlarError(
    'TransactionContention',
    `The change met other changes of the same objects ${attemptsMax} times in a row; nothing was changed.`,
  )
}
