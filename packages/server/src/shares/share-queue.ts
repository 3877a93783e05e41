/** Work that waits for its place: so much in all and of one sharer, for a bounded time; that of one sharer in the order in which it came (contract 1.5.23). */
import type { CancelSignal } from '@ashlar/engine'

/** Whoever waits. */
export interface Waiter {
  /** See `sharerOf`. */
  readonly sharer: string
  /** By performance.now(). */
  readonly waitsUntilMs: number
  /** Ends the wait, where anything does before its time. */
  readonly signal?: CancelSignal | undefined
}

export interface QueueBounds {
  readonly waitingMax: number
  readonly perSharerMax: number
}

export interface QueueRefusals {
  full(): Error
  shareFull(sharer: string): Error
  /** Of a wait that ends in vain, for so long after its time; undefined where it is to go on, since its turn is about to come. */
  tooLate(sharer: string, lateMs: number): Error | undefined
}

/** How long those wait on whose time is up while the server has room for them. */
const moreMs = 50

export class ShareQueue {
  private readonly bounds: QueueBounds
  private readonly refusals: QueueRefusals
  private readonly entries = new Set<Entry>()
  /** The same, of each sharer, in the order in which the sharers have their turns. */
  private readonly bySharer = new Map<string, Set<Entry>>()
  /** One for all that wait, due when the first of them is. */
  private timer: NodeJS.Timeout | undefined
  private timerDueMs = Number.POSITIVE_INFINITY

  constructor(bounds: QueueBounds, refusals: QueueRefusals) {
    this.bounds = bounds
    this.refusals = refusals
  }

  get isEmpty(): boolean {
    return this.entries.size === 0
  }

  /** Of how many sharers any wait. */
  get sharers(): number {
    return this.bySharer.size
  }

  /** How many wait of one sharer. */
  of(sharer: string): number {
    return this.bySharer.get(sharer)?.size ?? 0
  }

  /** Refuses a sharer that has its share of the queue, and whoever comes to a full one in which no other sharer has more, of which one could give way. */
  checkRoom(sharer: string): void {
    const { waitingMax, perSharerMax } = this.bounds
    const own = this.of(sharer)
    if (own >= perSharerMax) throw this.refusals.shareFull(sharer)
    if (this.entries.size >= waitingMax && this.largestShare().size <= own + 1) throw this.refusals.full()
  }

  /**
   * Resolves once `letGo` has chosen it. Throws what `checkRoom` does, the error for waits in vain, the signal's reason, and that of a full queue where
   * it gives way: the last of the sharer that has most in it does so for one of a sharer that has less.
   */
  wait(waiter: Waiter): Promise<void> {
    waiter.signal?.throwIfAborted()
    this.checkRoom(waiter.sharer)
    if (this.entries.size >= this.bounds.waitingMax) [...this.largestShare()].at(-1)?.refuse(this.refusals.full())
    return new Promise((resolve, reject) => {
      const entry = new Entry(waiter, resolve, reject, this.remove)
      waiter.signal?.addEventListener('abort', entry.abort)
      this.entries.add(entry)
      const ofSharer = this.bySharer.get(waiter.sharer)
      if (ofSharer === undefined) this.bySharer.set(waiter.sharer, new Set([entry]))
      else ofSharer.add(entry)
      this.wakeAt(entry.dueMs)
    })
  }

  /**
   * Lets the first of the sharer go that holds least; of those that hold the same, each sharer has its turn. `held`: undefined for
   * sharers of which none may go. Undefined where there is none, else the sharer.
   */
  letGo(held: (sharer: string) => number | undefined): string | undefined {
    let chosen: { readonly sharer: string; readonly entries: Set<Entry> } | undefined
    let least = Number.POSITIVE_INFINITY
    for (const [sharer, entries] of this.bySharer) {
      const holds = held(sharer)
      if (holds === undefined || holds >= least) continue
      least = holds
      chosen = { sharer, entries }
      if (holds === 0) break
    }
    if (chosen === undefined) return undefined
    const { sharer, entries } = chosen
    const [first] = entries
    first?.go()
    if (entries.size > 0) {
      this.bySharer.delete(sharer)
      this.bySharer.set(sharer, entries)
    }
    return sharer
  }

  private largestShare(): ReadonlySet<Entry> {
    let largest: ReadonlySet<Entry> = new Set()
    for (const entries of this.bySharer.values()) if (entries.size > largest.size) largest = entries
    return largest
  }

  private readonly remove = (entry: Entry): void => {
    this.entries.delete(entry)
    const ofSharer = this.bySharer.get(entry.sharer)
    ofSharer?.delete(entry)
    if (ofSharer?.size === 0) this.bySharer.delete(entry.sharer)
  }

  private wakeAt(dueMs: number): void {
    if (dueMs >= this.timerDueMs) return
    clearTimeout(this.timer)
    this.timerDueMs = dueMs
    // It is left to run out when nobody waits any more, which must not keep a server from ending.
    this.timer = setTimeout(this.refuseOverdue, dueMs - performance.now()).unref()
  }

  private readonly refuseOverdue = (): void => {
    this.timerDueMs = Number.POSITIVE_INFINITY
    const now = performance.now()
    let nextMs = Number.POSITIVE_INFINITY
    for (const entry of this.entries) {
      if (entry.dueMs <= now) {
        const error = this.refusals.tooLate(entry.sharer, now - entry.waitsUntilMs)
        if (error !== undefined) {
          entry.refuse(error)
          continue
        }
        entry.dueMs = now + moreMs
      }
      nextMs = Math.min(nextMs, entry.dueMs)
    }
    if (nextMs < Number.POSITIVE_INFINITY) this.wakeAt(nextMs)
  }
}

class Entry {
  readonly sharer: string
  readonly waitsUntilMs: number
  dueMs: number
  private readonly signal: CancelSignal | undefined
  private readonly resolve: () => void
  private readonly reject: (error: unknown) => void
  private readonly remove: (entry: Entry) => void

  constructor(
    { sharer, waitsUntilMs, signal }: Waiter,
    resolve: () => void,
    reject: (error: unknown) => void,
    remove: (entry: Entry) => void,
  ) {
    this.sharer = sharer
    this.waitsUntilMs = waitsUntilMs
    this.dueMs = waitsUntilMs
    this.signal = signal
    this.resolve = resolve
    this.reject = reject
    this.remove = remove
  }

  go(): void {
    this.leave()
    this.resolve()
  }

  refuse(error: unknown): void {
    this.leave()
    this.reject(error)
  }

  readonly abort = (): void => this.refuse(this.signal?.reason)

  private leave(): void {
    this.signal?.removeEventListener('abort', this.abort)
    this.remove(this)
  }
}
