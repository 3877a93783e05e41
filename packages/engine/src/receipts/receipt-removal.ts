/**
 * Removes receipts whose time is over, in the background and in small commits. Only the entries that end them are read: a receipt
 * is replaced together with that entry, so that one which is still there is proof enough, and no reply is ever read or sent.
 */
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

/** Looks for ended receipts from time to time. */
export class ReceiptRemoval {
  private readonly store: Store
  private readonly receiptMs: number
  private readonly onFault: (error: unknown) => void
  private readonly clocks: typeof systemClocks
  private clock: TrustedClock | undefined
  private readonly told = new Set<string>()

  constructor(store: Store, receiptMs: number, onFault: (error: unknown) => void, clocks = systemClocks) {
    this.store = store
    this.receiptMs = receiptMs
    this.onFault = onFault
    this.clocks = clocks
  }

  /** Removes what has ended by now. Returns how many receipts. */
  async look(signal?: AbortSignal): Promise<number> {
    const options = { ...(signal !== undefined && { signal }), onDamage: (error: Error) => this.tellOnce(error) }
    if (this.clock === undefined) {
      const newest = await newestEnd(this.store, options)
      if (newest === undefined) return 0
      // When the newest receipt was made, that moment had come, by the clock of whoever made it.
      const latest = newest * msPerMinute - this.receiptMs
      this.clock = new TrustedClock(this.clocks, this.receiptMs, latest)
    }
    return removeEndedReceipts(this.store, this.clock.now(), options)
  }

  private tellOnce(error: Error): void {
    if (this.told.has(error.message)) return
    this.told.add(error.message)
    this.onFault(error)
  }
}
