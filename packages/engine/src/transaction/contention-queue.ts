/**
 * Keeps the transactions of one process from starving each other. Optimistic commits favour whoever is quick: of many that
 * change one key all but one fail, and a long transaction fails for as long as short ones change what it has read.
 *
 * - Those whose commits failed queue for the key that they failed on: each then competes with newcomers alone.
 * - Whoever is first there and fails again reserves all that its commit expects. Newcomers that would change any of it are held
 *   back until the reservation ends, and read again then: they would otherwise be first once more.
 *
 * There is one reservation at a time, and its holder waits for nobody, so that no two can wait for each other. Other processes
 * are not held back.
 */
import type { Commit, Store } from '../store/store.ts'
import type { Transaction } from './transaction.ts'

interface Reservation {
  /** The last attempt of its holder: what it expected, the next one will. */
  attempt: Transaction
  readonly ended: Promise<void>
}

export class ContentionQueue {
  private readonly lasts = new Map<string, Promise<void>>()
  private lastReservation: Promise<void> = Promise.resolve()
  private reservation: Reservation | undefined

  isBusy(key: string): boolean {
    return this.lasts.has(key)
  }

  /** Resolves when it is one's turn for the key; what it resolves to is called to leave. */
  async enter(key: string): Promise<() => void> {
    const before = this.lasts.get(key)
    const [own, leave] = promiseAndEnd()
    this.lasts.set(key, own)
    await before
    return () => {
      if (this.lasts.get(key) === own) this.lasts.delete(key)
      leave()
    }
  }

  /** Resolves when nobody else has a reservation any more. `renew` is called with each further attempt that failed. */
  async reserve(attempt: Transaction): Promise<{ renew(attempt: Transaction): void; end(): void }> {
    const before = this.lastReservation
    const [ended, end] = promiseAndEnd()
    this.lastReservation = ended
    await before
    const reservation: Reservation = { attempt, ended }
    this.reservation = reservation
    return {
      renew: (next) => {
        reservation.attempt = next
      },
      end: () => {
        if (this.reservation === reservation) this.reservation = undefined
        end()
      },
    }
  }

  /** Whether the commit would change what another transaction has reserved: the key, and when the reservation ends. */
  heldBack(commit: Commit): { readonly key: string; readonly until: Promise<void> } | undefined {
    const { reservation } = this
    const key = reservation?.attempt.keyDisturbedBy(commit)
    return reservation === undefined || key === undefined ? undefined : { key, until: reservation.ended }
  }
}

function promiseAndEnd(): [Promise<void>, () => void] {
  let end = (): void => {}
  const promise = new Promise<void>((resolve) => {
    end = resolve
  })
  return [promise, end]
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
