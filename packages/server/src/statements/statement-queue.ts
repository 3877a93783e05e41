/** Statements that wait: so many in all and of one address, for a bounded time; those of one address in the order in which they came. */
import { AshlarError, type CancelSignal } from '@ashlar/engine'

/** How many there are, in all and by address. */
export class AddressCount {
  all = 0
  private readonly byAddress = new Map<string, number>()

  of(address: string): number {
    return this.byAddress.get(address) ?? 0
  }

  add(address: string): void {
    this.all++
    this.byAddress.set(address, this.of(address) + 1)
  }

  remove(address: string): void {
    this.all--
    const left = this.of(address) - 1
    // A map makes another table each time that it becomes empty: a few addresses stay that have none.
    if (left > 0 || this.byAddress.size <= addressesKept) this.byAddress.set(address, left)
    else this.byAddress.delete(address)
  }
}

const addressesKept = 256

/** Whoever waits. */
export interface Waiter {
  readonly address: string
  /** By performance.now(). */
  readonly waitsUntilMs: number
  /** Ends the wait. */
  readonly signal: CancelSignal
}

export interface QueueLimits {
  readonly queuedStatementsMax: number
  readonly queuedStatementsPerAddressMax: number
}

/** How long those wait on whose time is up while the server has room for them. */
const moreMs = 50

export class StatementQueue {
  private readonly limits: QueueLimits
  private readonly tooLate: (address: string) => AshlarError | undefined
  private readonly entries = new Set<Entry>()
  /** The same, of each address, in the order in which the addresses have their turns. */
  private readonly byAddress = new Map<string, Set<Entry>>()
  /** One for all that wait, due when the first of them is. */
  private timer: NodeJS.Timeout | undefined
  private timerDueMs = Number.POSITIVE_INFINITY

  /** `tooLate`: the error of a wait that ends in vain; undefined where it is to go on, since the turn is about to come. */
  constructor(limits: QueueLimits, tooLate: (address: string) => AshlarError | undefined) {
    this.limits = limits
    this.tooLate = tooLate
  }

  get isEmpty(): boolean {
    return this.entries.size === 0
  }

  /** Of how many addresses any wait. */
  get addresses(): number {
    return this.byAddress.size
  }

  /** How many wait of one address. */
  of(address: string): number {
    return this.byAddress.get(address)?.size ?? 0
  }

  /**
   * Throws TooManyStatements where the address has its share of the queue, and ServerBusy where the queue is full and no other address has
   * more in it, of which one could give way.
   */
  checkRoom(address: string): void {
    const { queuedStatementsMax, queuedStatementsPerAddressMax } = this.limits
    const own = this.of(address)
    if (own >= queuedStatementsPerAddressMax) {
      const message = `Your address already has ${queuedStatementsPerAddressMax} statements waiting, the maximum (queuedStatementsPerAddressMax).`
      throw new AshlarError('TooManyStatements', message)
    }
    if (this.entries.size >= queuedStatementsMax && this.largestShare().size <= own + 1) throw this.full()
  }

  /**
   * Resolves once `letGo` has chosen it. Throws what `checkRoom` does, the error for waits in vain, the signal's reason, and ServerBusy where
   * it gives way: in a full queue the last of the address that has most in it does so for one of an address that has less.
   */
  wait(waiter: Waiter): Promise<void> {
    waiter.signal.throwIfAborted()
    this.checkRoom(waiter.address)
    if (this.entries.size >= this.limits.queuedStatementsMax) [...this.largestShare()].at(-1)?.refuse(this.full())
    return new Promise((resolve, reject) => {
      const entry = new Entry(waiter, resolve, reject, this.remove)
      waiter.signal.addEventListener('abort', entry.abort)
      this.entries.add(entry)
      const ofAddress = this.byAddress.get(waiter.address)
      if (ofAddress === undefined) this.byAddress.set(waiter.address, new Set([entry]))
      else ofAddress.add(entry)
      this.wakeAt(entry.dueMs)
    })
  }

  /**
   * Lets the first of the address go that holds least; of those that hold the same, each address has its turn. `held`: undefined for
   * addresses of which none may go. Undefined where there is none, else the address.
   */
  letGo(held: (address: string) => number | undefined): string | undefined {
    let chosen: { readonly address: string; readonly entries: Set<Entry> } | undefined
    let least = Number.POSITIVE_INFINITY
    for (const [address, entries] of this.byAddress) {
      const holds = held(address)
      if (holds === undefined || holds >= least) continue
      least = holds
      chosen = { address, entries }
    }
    if (chosen === undefined) return undefined
    const { address, entries } = chosen
    const [first] = entries
    first?.go()
    if (entries.size > 0) {
      this.byAddress.delete(address)
      this.byAddress.set(address, entries)
    }
    return address
  }

  private largestShare(): ReadonlySet<Entry> {
    let largest: ReadonlySet<Entry> = new Set()
    for (const entries of this.byAddress.values()) if (entries.size > largest.size) largest = entries
    return largest
  }

  private full(): AshlarError {
    const { queuedStatementsMax } = this.limits
    const message = `${queuedStatementsMax} statements are already waiting, the maximum (queuedStatementsMax).`
    return new AshlarError('ServerBusy', message)
  }

  private readonly remove = (entry: Entry): void => {
    this.entries.delete(entry)
    const ofAddress = this.byAddress.get(entry.address)
    ofAddress?.delete(entry)
    if (ofAddress?.size === 0) this.byAddress.delete(entry.address)
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
        const error = this.tooLate(entry.address)
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
  readonly address: string
  dueMs: number
  private readonly signal: CancelSignal
  private readonly resolve: () => void
  private readonly reject: (error: unknown) => void
  private readonly remove: (entry: Entry) => void

  constructor(
    { address, waitsUntilMs, signal }: Waiter,
    resolve: () => void,
    reject: (error: unknown) => void,
    remove: (entry: Entry) => void,
  ) {
    this.address = address
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

  readonly abort = (): void => this.refuse(this.signal.reason)

  private leave(): void {
    this.signal.removeEventListener('abort', this.abort)
    this.remove(this)
  }
}
