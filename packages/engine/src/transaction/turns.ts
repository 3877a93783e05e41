/** The turns that one transaction takes among those that want the same keys; see `contention-queue.ts`. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Commit, Expectation, Store } from '../store/store.ts'
import { type ContentionQueue, contentionQueueOf } from './contention-queue.ts'
import { keyText, type Transaction } from './transaction.ts'

/** Failures after which a transaction tries again at once, before it queues, reserves, or waits a little for other processes. */
const failuresAtOnce = 2
const delayMsMax = 32

export class Turns {
  private readonly queue: ContentionQueue
  private failures = 0
  private conflict: string | undefined
  private failed: Transaction | undefined
  private leaveQueue: (() => void) | undefined
  private reservation: Awaited<ReturnType<ContentionQueue['reserve']>> | undefined
  private failuresSinceReserved = 0

  constructor(store: Store) {
    this.queue = contentionQueueOf(store)
  }

  /** A commit of the transaction failed. */
  fail(attempt: Transaction, expectation: Expectation): void {
    this.noteConflict(attempt, keyText(expectation.kind === 'range' ? expectation.guard : expectation.key))
  }

  /**
   * Where the commit would change what another transaction has reserved, resolves when that has ended: the transaction is then
   * tried again from the start, since what it has read has probably changed. Undefined where nothing stands against it.
   */
  heldBack(attempt: Transaction, commit: Commit): Promise<void> | undefined {
    if (this.reservation !== undefined) return undefined
    const held = this.queue.heldBack(commit)
    if (held === undefined) return undefined
    this.noteConflict(attempt, held.key)
    return held.until
  }

  /** Before an attempt: undefined where it is begun at once, as all are that follow no conflict. */
  take(): Promise<void> | undefined {
    const { conflict, failed } = this
    if (conflict === undefined || failed === undefined) return undefined
    this.conflict = undefined
    return this.takeAfter(conflict, failed)
  }

  /** After the first conflicts at once, then in the queue for the key, then with a reservation. */
  private async takeAfter(conflict: string, failed: Transaction): Promise<void> {
    if (this.leaveQueue === undefined) {
      if (this.failures > failuresAtOnce || this.queue.isBusy(conflict))
        this.leaveQueue = await this.queue.enter(conflict)
      return
    }
    if (this.reservation === undefined) {
      this.reservation = await this.queue.reserve(failed)
      return
    }
    this.reservation.renew(failed)
    this.failuresSinceReserved++
    const waits = this.failuresSinceReserved - failuresAtOnce
    if (waits > 0) await delay(Math.random() * Math.min(2 ** waits, delayMsMax))
  }

  leave(): void {
    this.reservation?.end()
    this.leaveQueue?.()
  }

  private noteConflict(attempt: Transaction, key: string): void {
    this.failures++
    this.failed = attempt
    this.conflict = key
  }
}
