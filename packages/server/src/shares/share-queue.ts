/** A queue bounded in total, per sharer and in time; fair between sharers, and first-in, first-out within each (contract 1.5.23). */
import type { CancelSignal } from '@ashlar/engine'

export interface Waiter {
  /** See `sharerOf`. */
  readonly sharer: string
  readonly waitsUntilMs: number
  /** Ends the wait early. */
  readonly signal?: CancelSignal | undefined
}

export interface QueueBounds {
  readonly waitingMax: number
  readonly perSharerMax: number
}

export interface QueueRefusals {
  full(): Error
  shareFull(sharer: string): Error
  /** The error for an entry that is overdue by `lateMs`; undefined to let it wait on. */
  tooLate(sharer: string, lateMs: number): Error | undefined
}

/** Interval until `tooLate` is called again for an entry that waits on. */
const recheckMs = 50

export class ShareQueue {
  private readonly bounds: QueueBounds
  private readonly refusals: QueueRefusals
  private readonly entries = new Set<Entry>()
  /** Entries by sharer, in round-robin order. */
  private readonly bySharer = new Map<string, Set<Entry>>()
  /** One timer for all entries, due with the earliest. */
  private timer: NodeJS.Timeout | undefined
  private timerDueMs = Number.POSITIVE_INFINITY

  constructor(bounds: QueueBounds, refusals: QueueRefusals) {
    this.bounds = bounds
    this.refusals = refusals
  }

  get isEmpty(): boolean {
    return this.entries.size === 0
  }

  /** The number of sharers with entries. */
  get sharers(): number {
    return this.bySharer.size
  }

  /** The number of entries of one sharer. */
  of(sharer: string): number {
    return this.bySharer.get(sharer)?.size ?? 0
  }

  /** Throws if the sharer has used up its share, or if the queue is full and no other sharer has more entries, one of which could be evicted. */
  checkRoom(sharer: string): void {
    const { waitingMax, perSharerMax } = this.bounds
    const own = this.of(sharer)
    if (own >= perSharerMax) throw this.refusals.shareFull(sharer)
    if (this.entries.size >= waitingMax && this.largestShare().size <= own + 1) throw this.refusals.full()
  }

  /**
   * Resolves once `admitNext` has chosen the entry. Throws like `checkRoom`, `tooLate`, the signal's reason, and `full` if the entry is evicted: an
   * entry of a sharer with fewer evicts the last one of the sharer with the most.
   */
  wait(waiter: Waiter): Promise<void> {
    waiter.signal?.throwIfAborted()
    this.checkRoom(waiter.sharer)
    if (this.entries.size >= this.bounds.waitingMax) [...this.largestShare()].at(-1)?.refuse(this.refusals.full())
    return new Promise((resolve, reject) => {
      const entry = new Entry(waiter, resolve, reject, this.remove)
      waiter.signal?.addEventListener('abort', entry.abort)
      this.entries.add(entry)
      const sharerEntries = this.bySharer.get(waiter.sharer)
      if (sharerEntries === undefined) this.bySharer.set(waiter.sharer, new Set([entry]))
      else sharerEntries.add(entry)
      this.wakeAt(entry.dueMs)
    })
  }

  /**
   * Admits the first entry of the sharer with the lowest `loadOf`, round-robin between equal ones. `loadOf` returns undefined for sharers that must wait.
   * Returns the sharer, or undefined if there is none.
   */
  admitNext(loadOf: (sharer: string) => number | undefined): string | undefined {
    let chosen: { readonly sharer: string; readonly entries: Set<Entry> } | undefined
    let least = Number.POSITIVE_INFINITY
    for (const [sharer, entries] of this.bySharer) {
      const load = loadOf(sharer)
      if (load === undefined || load >= least) continue
      least = load
      chosen = { sharer, entries }
      if (load === 0) break
    }
    if (chosen === undefined) return undefined
    const { sharer, entries } = chosen
    const [first] = entries
    first?.admit()
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
    const sharerEntries = this.bySharer.get(entry.sharer)
    sharerEntries?.delete(entry)
    if (sharerEntries?.size === 0) this.bySharer.delete(entry.sharer)
  }

  private wakeAt(dueMs: number): void {
    if (dueMs >= this.timerDueMs) return
    clearTimeout(this.timer)
    this.timerDueMs = dueMs
    // The timer is not cleared when the queue becomes empty, so it must not keep the process alive.
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
        entry.dueMs = now + recheckMs
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

  admit(): void {
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

export class ShareCounts {
  all = 0
  private readonly bySharer = new Map<string, number>()

  of(sharer: string): number {
    return this.bySharer.get(sharer) ?? 0
  }

  add(sharer: string): void {
    this.all++
    this.bySharer.set(sharer, this.of(sharer) + 1)
  }

  remove(sharer: string): void {
    this.all--
    const left = this.of(sharer) - 1
    if (left > 0) this.bySharer.set(sharer, left)
    else this.bySharer.delete(sharer)
  }
}
