/** Statements that wait: so many in all and of one address, in the order in which they came, for a bounded time. */
import { AshlarError } from '@ashlar/engine'

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
    if (left > 0) this.byAddress.set(address, left)
    else this.byAddress.delete(address)
  }
}

/** Whoever waits. */
export interface Waiter {
  readonly address: string
  /** By performance.now(). */
  readonly waitsUntilMs: number
  /** Ends the wait. */
  readonly signal: AbortSignal
}

interface Entry {
  readonly address: string
  go(): void
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
  private readonly count = new AddressCount()

  /** `tooLate`: the error of a wait that ends in vain; undefined where it is to go on, since the turn is about to come. */
  constructor(limits: QueueLimits, tooLate: (address: string) => AshlarError | undefined) {
    this.limits = limits
    this.tooLate = tooLate
  }

  get isEmpty(): boolean {
    return this.entries.size === 0
  }

  /** Throws ServerBusy where the queue is full, TooManyStatements where the address has its share of it. */
  checkRoom(address: string): void {
    const { queuedStatementsMax, queuedStatementsPerAddressMax } = this.limits
    if (this.count.of(address) >= queuedStatementsPerAddressMax) {
      const message = `Your address already has ${queuedStatementsPerAddressMax} statements waiting, the maximum (queuedStatementsPerAddressMax).`
      throw new AshlarError('TooManyStatements', message)
    }
    if (this.entries.size < queuedStatementsMax) return
    const message = `${queuedStatementsMax} statements are already waiting, the maximum (queuedStatementsMax).`
    throw new AshlarError('ServerBusy', message)
  }

  /** Resolves once `letGo` has chosen it. Throws what `checkRoom` does, the error for waits in vain, and the signal's reason. */
  wait({ address, waitsUntilMs, signal }: Waiter): Promise<void> {
    signal.throwIfAborted()
    this.checkRoom(address)
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        clearTimeout(timeout)
        signal.removeEventListener('abort', abort)
        this.entries.delete(entry)
        this.count.remove(address)
      }
      const abort = (): void => {
        leave()
        reject(signal.reason as Error)
      }
      const timeUp = (): void => {
        const error = this.tooLate(address)
        if (error === undefined) {
          timeout = setTimeout(timeUp, moreMs)
          return
        }
        leave()
        reject(error)
      }
      let timeout = setTimeout(timeUp, waitsUntilMs - performance.now())
      const entry: Entry = {
        address,
        go() {
          leave()
          resolve()
        },
      }
      signal.addEventListener('abort', abort, { once: true })
      this.entries.add(entry)
      this.count.add(address)
    })
  }

  /** Lets the first go whose address may; undefined where there is none, else its address. */
  letGo(may: (address: string) => boolean): string | undefined {
    for (const { address, go } of this.entries) {
      if (!may(address)) continue
      go()
      return address
    }
    return undefined
  }
}
