/** The turns that one transaction takes among those that want the same keys; see `contention-queue.ts`. */
import { type CancelSignal, delay } from '../cancel-signal.ts'
import { attemptPauseMsMax, heldBackMsMax, queueMsMax } from '../limits.ts'
import type { Bytes, Precondition, Store } from '../store/store.ts'
import { type ContentionQueue, contentionQueueOf, type QueueTicket, type Reservation } from './contention-queue.ts'
import { keyText } from './key-text.ts'
import type { Transaction } from './transaction.ts'

/** Failures after which a transaction tries again at once, before it queues, reserves, or waits a little for other processes. */
const failuresAtOnce = 2

export class Turns {
  private readonly queue: ContentionQueue
  private readonly signal: CancelSignal | undefined
  private failures = 0
  private conflict: string | undefined
  private failed: Transaction | undefined
  private ticket: QueueTicket | undefined
  private reservation: Reservation | undefined
  private failuresSinceReserved = 0
  /** What is left of the time that it waits for others; it goes ahead then. */
  private queueMsLeft = queueMsMax
  private heldBackMsLeft = heldBackMsMax
  /** When the attempt under way began. */
  private attemptAt = 0

  /** `signal`: of a client that may go. */
  constructor(store: Store, signal: CancelSignal | undefined) {
    this.queue = contentionQueueOf(store)
    this.signal = signal
  }

  /** A commit of the transaction failed. */
  fail(attempt: Transaction, precondition: Precondition): void {
    this.noteConflict(attempt, keyText(keyOf(precondition)))
  }

  /**
   * Where the commit would change what another transaction has reserved, resolves when that has ended: this one is then tried again from the
   * start, since what it has read has probably changed. Undefined where nothing stands against it, or where being held back has cost this
   * one `heldBackMsMax`, waits and the attempts made in vain taken together. Rejects with the signal's reason.
   */
  heldBack(attempt: Transaction): Promise<void> | undefined {
    if (this.reservation?.isHeld === true || this.heldBackMsLeft <= 0) return undefined
    const held = this.queue.heldBack(attempt)
    if (held === undefined) return undefined
    this.noteConflict(attempt, held.key)
    return this.waitHeldBack(held.until, performance.now() - this.attemptAt)
  }

  /** Before an attempt: undefined where it is begun at once, as all are that follow no conflict. Rejects with the signal's reason. */
  take(): Promise<void> | undefined {
    this.attemptAt = performance.now()
    const { conflict, failed } = this
    if (conflict === undefined || failed === undefined) return undefined
    this.conflict = undefined
    return this.takeAfter(conflict, failed).then(() => {
      this.attemptAt = performance.now()
    })
  }

  /** After the first conflicts at once, then in the queue for the key, then with a reservation. */
  private async takeAfter(conflict: string, failed: Transaction): Promise<void> {
    if (this.ticket === undefined) {
      if (this.failures <= failuresAtOnce && !this.queue.isBusy(conflict)) return
      this.ticket = this.queue.enter(conflict)
      return this.waitInQueue(this.ticket)
    }
    if (this.reservation === undefined) {
      this.reservation = this.queue.reserve(failed)
      return this.waitInQueue(this.reservation)
    }
    this.reservation.renew(failed)
    this.failuresSinceReserved++
    const waits = this.failuresSinceReserved - failuresAtOnce
    if (waits > 0) await pause(Math.random() * Math.min(2 ** waits, attemptPauseMsMax))
  }

  leave(): void {
    this.reservation?.leave()
    this.ticket?.leave()
  }

  private async waitInQueue({ turn }: QueueTicket): Promise<void> {
    this.queueMsLeft -= await waitedMs(turn, this.queueMsLeft, this.signal)
  }

  private async waitHeldBack(until: Promise<void>, attemptMs: number): Promise<void> {
    this.heldBackMsLeft -= attemptMs + (await waitedMs(until, this.heldBackMsLeft, this.signal))
  }

  private noteConflict(attempt: Transaction, key: string): void {
    this.failures++
    this.failed = attempt
    this.conflict = key
  }
}

const noKey = Buffer.alloc(0)

/** By which those that fail on the same precondition queue. */
function keyOf(precondition: Precondition): Bytes {
  if (precondition.kind === 'range') return precondition.rangeLockKey
  return precondition.kind === 'unchanged' ? (precondition.range.from ?? noKey) : precondition.key
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

/** Waits until then, or for so long at most, and tells how long it was. Throws the signal's reason. */
async function waitedMs(until: Promise<void>, msMax: number, signal: CancelSignal | undefined): Promise<number> {
  const startedAt = performance.now()
  await delay(msMax, signal, until)
  return performance.now() - startedAt
}
