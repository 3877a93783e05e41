/**
 * Prevents starvation among the transactions of one thread. Optimistic commits favour fast transactions: of many that change the same key, all but
 * one fail. A transaction whose commits failed queues for the key of the conflict: it then competes with newcomers only. An active ticket expires,
 * so that a long transaction cannot block it.
 */
import { queueWaitMsMax } from '../limits.ts'
import type { Store } from '../store/store.ts'

/** A place in a queue. It may be left at any time, even before it is active, which does not let the next one overtake earlier ones. */
export class QueueTicket {
  /** Resolves when the ticket becomes active. */
  readonly activated: Promise<void>
  readonly over: Promise<void>
  private state: 'waiting' | 'active' | 'left' = 'waiting'
  private timer: NodeJS.Timeout | undefined
  private readonly resolveLeft: () => void

  /** `activeMsMax`: time limit of an active ticket, after which it ends as if it had been left. */
  constructor(before: Promise<void>, activeMsMax: number) {
    let resolveLeft = (): void => {}
    const left = new Promise<void>((resolve) => {
      resolveLeft = resolve
    })
    this.resolveLeft = resolveLeft
    this.activated = before.then(() => {
      if (this.state === 'left') return
      this.state = 'active'
      this.timer = setTimeout(() => this.leave(), activeMsMax)
      this.timer.unref()
    })
    this.over = Promise.all([this.activated, left]).then(() => undefined)
  }

  get isActive(): boolean {
    return this.state === 'active'
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

  enter(key: string): QueueTicket {
    const ticket = new QueueTicket(this.lasts.get(key)?.over ?? Promise.resolve(), queueWaitMsMax)
    this.lasts.set(key, ticket)
    void ticket.over.then(() => {
      if (this.lasts.get(key) === ticket) this.lasts.delete(key)
    })
    return ticket
  }
}

const queuesOfStores = new WeakMap<Store, ContentionQueue>()

export function contentionQueueOf(store: Store): ContentionQueue {
  let queue = queuesOfStores.get(store)
  if (queue === undefined) {
    queue = new ContentionQueue()
    queuesOfStores.set(store, queue)
  }
  return queue
}
