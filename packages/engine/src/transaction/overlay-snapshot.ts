/** A snapshot seen through writes that are not committed yet, as they were at one point in time. */
import { mapAwaitable } from '../store/awaitable.ts'
import type { Awaitable, Bytes, Entry, KeyRange, RangeRead, ReadAnswer, ScanOptions, Snapshot } from '../store/store.ts'
import type { OwnWrites } from './own-writes.ts'

const nothing = Buffer.alloc(0)

/** `own`: the writes, deletions included. Releasing it does nothing: the snapshot below belongs to someone else. */
export class OverlaySnapshot implements Snapshot {
  private readonly below: Snapshot
  private readonly own: OwnWrites

  constructor(below: Snapshot, own: OwnWrites) {
    this.below = below
    this.own = own
  }

  view<T>(key: Bytes, use: (value: Bytes) => T): Awaitable<T | undefined> {
    const own = this.own.find(key)
    if (own === undefined) return this.below.view(key, use)
    return own === null ? undefined : use(own)
  }

  /**
   * The bytes belong to the caller, those of own writes to the writer: neither changes them. A limited range costs what its answer
   * does, however much else has been written, and beside that the stored entries that it passes because they are deleted.
   */
  read(keys: readonly Bytes[], ranges: readonly RangeRead[] = []): Awaitable<ReadAnswer> {
    if (this.own.isEmpty) return this.below.read(keys, ranges)
    const own = keys.map((key) => this.own.find(key))
    const unwritten = keys.filter((_key, i) => own[i] === undefined)
    return mapAwaitable(this.below.read(unwritten, ranges), (stored) => {
      let below = 0
      const values = own.map((value) => (value === undefined ? stored.values[below++] : (value ?? undefined)))
      const merged = ranges.map((range, i) => this.mergeLimited(stored.ranges[i] ?? [], range))
      return merged.every(isThere) ? { values, ranges: merged } : allThere(values, merged)
    })
  }

  async *scan<T>(
    range: KeyRange,
    use: (key: Bytes, value: Bytes) => T,
    options: ScanOptions = {},
  ): AsyncGenerator<T[]> {
    const { limit = Number.POSITIVE_INFINITY, keysOnly = false, ...others } = options
    const isReverse = options.reverse === true
    const direction = isReverse ? -1 : 1
    const own = this.own.putsIn({ ...range, reverse: isReverse })
    let next = own.next()
    const takeOwn = (results: T[]): void => {
      const { key, value } = next.value as Entry
      results.push(use(key, keysOnly ? nothing : value))
      next = own.next()
    }
    let left = limit
    const merged = (key: Bytes, value: Bytes): T[] => {
      const results: T[] = []
      while (next.done !== true && Buffer.compare(next.value.key, key) * direction < 0) takeOwn(results)
      if (next.done !== true && Buffer.compare(next.value.key, key) === 0) takeOwn(results)
      else if (!this.own.isDeleted(key)) results.push(use(key, value))
      return results
    }
    for await (const batch of this.below.scan(range, merged, { ...others, keysOnly })) {
      const results = batch.flat(1).slice(0, left) as T[]
      left -= results.length
      if (results.length > 0) yield results
      if (left <= 0) return
    }
    const rest: T[] = []
    while (next.done !== true && rest.length < left) takeOwn(rest)
    if (rest.length > 0) yield rest
  }

  release(): void {}

  /** The stored entries of a range, all that there are of them up to its limit, with own writes among them. */
  mergeRange(stored: readonly Entry[], range: RangeRead): readonly Entry[] {
    const { limit = Number.POSITIVE_INFINITY } = range
    const direction = range.reverse === true ? -1 : 1
    const own = this.own.putsIn(range)
    let next = own.next()
    // Without deletions nothing was read beyond the limit.
    if (next.done === true && !this.own.hasDeletions) return stored
    const merged: Entry[] = []
    const takeOwn = ({ key, value }: Entry): void => {
      merged.push({ key, value })
      next = own.next()
    }
    for (const entry of stored) {
      let order = 1
      while (order > 0 && next.done !== true && merged.length < limit) {
        order = Buffer.compare(entry.key, next.value.key) * direction
        if (order >= 0) takeOwn(next.value)
      }
      if (merged.length >= limit) return merged
      if (order !== 0 && !this.own.isDeleted(entry.key)) merged.push(entry)
    }
    while (next.done !== true && merged.length < limit) takeOwn(next.value)
    return merged
  }

  /**
   * The same where the store was asked for `asked` entries, at first as many as the limit: where own deletions have taken away so
   * many that others may be behind them, it is asked for more, twice as many each time.
   */
  private mergeLimited(stored: readonly Entry[], range: RangeRead, asked = range.limit): Awaitable<readonly Entry[]> {
    const merged = this.mergeKnown(stored, range, asked)
    if (merged !== undefined) return merged
    const more = Math.max(2 * (asked ?? 0), entriesMoreMin)
    const answer = this.below.read([], [{ ...range, limit: more }])
    return mapAwaitable(answer, ({ ranges }) => this.mergeLimited(ranges[0] ?? [], range, more))
  }

  /** Undefined where the entries of the store that are not known would be part of the answer. */
  private mergeKnown(
    stored: readonly Entry[],
    range: RangeRead,
    asked: number | undefined,
  ): readonly Entry[] | undefined {
    const last = stored.at(-1)
    if (asked === undefined || stored.length < asked || last === undefined) return this.mergeRange(stored, range)
    // There may be more in the store behind the last entry: own writes behind it do not count yet.
    const direction = range.reverse === true ? -1 : 1
    const merged = this.mergeRange(stored, range)
    if (merged.length === 0) return undefined
    const isBehind = Buffer.compare((merged.at(-1) as Entry).key, last.key) * direction > 0
    return merged.length === range.limit && !isBehind ? merged : undefined
  }
}

/** Read at least where a limited range has to be read again. */
const entriesMoreMin = 16

function isThere<T>(answer: Awaitable<T>): answer is T {
  return !(answer instanceof Promise)
}

async function allThere(
  values: ReadAnswer['values'],
  ranges: readonly Awaitable<readonly Entry[]>[],
): Promise<ReadAnswer> {
  return { values, ranges: await Promise.all(ranges) }
}
