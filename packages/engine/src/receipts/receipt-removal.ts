/**
 * Removes expired receipts in the background, in small commits. Reads only their end keys: a receipt is replaced together with its end key, so an
 * existing end key proves expiry, and replies are never read or transferred.
 */
import type { Bytes, Change, Precondition, ScanOptions, Store } from '../store/store.ts'
import { withSnapshot } from '../store/with-snapshot.ts'
import { endedRange, lastMinute, minuteOf, msPerMinute, readEndKey, receiptGroups } from './receipt-entry.ts'
import { systemClocks, TrustedClock } from './trusted-clock.ts'

/** Of one group, per commit. */
const removedMax = 64

/** `onDamage` receives unreadable entries, which are left in place. */
export interface RemovalOptions extends Pick<ScanOptions, 'onDamage'> {
  readonly signal?: AbortSignal
}

/** Removes receipts expired at `now`, milliseconds since 1970. Returns their number, without those removed concurrently by other processes. */
export async function removeEndedReceipts(store: Store, now: number, options: RemovalOptions = {}): Promise<number> {
  // Processes that start simultaneously begin with different groups, to avoid conflicts.
  const first = Math.floor(Math.random() * receiptGroups)
  let removed = 0
  for (let nth = 0; nth < receiptGroups; nth++) {
    removed += await removeFromGroup(store, (first + nth) % receiptGroups, minuteOf(now), options)
  }
  return removed
}

/** Stops if another process works on the same group. */
async function removeFromGroup(store: Store, group: number, minute: number, options: RemovalOptions): Promise<number> {
  for (let removed = 0; ; ) {
    if (options.signal?.aborted === true) return removed
    const ended = await readEnds(store, group, minute, { ...options, limit: removedMax })
    if (ended.length === 0 || !(await remove(store, ended))) return removed
    removed += ended.length
    if (ended.length < removedMax) return removed
  }
}

/** The end keys before the minute. */
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

/** The greatest end minute of all receipts. */
async function newestEnd(store: Store, options: RemovalOptions): Promise<number | undefined> {
  let newest: number | undefined
  for (let group = 0; group < receiptGroups; group++) {
    const [last] = await readEnds(store, group, lastMinute, { ...options, limit: 1, reverse: true })
    const end = last === undefined ? undefined : readEndKey(last)?.endMinute
    if (end !== undefined && (newest === undefined || end > newest)) newest = end
  }
  return newest
}

/** Removes expired receipts periodically. */
export class ReceiptRemoval {
  private readonly store: Store
  private readonly receiptMs: number
  private readonly onFault: (error: unknown) => void
  private readonly clocks: typeof systemClocks
  private clock: TrustedClock | undefined
  private readonly reported = new Set<string>()

  constructor(store: Store, receiptMs: number, onFault: (error: unknown) => void, clocks = systemClocks) {
    this.store = store
    this.receiptMs = receiptMs
    this.onFault = onFault
    this.clocks = clocks
  }

  /** Removes receipts expired now. Returns their number. */
  async removeExpired(signal?: AbortSignal): Promise<number> {
    const options = { ...(signal !== undefined && { signal }), onDamage: (error: Error) => this.reportOnce(error) }
    if (this.clock === undefined) {
      const newest = await newestEnd(this.store, options)
      if (newest === undefined) return 0
      // The creation time of the newest receipt, by the clock of its writer, has certainly passed.
      const latest = newest * msPerMinute - this.receiptMs
      this.clock = new TrustedClock(this.clocks, this.receiptMs, latest)
    }
    return removeEndedReceipts(this.store, this.clock.now(), options)
  }

  private reportOnce(error: Error): void {
    if (this.reported.has(error.message)) return
    this.reported.add(error.message)
    this.onFault(error)
  }
}
