/** Removes old entries of the change log, in the background, in small commits, by any process. */

import type { CancelSignal } from '../cancel-signal.ts'
import type { Catalogs } from '../catalog/catalog-cache.ts'
import { readLogHeader } from '../change-log/log-entry.ts'
import { epochPrefix, type LogKey, logPrefix, readLogKey, truncatedKey } from '../change-log/log-keys.ts'
import {
  changeLogBytesLeast,
  changeLogBytesMost,
  changeLogShare,
  type EngineLimits,
  logEntriesRemovedMax,
} from '../limits.ts'
import { appendedRange, firstAppendedKey } from '../store/append.ts'
import { scanAppended } from '../store/append-blocks.ts'
import type { Bytes, Change, KeyRange, Precondition, Snapshot, Store } from '../store/store.ts'
import { openTimeSlice } from '../store/time-slice.ts'
import { withSnapshot } from '../store/with-snapshot.ts'
import { type LogPosition, parsePosition } from './log-position.ts'
import { lastNumberIn, truncatedNumberIn } from './read-log.ts'
import { subscribedPositions } from './subscription.ts'
import { epochOf, nextEpochAtLeast } from './switch-change-log.ts'

type RemovalLimits = Pick<EngineLimits, 'changeLogMs' | 'changeLogBytesMax'>

/** Granularity: one number is remembered per this many bytes of the log. */
const markBytes = 2 ** 20

interface Mark {
  /** Last commit covered; `bytes` covers the entries after the previous mark. */
  number: number
  bytes: number
}

export interface LogSize {
  readonly bytes: number
  readonly bytesMax: number
}

export class LogRemoval {
  /** As of the last run; undefined before the first, and without a log. */
  size: LogSize | undefined
  private readonly store: Store
  private readonly catalogs: Catalogs
  private readonly limits: RemovalLimits
  private epoch = 0
  /** Sizes of existing entries, by number. */
  private marks: Mark[] = []

  constructor(store: Store, catalogs: Catalogs, limits: RemovalLimits) {
    this.store = store
    this.catalogs = catalogs
    this.limits = limits
  }

  /** Runs one round. `now`: milliseconds since 1970. `signal` ends it early. */
  async runRound(now: number, signal?: CancelSignal): Promise<void> {
    const { epoch, next } = await withSnapshot(this.store, async (snapshot) => {
      const catalog = await this.catalogs.at(snapshot)
      return { epoch: epochOf(catalog), next: nextEpochAtLeast(catalog) }
    })
    // If the log is off, it may be turned on meanwhile: entries written then have a later epoch, and are retained.
    await this.removeAll({ from: logPrefix, to: epochPrefix(epoch === 0 ? next : epoch) }, signal)
    if (epoch === 0) this.size = undefined
    if (epoch === 0) return
    if (epoch !== this.epoch) this.marks = []
    this.epoch = epoch
    const settled = (await this.store.settledNumbers?.())?.settled ?? Number.MAX_SAFE_INTEGER
    const { last, removed, needed } = await withSnapshot(this.store, async (snapshot) => {
      const removed = await truncatedNumberIn(snapshot, epoch)
      return { last: await lastNumberIn(snapshot, epoch), removed, needed: await this.readUpTo(snapshot, removed) }
    })
    this.marks = this.marks.filter(({ number }) => number > removed)
    const end = Math.min(last - 1, settled)
    await this.measure(end)
    const bytesMax = await this.bytesMax()
    const oldest = now - this.limits.changeLogMs
    const upTo = Math.max(this.byBytes(bytesMax, needed), await this.byAge(oldest, removed, end, signal))
    if (upTo > removed) await this.removeUpTo(Math.min(upTo, end), removed, signal)
    this.size = { bytes: this.bytes, bytesMax }
  }

  /** Measures the entries appended since the last run; in the first run, all entries. */
  private async measure(end: number): Promise<void> {
    const from = (this.marks.at(-1)?.number ?? 0) + 1
    const slice = openTimeSlice()
    const sizes = await withSnapshot(
      this.store,
      async (snapshot) => {
        const marks: Mark[] = []
        const scan = snapshot.scan(this.numbers(from, end), (key) => readLogKey(key), { keysOnly: true, slice })
        for await (const batch of scan) for (const key of batch) addTo(marks, key)
        return marks
      },
      { isLong: true },
    )
    for (const mark of sizes) this.marks.push(mark)
  }

  private get bytes(): number {
    return this.marks.reduce((sum, { bytes }) => sum + bytes, 0)
  }

