/**
 * Keeps the transactions of one process from starving each other. Optimistic commits favour whoever is quick: of many that
 * change one key all but one fail, and a long transaction fails for as long as short ones change what it has read.
 *
 * - Those whose commits failed queue for the key that they failed on: each then competes with newcomers alone.
 * - Whoever is first there and fails again reserves all that its commit requires. Newcomers that would change any of it are held
 *   back until the reservation ends, and read again then: they would otherwise be first once more.
 *
 * There is one reservation at a time, and its holder waits for nobody, so that no two can wait for each other. Turns and reservations
 * lapse: nobody waits for as long as a long transaction likes. Other processes are not held back.
 */
import { queueTurnMsMax, reservationAttemptsMax, reservationMsMax } from '../limits.ts'
import type { Store } from '../store/store.ts'
import type { Transaction } from './transaction.ts'

/** A ticket in a queue. It may be left at any time, also before its turn: the next one then waits for those before it all the same. */
export class QueueTicket {
  /** Resolves when it is one's turn. */
  readonly turn: Promise<void>
  /** Resolves when the turn has ended, and that of the next one begins. */
  readonly over: Promise<void>
  private state: 'waiting' | 'held' | 'left' = 'waiting'
  private timer: NodeJS.Timeout | undefined
  private readonly resolveLeft: () => void

  /** `turnMsMax`: after so long a turn lapses, as if it had been left. */
  constructor(before: Promise<void>, turnMsMax: number) {
    let resolveLeft = (): void => {}
    const left = new Promise<void>((resolve) => {
      resolveLeft = resolve
    })
    this.resolveLeft = resolveLeft
    this.turn = before.then(() => {
      if (this.state === 'left') return
      this.state = 'held'
      this.timer = setTimeout(() => this.leave(), turnMsMax)
      this.timer.unref()
    })
    this.over = Promise.all([this.turn, left]).then(() => undefined)
  }

  get isHeld(): boolean {
    return this.state === 'held'
  }

  leave(): void {
    this.state = 'left'
    clearTimeout(this.timer)
    this.resolveLeft()
  }
}

export class Reservation extends QueueTicket {
  /** The last attempt of its holder: what it required, the next one will. */
  attempt: Transaction
  private attempts = 0

  constructor(before: Promise<void>, attempt: Transaction) {
    super(before, reservationMsMax)
    this.attempt = attempt
  }

  /** A further attempt has failed. After several of them it is others who disturb, and to hold back one's own does not help. */
  renew(attempt: Transaction): void {
    this.attempt = attempt
    if (this.isHeld && ++this.attempts >= reservationAttemptsMax) this.leave()
  }
}

export class ContentionQueue {
  private readonly lasts = new Map<string, QueueTicket>()
  private last: Reservation | undefined
  private current: Reservation | undefined

  isBusy(key: string): boolean {
    return this.lasts.has(key)
  }

  /** A ticket in the queue for the key. */
  enter(key: string): QueueTicket {
    const ticket = new QueueTicket(this.lasts.get(key)?.over ?? Promise.resolve(), queueTurnMsMax)
    this.lasts.set(key, ticket)
    void ticket.over.then(() => {
      if (this.lasts.get(key) === ticket) this.lasts.delete(key)
    })
    return ticket
  }

  /** Holds when nobody else has a reservation any more. */
  reserve(attempt: Transaction): Reservation {
    const reservation = new Reservation(this.last?.over ?? Promise.resolve(), attempt)
    this.last = reservation
    void reservation.turn.then(() => {
      this.current = reservation
    })
    void reservation.over.then(() => {
      if (this.current === reservation) this.current = undefined
      if (this.last === reservation) this.last = undefined
    })
    return reservation
  }

  /** Whether the commit of `other` would change what is reserved: the key, and when the reservation ends. */
  heldBack(other: Transaction): { readonly key: string; readonly until: Promise<void> } | undefined {
    const { current } = this
    if (current === undefined || !current.isHeld) return undefined
    const key = current.attempt.keyDisturbedBy(other)
    return key === undefined ? undefined : { key, until: current.over }
  }
}

const queuesOfStores = new WeakMap<Store, ContentionQueue>()

/** Of this process. */
export function contentionQueueOf(store: Store): ContentionQueue {
  let queue = queuesOfStores.get(store)
  if (queue === undefined) {
    queue = new ContentionQueue()
    queuesOfStores.set(store, queue)
  }
  return queue
}
