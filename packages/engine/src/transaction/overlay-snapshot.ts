/** A snapshot with uncommitted writes, as of one point in time, on top of another snapshot. */
import { mapAwaitable } from '../store/awaitable.ts'
import type { Awaitable, Bytes, Entry, KeyRange, RangeRead, ReadAnswer, ScanOptions, Snapshot } from '../store/store.ts'
import type { OwnWrites } from './own-writes.ts'

const nothing = Buffer.alloc(0)

/** `writes`: the uncommitted writes, including deletions. `release` does nothing: the snapshot below has another owner. */
export class OverlaySnapshot implements Snapshot {
  private readonly below: Snapshot
  private readonly writes: OwnWrites

  constructor(below: Snapshot, writes: OwnWrites) {
    this.below = below
    this.writes = writes
  }

  view<T>(key: Bytes, use: (value: Bytes) => T): Awaitable<T | undefined> {
    const written = this.writes.find(key)
    if (written === undefined) return this.below.view(key, use)
    return written === null ? undefined : use(written)
  }

  /**
   * The bytes belong to the caller, or, for uncommitted writes, to the writer: neither may change them. The cost of a limited range depends on the
   * size of its answer and on the deleted entries skipped, not on the number of other writes.
   */
  read(keys: readonly Bytes[], ranges: readonly RangeRead[] = []): Awaitable<ReadAnswer> {
    if (this.writes.isEmpty) return this.below.read(keys, ranges)
    const written = keys.map((key) => this.writes.find(key))
    const unwritten = keys.filter((_key, i) => written[i] === undefined)
    return mapAwaitable(this.below.read(unwritten, ranges), (stored) => {
      let below = 0
      const values = written.map((value) => (value === undefined ? stored.values[below++] : (value ?? undefined)))
      const merged = ranges.map((range, i) => this.mergeLimited(stored.ranges[i] ?? [], range))
      return merged.every(isResolved) ? { values, ranges: merged } : allResolved(values, merged)
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
    const puts = this.writes.putsIn({ ...range, reverse: isReverse })
    let next = puts.next()
    const takePut = (results: T[]): void => {
      const { key, value } = next.value as Entry
      results.push(use(key, keysOnly ? nothing : value))
      next = puts.next()
    }
    let left = limit
    const merged = (key: Bytes, value: Bytes): T[] => {
      const results: T[] = []
      while (next.done !== true && Buffer.compare(next.value.key, key) * direction < 0) takePut(results)
      if (next.done !== true && Buffer.compare(next.value.key, key) === 0) takePut(results)
      else if (!this.writes.isDeleted(key)) results.push(use(key, value))
      return results
    }
    for await (const batch of this.below.scan(range, merged, { ...others, keysOnly })) {
      const results = batch.flat(1).slice(0, left) as T[]
      left -= results.length
      if (results.length > 0) yield results
      if (left <= 0) return
    }
    const rest: T[] = []
    while (next.done !== true && rest.length < left) takePut(rest)
    if (rest.length > 0) yield rest
  }

  release(): void {}

  /** Merges uncommitted writes into the stored entries of a range, which must be complete up to its limit. */
  mergeRange(stored: readonly Entry[], range: RangeRead): readonly Entry[] {
    const { limit = Number.POSITIVE_INFINITY } = range
    const direction = range.reverse === true ? -1 : 1
    const puts = this.writes.putsIn(range)
    let next = puts.next()
    // Without deletions, nothing was read beyond the limit.
    if (next.done === true && !this.writes.hasDeletions) return stored
    const merged: Entry[] = []
    const takePut = ({ key, value }: Entry): void => {
      merged.push({ key, value })
      next = puts.next()
    }
    for (const entry of stored) {
      let order = 1
      while (order > 0 && next.done !== true && merged.length < limit) {
        order = Buffer.compare(entry.key, next.value.key) * direction
        if (order >= 0) takePut(next.value)
      }
      if (merged.length >= limit) return merged
      if (order !== 0 && !this.writes.isDeleted(entry.key)) merged.push(entry)
    }
    while (next.done !== true && merged.length < limit) takePut(next.value)
    return merged
  }

  /**
   * Like `mergeRange` for `stored` entries that were read with the limit `requested`: if deletions have removed so many that further stored entries
   * may be part of the answer, it reads more, twice as many each time.
   */
  private mergeLimited(
    stored: readonly Entry[],
    range: RangeRead,
    requested = range.limit,
  ): Awaitable<readonly Entry[]> {
    const merged = this.mergeIfComplete(stored, range, requested)
    if (merged !== undefined) return merged
    const more = Math.max(2 * (requested ?? 0), rereadEntriesMin)
    const answer = this.below.read([], [{ ...range, limit: more }])
    return mapAwaitable(answer, ({ ranges }) => this.mergeLimited(ranges[0] ?? [], range, more))
  }

  /** Undefined if further stored entries would be part of the answer. */
  private mergeIfComplete(
    stored: readonly Entry[],
    range: RangeRead,
    requested: number | undefined,
  ): readonly Entry[] | undefined {
    const last = stored.at(-1)
    if (requested === undefined || stored.length < requested || last === undefined)
      return this.mergeRange(stored, range)
    // The store may have more entries after the last one, so later uncommitted writes do not count yet.
    const direction = range.reverse === true ? -1 : 1
    const merged = this.mergeRange(stored, range)
    if (merged.length === 0) return undefined
    const isPastLast = Buffer.compare((merged.at(-1) as Entry).key, last.key) * direction > 0
    return merged.length === range.limit && !isPastLast ? merged : undefined
  }
}

/** Minimum number of entries when a limited range is read again. */
const rereadEntriesMin = 16

function isResolved<T>(answer: Awaitable<T>): answer is T {
  return !(answer instanceof Promise)
}

async function allResolved(
  values: ReadAnswer['values'],
  ranges: readonly Awaitable<readonly Entry[]>[],
): Promise<ReadAnswer> {
  return { values, ranges: await Promise.all(ranges) }
}
