/** Gives a transaction precedence over conflicting ones: by a queue, and finally by blocking their commits. */
import { type CancelSignal, delay } from '../cancel-signal.ts'
import { attemptPauseMsMax, commitLockMsMax, commitLocksMax, queueMsMax } from '../limits.ts'
import { keyText } from '../store/key-text.ts'
import type { Bytes, CommitLock, Precondition, Store } from '../store/store.ts'
import { type ContentionQueue, contentionQueueOf, type QueueTicket } from './contention-queue.ts'

/** Failures after which a transaction retries immediately, before it queues. */
const immediateRetries = 2

export class RetryScheduler {
  private readonly store: Store
  private readonly queue: ContentionQueue
  private readonly signal: CancelSignal | undefined
  private failures = 0
  private conflict: string | undefined
  private ticket: QueueTicket | undefined
  private acquiredLock: CommitLock | undefined
  private locks = 0
  private queueMsLeft = queueMsMax
  private attemptAt = 0
  private attemptMs = 0

  constructor(store: Store, signal: CancelSignal | undefined) {
    this.store = store
    this.queue = contentionQueueOf(store)
    this.signal = signal
  }

  /** The lock to commit with, if this attempt must block other commits. */
  get lock(): CommitLock | undefined {
    return this.acquiredLock
  }

  /** Must be called after a failed commit. */
  fail(precondition: Precondition): void {
    this.failures++
    this.attemptMs = performance.now() - this.attemptAt
    this.conflict = keyText(keyOf(precondition))
  }

  /** Must be called before an attempt. Undefined if it may begin immediately, as after no conflict. Rejects with the signal's reason. */
  beginAttempt(): Promise<void> | undefined {
    const { conflict } = this
    if (conflict === undefined) {
      this.attemptAt = performance.now()
      return undefined
    }
    this.conflict = undefined
    this.unlock()
    return this.beginAfter(conflict).then(() => {
      this.attemptAt = performance.now()
    })
  }

  /** Retries immediately after the first conflicts, then in the queue for the key, then with a lock. */
  private async beginAfter(conflict: string): Promise<void> {
    if (this.ticket === undefined) {
      if (this.failures <= immediateRetries && !this.queue.isBusy(conflict)) return
      this.ticket = this.queue.enter(conflict)
      return this.wait(this.ticket.activated)
    }
    const canLock = this.locks < commitLocksMax && this.attemptMs < commitLockMsMax
    if (canLock && this.store.lockCommits !== undefined) await this.acquire(this.store.lockCommits())
    else await delay(Math.random() * attemptPauseMsMax, this.signal)
  }

  leave(): void {
    this.unlock()
    this.ticket?.leave()
  }

  private async acquire(locking: Promise<CommitLock>): Promise<void> {
    this.locks++
    let isWaiting = true
    const acquiring = locking.then((lock) => {
      if (isWaiting) this.acquiredLock = lock
      else lock.release()
    })
    // It may reject after the wait has ended.
    acquiring.catch(() => undefined)
    try {
      await this.wait(acquiring)
    } finally {
      isWaiting = false
    }
  }

  private unlock(): void {
    this.acquiredLock?.release()
    this.acquiredLock = undefined
  }

  /** Waits until the time limit. Rejects with the signal's reason. */
  private async wait(until: Promise<void>): Promise<void> {
    const startedAt = performance.now()
    await delay(this.queueMsLeft, this.signal, until)
    this.queueMsLeft -= performance.now() - startedAt
  }
}

const noKey = Buffer.alloc(0)

function keyOf(precondition: Precondition): Bytes {
  if (precondition.kind === 'range') return precondition.rangeLockKey
  return precondition.kind === 'unchanged' ? (precondition.range.from ?? noKey) : precondition.key
}
