/** Runs a transaction until its commit holds: conflicts are the engine's business, not the client's. */
import { setTimeout as delay } from 'node:timers/promises'
import { AshlarError } from '../errors.ts'
import { readSkewRetriesMax } from '../limits.ts'
import { MomentPassed } from '../store/moment-passed.ts'
import type { Awaitable, Bytes, Expectation, Store } from '../store/store.ts'
import { mayBeReadSkew } from '../store/with-snapshot.ts'
import { type Lanes, lanesOf } from './lanes.ts'
import { OwnWriteConflict, Tape, Transaction } from './transaction.ts'

/** Attempts made at once, before standing in line, or waiting a little, for others to get through. */
const attemptsAtOnce = 3
const delayMsMax = 32

/**
 * Runs `body` on a fresh snapshot (see `SnapshotOptions.first`) and commits what it wrote; when an expectation failed, again, up to
 * `attemptsMax` times. Whatever `body` throws ends it, with nothing written. Throws TransactionContention.
 */
export async function transact<T>(
  store: Store,
  attemptsMax: number,
  body: (transaction: Transaction) => Awaitable<T>,
  first: readonly Bytes[] = [],
): Promise<T> {
  const tape = new Tape()
  const line = new Line(store)
  let skewRetries = 0
  try {
    for (let attempt = 1; attempt <= attemptsMax; attempt++) {
      if (attempt > 1) await line.wait(attempt)
      // A careful attempt reads more than what is usual.
      const snapshot = await (attempt > 1 || first.length === 0 ? store.snapshot() : store.snapshot({ first }))
      const transaction = new Transaction(snapshot, attempt > 1, tape)
      let result: T
      try {
        result = await body(transaction)
      } catch (error) {
        // A careful attempt reads what this one only expected, and so tells the client what contradicts what.
        if (error instanceof OwnWriteConflict && !transaction.isCareful) continue
        if (error instanceof MomentPassed) continue
        if (mayBeReadSkew(store, error) && attempt < attemptsMax && ++skewRetries <= readSkewRetriesMax) continue
        if (error instanceof AshlarError && !(await isConfirmed(store, transaction))) continue
        throw error
      } finally {
        snapshot.release()
      }
      if (!transaction.hasChanges) {
        if (await isConfirmed(store, transaction)) return result
        continue
      }
      const outcome = await store.commit(transaction.commit())
      if (outcome.isCommitted) return result
      line.conflict = keyOf(outcome.failed)
    }
  } finally {
    line.leave()
  }
  throw new AshlarError(
    'TransactionContention',
    `The change met other changes of the same objects ${attemptsMax} times in a row; nothing was changed.`,
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

/** The turns that one transaction takes among those that want the same key. */
class Line {
  /** What failed the last attempt. */
  conflict: string | undefined
  private readonly lanes: Lanes
  private enteredAt = 0
  private end: (() => void) | undefined

  constructor(store: Store) {
    this.lanes = lanesOf(store)
  }

  /** Before another attempt: who has a lane tries again at once, for a while. */
  async wait(attempt: number): Promise<void> {
    const { conflict } = this
    if (conflict === undefined) return
    if (this.end === undefined) {
      if (attempt <= attemptsAtOnce && !this.lanes.isBusy(conflict)) return
      this.end = await this.lanes.enter(conflict)
      this.enteredAt = attempt
      return
    }
    const tried = attempt - this.enteredAt
    if (tried > attemptsAtOnce) await delay(Math.random() * Math.min(2 ** (tried - attemptsAtOnce), delayMsMax))
  }

  leave(): void {
    this.end?.()
  }
}

function keyOf(failed: Expectation): string {
  const key = failed.kind === 'range' ? failed.guard : failed.key
  return Buffer.from(key.buffer, key.byteOffset, key.length).toString('latin1')
}