  private async bytesMax(): Promise<number> {
    const { changeLogBytesMax } = this.limits
    if (changeLogBytesMax > 0) return changeLogBytesMax
    // The size of the data is read only if it matters, since PostgreSQL has to count.
    if (this.bytes <= changeLogBytesLeast) return changeLogBytesLeast
    const { usedBytes } = await this.store.stats()
    return Math.min(Math.max(changeLogBytesLeast, Math.floor(usedBytes * changeLogShare)), changeLogBytesMost)
  }

  /** The number up to which every subscription has read; subscriptions whose position was already removed are ignored. */
  private async readUpTo(snapshot: Snapshot, removed: number): Promise<number> {
    let least = Number.MAX_SAFE_INTEGER
    for (const text of await subscribedPositions(snapshot)) {
      const { epoch, number, within } = text === 'first' ? oldest(this.epoch, removed) : parsePosition(text)
      const read = within === undefined ? number : number - 1
      if (epoch === this.epoch && read >= removed) least = Math.min(least, read)
    }
    return least
  }

  /** The number up to which commits exceed the size limit. Only an explicit limit, or `changeLogBytesMost`, removes unread commits after `needed`. */
  private byBytes(bytesMax: number, needed: number): number {
    const excess = this.beyond(bytesMax)
    if (this.limits.changeLogBytesMax > 0) return excess
    return Math.max(Math.min(excess, needed), this.beyond(changeLogBytesMost))
  }

  private beyond(bytesMax: number): number {
    let bytes = 0
    for (const mark of [...this.marks].reverse()) {
      bytes += mark.bytes
      if (bytes > bytesMax) return mark.number
    }
    return 0
  }

  /** The number up to which commits are too old, by the clocks of their writers. `removed`: number of the last one already removed. */
  private async byAge(oldest: number, removed: number, end: number, signal?: CancelSignal): Promise<number> {
    return withSnapshot(this.store, async (snapshot) => {
      let last = 0
      for await (const batch of scanAppended(snapshot, epochPrefix(this.epoch), removed + 1, end)) {
        for (const { number, value } of batch) {
          if (readLogHeader(value).at >= oldest) return last === number ? last - 1 : last
          last = number
        }
        if (signal?.aborted === true) return last
      }
      return last
    })
  }

  /**
   * The first commit records which commits are removed, so that followers learn of it before anything is missing. An entry that also contains later
   * commits stays until these are removed.
   */
  private async removeUpTo(number: number, removed: number, signal?: CancelSignal): Promise<void> {
    const key = truncatedKey(this.epoch)
    const value = Buffer.alloc(8)
    value.writeBigUInt64BE(BigInt(number))
    const before = Buffer.alloc(8)
    before.writeBigUInt64BE(BigInt(removed))
    const first: Precondition = removed === 0 ? { kind: 'absent', key } : { kind: 'revision', key, prefix: before }
    const recorded = await this.store.commit({ changes: [{ kind: 'put', key, value }], preconditions: [first] })
    // Another process is doing it.
    if (!recorded.isCommitted) return
    await this.removeAll(this.numbers(1, number), signal)
    this.marks = this.marks.filter((mark) => mark.number > number)
  }

  private async removeAll(range: KeyRange, signal?: CancelSignal): Promise<void> {
    while (signal?.aborted !== true) {
      const keys = await withSnapshot(this.store, async (snapshot) => {
        const found: Bytes[] = []
        const scan = snapshot.scan(range, (key) => Buffer.from(key), { keysOnly: true, limit: logEntriesRemovedMax })
        for await (const batch of scan) found.push(...batch)
        return found
      })
      if (keys.length === 0) return
      const changes = keys.map((key): Change => ({ kind: 'delete', key }))
      await this.store.commit({ changes, preconditions: [] })
    }
  }

  private numbers(first: number, last: number): KeyRange {
    const prefix = epochPrefix(this.epoch)
    const from = firstAppendedKey(prefix, first)
    const to = last < first ? from : firstAppendedKey(prefix, last + 1)
    return { from, to: Buffer.compare(to, appendedRange(prefix).to) < 0 ? to : appendedRange(prefix).to }
  }
}

function oldest(epoch: number, removed: number): LogPosition {
  return { epoch, number: removed, within: undefined }
}

function addTo(marks: Mark[], { number, bytes }: LogKey): void {
  const last = marks.at(-1)
  if (last === undefined || (last.bytes >= markBytes && last.number !== number)) marks.push({ number, bytes })
  else {
    last.number = number
    last.bytes += bytes
  }
}
