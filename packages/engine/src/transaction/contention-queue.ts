/**
 * Keeps the transactions of one thread from starving each other. Optimistic commits favour whoever is quick: of many that change one key all but one
 * fail. Those whose commits failed queue for the key on which they failed: each then competes with newcomers alone. A place in the queue
 * lapses, so that nobody waits for as long as a long transaction likes.
 */
import { queueTurnMsMax } from '../limits.ts'
import type { Store } from '../store/store.ts'

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

export class ContentionQueue {
  private readonly lasts = new Map<string, QueueTicket>()

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
}

const queuesOfStores = new WeakMap<Store, ContentionQueue>()

/** Of this thread. */
export function contentionQueueOf(store: Store): ContentionQueue {
  let queue = queuesOfStores.get(store)
  if (queue === undefined) {
    queue = new ContentionQueue()
    queuesOfStores.set(store, queue)
  }
  return queue
}
