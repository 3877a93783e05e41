/** A snapshot seen through writes that are not committed yet, as they were at one moment. */
import { type SortedTree, treeEntries, treeGet } from '../store/sorted-tree.ts'
import type { Awaitable, Bytes, Entry, KeyRange, RangeRead, ReadAnswer, ScanOptions, Snapshot } from '../store/store.ts'

/** What stands in the tree for a key that is deleted; known by its identity. */
export const deletedValue: Bytes = Buffer.alloc(0)

const nothing = Buffer.alloc(0)

/** `own`: the writes, deletions included. Releasing it does nothing: the snapshot below belongs to someone else. */
export class OverlaySnapshot implements Snapshot {
  private readonly below: Snapshot
  private readonly own: SortedTree | undefined

  constructor(below: Snapshot, own: SortedTree | undefined) {
    this.below = below
    this.own = own
  }

  view<T>(key: Bytes, use: (value: Bytes) => T): Awaitable<T | undefined> {
    const own = treeGet(this.own, key)
    if (own === undefined) return this.below.view(key, use)
    return own === deletedValue ? undefined : use(own)
  }

  /** The bytes belong to the caller, those of own writes to the writer: neither changes them. */
  read(keys: readonly Bytes[], ranges: readonly RangeRead[] = []): Awaitable<ReadAnswer> {
    if (this.own === undefined) return this.below.read(keys, ranges)
    const own = keys.map((key) => treeGet(this.own, key))
    const answer = this.below.read(
      keys.filter((_key, i) => own[i] === undefined),
      ranges.map((range) => this.widened(range)),
    )
    return answer instanceof Promise
      ? answer.then((stored) => this.overlaid(stored, own, ranges))
      : this.overlaid(answer, own, ranges)
  }

  async *scan<T>(
    range: KeyRange,
    use: (key: Bytes, value: Bytes) => T,
    options: ScanOptions = {},
  ): AsyncGenerator<T[]> {
    const { limit = Number.POSITIVE_INFINITY, keysOnly = false, ...others } = options
    const isReverse = options.reverse === true
    const direction = isReverse ? -1 : 1
    const own = treeEntries(this.own, range, isReverse)
    let next = own.next()
    const takeOwn = (results: T[]): void => {
      const { key, value } = next.value as SortedTree
      if (value !== deletedValue) results.push(use(key, keysOnly ? nothing : value))
      next = own.next()
    }
    let left = limit
    const merged = (key: Bytes, value: Bytes): T[] => {
      const results: T[] = []
      while (next.done !== true && Buffer.compare(next.value.key, key) * direction < 0) takeOwn(results)
      if (next.done !== true && Buffer.compare(next.value.key, key) === 0) takeOwn(results)
      else results.push(use(key, value))
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

  ownEntries(range: RangeRead): SortedTree[] {
    return [...treeEntries(this.own, range, range.reverse === true)]
  }

  /** Asks for as many more entries as own deletions may take away from a limited range. */
  private widened(range: RangeRead): RangeRead {
    if (range.limit === undefined) return range
    const deletions = this.ownEntries(range).filter(({ value }) => value === deletedValue).length
    return deletions === 0 ? range : { ...range, limit: range.limit + deletions }
  }

  /** `own`: what was written for each key; only the others were read below. */
  private overlaid(stored: ReadAnswer, own: readonly (Bytes | undefined)[], ranges: readonly RangeRead[]): ReadAnswer {
    let below = 0
    const values = own.map((value) => {
      if (value === undefined) return stored.values[below++]
      return value === deletedValue ? undefined : value
    })
    return {
      values,
      ranges: ranges.map((range, position) => this.overlaidRange(stored.ranges[position] ?? [], range)),
    }
  }

  /** The stored entries of a range with own writes among them. */
  overlaidRange(stored: readonly Entry[], range: RangeRead): readonly Entry[] {
    const own = this.ownEntries(range)
    if (own.length === 0) return stored
    const merged = stored.filter(({ key }) => treeGet(this.own, key) === undefined)
    for (const { key, value } of own) if (value !== deletedValue) merged.push({ key, value })
    const direction = range.reverse === true ? -1 : 1
    merged.sort((one, other) => direction * Buffer.compare(one.key, other.key))
    return range.limit === undefined ? merged : merged.slice(0, range.limit)
  }
}
