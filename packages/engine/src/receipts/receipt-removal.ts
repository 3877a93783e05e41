/**
 * Removes receipts whose time is over, in the background and in small commits. Only the entries that end them are read: a receipt
 * is replaced together with that entry, so that one which is still there is proof enough, and no reply is ever read or sent.
 */
import { isOutOfReach } from '../errors.ts'
import type { Bytes, Change, Precondition, ScanOptions, Store } from '../store/store.ts'
import { withSnapshot } from '../store/with-snapshot.ts'
import { endedRange, lastMinute, minuteOf, msPerMinute, readEndKey, receiptGroups } from './receipt-entry.ts'
import { systemClocks, TrustedClock } from './trusted-clock.ts'

/** Of one group, in one commit. */
const removedMax = 64

/** `onDamage` is told of entries that cannot be read; they are left where they are. */
export interface RemovalOptions extends Pick<ScanOptions, 'onDamage'> {
  readonly signal?: AbortSignal
}

/** Removes what has ended at `now`, milliseconds since 1970. Returns how many receipts: without those that others remove at the same time. */
export async function removeEndedReceipts(store: Store, now: number, options: RemovalOptions = {}): Promise<number> {
  // Processes that begin at the same time begin in different groups, and meet less often.
  const first = Math.floor(Math.random() * receiptGroups)
  let removed = 0
  for (let nth = 0; nth < receiptGroups; nth++) {
    removed += await removeFromGroup(store, (first + nth) % receiptGroups, minuteOf(now), options)
  }
  return removed
}

/** Where another process is at the same group, it is left to that one. */
async function removeFromGroup(store: Store, group: number, minute: number, options: RemovalOptions): Promise<number> {
  for (let removed = 0; ; ) {
    if (options.signal?.aborted === true) return removed
    const ended = await readEnds(store, group, minute, { ...options, limit: removedMax })
    if (ended.length === 0 || !(await remove(store, ended))) return removed
    removed += ended.length
    if (ended.length < removedMax) return removed
  }
}

/** Keys of entries that end a receipt before the minute. */
async function readEnds(store: Store, group: number, minute: number, options: ScanOptions): Promise<Bytes[]> {
  return withSnapshot(store, async (snapshot) => {
    const keys: Bytes[] = []
    const scan = snapshot.scan(endedRange(group, minute), (key) => Buffer.from(key), { ...options, keysOnly: true })
    for await (const batch of scan) keys.push(...batch)
    return keys
  })
}

async function remove(store: Store, ends: readonly Bytes[]): Promise<boolean> {
  const changes = ends.flatMap((key): Change[] => {
    const receipt = readEndKey(key)
    return [{ kind: 'delete', key }, ...(receipt === undefined ? [] : [{ kind: 'delete', key: receipt.key } as const])]
  })
  const preconditions = ends.map((key): Precondition => ({ kind: 'present', key }))
  const { isCommitted } = await store.commit({ changes, preconditions })
  return isCommitted
}

/** The latest minute at which any receipt ends. */
async function newestEnd(store: Store, options: RemovalOptions): Promise<number | undefined> {
  let newest: number | undefined
  for (let group = 0; group < receiptGroups; group++) {
    const [last] = await readEnds(store, group, lastMinute, { ...options, limit: 1, reverse: true })
    const end = last === undefined ? undefined : readEndKey(last)?.endMinute
    if (end !== undefined && (newest === undefined || end > newest)) newest = end
  }
  return newest
}

export interface RemovalLimits {
  readonly receiptMs: number
  readonly receiptRemovalMs: number
}

/** Looks for ended receipts from time to time. */
export class ReceiptRemoval {
  private readonly store: Store
  private readonly limits: RemovalLimits
  private readonly onFault: (error: unknown) => void
  private readonly clocks: typeof systemClocks
  private readonly stopping = new AbortController()
  private clock: TrustedClock | undefined
  private timer: NodeJS.Timeout | undefined
  private removing: Promise<unknown> | undefined
  private readonly told = new Set<string>()

  constructor(store: Store, limits: RemovalLimits, onFault: (error: unknown) => void, clocks = systemClocks) {
    this.store = store
    this.limits = limits
    this.onFault = onFault
    this.clocks = clocks
  }

  /** Processes that were started together look at different times. */
  start(): void {
    const pauseMs = this.limits.receiptRemovalMs * (0.5 + Math.random())
    this.timer = setTimeout(() => {
      this.removing = this.look()
        .catch((error: unknown) => {
          if (!isOutOfReach(error)) this.onFault(error)
        })
        .finally(() => {
          if (!this.stopping.signal.aborted) this.start()
        })
    }, pauseMs).unref()
  }

  async stop(): Promise<void> {
    clearTimeout(this.timer)
    this.stopping.abort()
    await this.removing
  }

  /** Removes what has ended by now. Returns how many receipts. */
  async look(): Promise<number> {
    const options = { signal: this.stopping.signal, onDamage: (error: Error) => this.tellOnce(error) }
    if (this.clock === undefined) {
      const newest = await newestEnd(this.store, options)
      if (newest === undefined) return 0
      // When the newest receipt was made, that moment had come, by the clock of whoever made it.
      const latest = newest * msPerMinute - this.limits.receiptMs
      this.clock = new TrustedClock(this.clocks, this.limits.receiptMs, latest)
    }
    return removeEndedReceipts(this.store, this.clock.now(), options)
  }

  private tellOnce(error: Error): void {
    if (this.told.has(error.message)) return
    this.told.add(error.message)
    this.onFault(error)
  }
}
