/** How one transaction gets ahead of those that conflict with it: by a queue, and at last by keeping their commits waiting. */
import { type CancelSignal, delay } from '../cancel-signal.ts'
import { attemptPauseMsMax, commitLockMsMax, commitLocksMax, queueMsMax } from '../limits.ts'
import type { Bytes, CommitLock, Precondition, Store } from '../store/store.ts'
import { type ContentionQueue, contentionQueueOf, type QueueTicket } from './contention-queue.ts'
import { keyText } from './key-text.ts'

/** Failures after which a transaction tries again at once, before it queues. */
const failuresAtOnce = 2

export class Turns {
  private readonly store: Store
  private readonly queue: ContentionQueue
  private readonly signal: CancelSignal | undefined
  private failures = 0
  private conflict: string | undefined
  private ticket: QueueTicket | undefined
  private held: CommitLock | undefined
  private locks = 0
  /** What is left of the time that it waits for others. */
  private queueMsLeft = queueMsMax
  /** When the last attempt began, and how long it took. */
  private attemptAt = 0
  private attemptMs = 0

  /** `signal`: of a client that may go. */
  constructor(store: Store, signal: CancelSignal | undefined) {
    this.store = store
    this.queue = contentionQueueOf(store)
    this.signal = signal
  }

  /** Held during the present attempt, if its commit is to keep others waiting. */
  get lock(): CommitLock | undefined {
    return this.held
  }

  /** A commit of the transaction failed. */
  fail(precondition: Precondition): void {
    this.failures++
    this.attemptMs = performance.now() - this.attemptAt
    this.conflict = keyText(keyOf(precondition))
  }

  /** Before an attempt: undefined if it begins at once, as all do that follow no conflict. Rejects with the signal's reason. */
  take(): Promise<void> | undefined {
    const { conflict } = this
    if (conflict === undefined) {
      this.attemptAt = performance.now()
      return undefined
    }
    this.conflict = undefined
    this.unlock()
    return this.takeAfter(conflict).then(() => {
      this.attemptAt = performance.now()
    })
  }

  /** After the first conflicts at once, then in the queue for the key, then with a lock. */
  private async takeAfter(conflict: string): Promise<void> {
    if (this.ticket === undefined) {
      if (this.failures <= failuresAtOnce && !this.queue.isBusy(conflict)) return
      this.ticket = this.queue.enter(conflict)
      return this.wait(this.ticket.turn)
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
    let isWanted = true
    const acquiring = locking.then((lock) => {
      if (isWanted) this.held = lock
      else lock.release()
    })
    // It may fail after nobody waits for it any more.
    acquiring.catch(() => undefined)
    try {
      await this.wait(acquiring)
    } finally {
      isWanted = false
    }
  }

  private unlock(): void {
    this.held?.release()
    this.held = undefined
  }

  /** For as long as it may. Rejects with the signal's reason. */
  private async wait(until: Promise<void>): Promise<void> {
    const startedAt = performance.now()
    await delay(this.queueMsLeft, this.signal, until)
    this.queueMsLeft -= performance.now() - startedAt
  }
}

const noKey = Buffer.alloc(0)

/** By which those that fail on the same precondition queue. */
function keyOf(precondition: Precondition): Bytes {
  if (precondition.kind === 'range') return precondition.rangeLockKey
  return precondition.kind === 'unchanged' ? (precondition.range.from ?? noKey) : precondition.key
}
