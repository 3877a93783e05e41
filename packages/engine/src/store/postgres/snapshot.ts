/** A snapshot of a store on PostgreSQL: reads the first keys by one statement, everything else in a transaction that begins with the first read. */
import { AshlarError, assert, unreachable } from '../../errors.ts'
import { largeRecordBytes, scanBatchBytes } from '../../limits.ts'
import type { Segment } from '../key-placement.ts'
import { keyText } from '../key-text.ts'
import { SnapshotInvalidated } from '../snapshot-invalidated.ts'
import { SnapshotLost } from '../snapshot-lost.ts'
import type {
  Awaitable,
  Bytes,
  Entry,
  KeyRange,
  NamingEntries,
  RangeRead,
  ReadAnswer,
  ScanOptions,
  Snapshot,
  SnapshotOptions,
} from '../store.ts'
import { Attempts } from './attempts.ts'
import { failureOf, isPassing, toStoreError } from './failures.ts'
import type { KeyReads } from './group-reads.ts'
import { leftOut } from './read-keys.ts'
import { type GroupNamingReads, namingPage } from './read-naming.ts'
import type { Page } from './read-pages.ts'
import type { PageRows, SnapshotReads } from './snapshot-reads.ts'
import type { Tables } from './tables.ts'

const batchEntriesDefault = 1_000
/** The first page of a scan is small, since many scans end after the first entries. */
const firstPageEntries = 256
/** With a lower limit per value than this, the page limits the total size of values instead. */
const valueBytesMin = 256
const nothing = Buffer.alloc(0)

export interface ReadStrategies {
  readonly location: string
  readonly patienceMs: number
  readonly tables: Tables
  readonly reads: KeyReads
  /** Undefined if entries and the objects they name may be on different nodes. */
  readonly namingReads: GroupNamingReads | undefined
  /** Whether each page must have a single placement. */
  readonly arePagesPlaced: boolean
  /** Whether the snapshot must block commits to see one point in time. */
  blocksCommits(options: SnapshotOptions): boolean
  /** The caller must leave them. `isRetried`: earlier reads of the snapshot have failed. */
  join(options: SnapshotOptions, isRetried: boolean): SnapshotReads
}

export class PostgresSnapshot implements Snapshot {
  readonly openedAtMs = performance.now()
  private readonly strategies: ReadStrategies
  readonly options: SnapshotOptions
  private readonly ended: (snapshot: PostgresSnapshot) => void
  private transaction: SnapshotReads | undefined
  /** Set after the first read: the point in time is fixed, and a lost connection cannot be replaced. */
  private isPinned = false
  private isReleased = false
  private endedBy: AshlarError | undefined

  /** The values of the prefetched keys, read without a transaction. */
  private readonly prefetched = new Map<string, Bytes | undefined>()
  private prefetch: Promise<void> | undefined
  private isPrefetchValidated = false
  /** The result was read by a separate statement, whose point in time no transaction shows. */
  private hasReadOnly = false
  readonly readNaming: Snapshot['readNaming']
  private expected: Entry | undefined

  constructor(strategies: ReadStrategies, options: SnapshotOptions, ended: (snapshot: PostgresSnapshot) => void) {
    this.strategies = strategies
    this.options = options
    this.ended = ended
    if (strategies.namingReads !== undefined) {
      const { namingReads } = strategies
      this.readNaming = (range, isOnly) => this.readNamingBy(namingReads, range, isOnly)
    }
    if (strategies.blocksCommits(options)) return
    for (const key of options.prefetchKeys ?? []) this.prefetched.set(keyText(key), undefined)
  }

  expect(entry: Entry): void {
    // If commits are blocked, the first reads need no validation.
    if (this.strategies.blocksCommits(this.options)) return
    assert(this.options.prefetchKeys === undefined, 'what is expected is not read early')
    this.expected = entry
    this.prefetched.set(keyText(entry.key), entry.value)
    this.prefetch = Promise.resolve()
  }

  view<T>(key: Bytes, use: (value: Bytes) => T): Awaitable<T | undefined> {
    const { expected } = this
    if (expected !== undefined && isEqual(expected.key, key)) {
      this.checkOpen()
      return use(expected.value)
    }
    return this.viewAsync(key, use)
  }

  private async viewAsync<T>(key: Bytes, use: (value: Bytes) => T): Promise<T | undefined> {
    if (this.isPrefetched(key)) {
      const value = await this.prefetchedValue(key)
      if (value !== leftOut) return value === undefined ? undefined : use(value)
    }
    const [value] = await this.readKeys([key])
    return value === undefined ? undefined : use(value)
  }

  bytesLeftOut(key: Bytes): Promise<number | undefined> | undefined {
    if (this.transaction !== undefined || !this.isPrefetched(key)) return undefined
    return this.prefetchedValue(key).then((value) => (value === leftOut ? largeRecordBytes : undefined))
  }

  async read(keys: readonly Bytes[], ranges: readonly RangeRead[] = []): Promise<ReadAnswer> {
    if (ranges.length === 0 && keys.every((key) => this.isPrefetched(key))) {
      const values = await Promise.all(keys.map((key) => this.prefetchedValue(key)))
      if (!values.includes(leftOut)) return { values: values.map((value) => value && Buffer.from(value)), ranges: [] }
    }
    const [values, entries] = await Promise.all([
      keys.length === 0 ? [] : this.readKeys(keys),
      Promise.all(ranges.map((range) => this.readRange(range))),
    ])
    return { values, ranges: entries }
  }

  async *scan<T>(
    range: KeyRange,
    use: (key: Bytes, value: Bytes) => T,
    options: ScanOptions = {},
  ): AsyncGenerator<T[]> {
    const { batch, reverse = false, keysOnly = false, limit = Number.POSITIVE_INFINITY } = options
    let left = limit
    let size = Math.min(batch ?? firstPageEntries, left)
    let results: T[] = []
    let bytes = 0
    let isFirst = true
    // Whether all values so far were within the limit per value.
    let areShort = true
    const pageOf = (segment: Segment, limit: number, bytesMax: number): Promise<PageRows> => {
      const page = { segment, isReverse: reverse, limit, keysOnly }
      if (keysOnly || !this.strategies.tables.keys.mayBeLarge(segment)) return this.readPage(page)
      const valueBytesMax = Math.floor(bytesMax / limit)
      return this.readPage({
        ...page,
        ...(areShort && valueBytesMax >= valueBytesMin ? { valueBytesMax } : { bytesMax }),
      })
    }
    for await (const segment of this.placedSegments(range, reverse)) {
      let rest: Segment | undefined = segment
      let ahead: Promise<PageRows> | undefined
      while (rest !== undefined && left > 0) {
        const missing = size - results.length
        const { rows, first }: PageRows = await (ahead ?? pageOf(rest, missing, scanBatchBytes - bytes))
        ahead = undefined
        // The wait for the page must not count as work of the slice.
        if (options.slice?.isOver === true) await options.slice.yieldIfDue()
        let row = 0
        for (; row < rows.count; row++) {
          const value = keysOnly ? nothing : rows.bytes(row, first + 1)
          // The value exceeds the limit: pages are measured from here on.
          if (value === undefined) break
          bytes += value.length
          results.push(use(rows.bytes(row, first) as Buffer, value))
        }
        left -= row
        areShort &&= row === rows.count
        const isFull = results.length >= size || bytes >= scanBatchBytes
        if (row < missing && row === rows.count && !isFull) rest = undefined
        else if (row > 0) rest = this.segmentBeyond(rest, rows.bytes(row - 1, first) as Buffer, reverse)
        if (!isFull) continue
        size = Math.min(batch ?? batchEntriesDefault, left)
        bytes = 0
        // Prefetches the next page, except at the beginning, since many scans end after the first entries.
        if (!isFirst && rest !== undefined && left > 0) {
          ahead = pageOf(rest, size, scanBatchBytes)
          // Not reported if the consumer stops.
          ahead.catch(() => undefined)
        }
        isFirst = false
        yield results
        results = []
        const pause = options.slice?.yieldIfDue()
        if (pause !== undefined) await pause
        this.checkOpen()
      }
    }
    if (results.length > 0) yield results
  }

  confirm(): Promise<void> | undefined {
    const { expected } = this
    if (expected === undefined || this.isPrefetchValidated) return undefined
    return this.strategies.reads.read([expected.key]).then(([found]) => this.checkExpected(expected, found))
  }

  private checkExpected({ value }: Entry, found: Bytes | undefined): void {
    if (!isEqual(value, found)) throw new SnapshotInvalidated()
    this.isPrefetchValidated = true
  }

  private async readNamingBy(
    reads: GroupNamingReads,
    range: RangeRead & { readonly limit: number },
    isOnly: boolean,
  ): Promise<NamingEntries> {
    this.checkOpen()
    const page = namingPage(this.strategies.tables, range)
    assert(page !== undefined, 'a range of entries that name others lies in one placement')
    const { expected } = this
    if (!isOnly || expected === undefined || this.transaction !== undefined || this.hasReadOnly) {
      return this.run((transaction) => transaction.readNaming?.(page) ?? unreachable('these reads follow names'))
    }
    this.hasReadOnly = true
    const { entries, found } = await reads.read(page, expected)
    this.checkOpen()
    this.checkExpected(expected, found)
    return entries
  }

  release(): void {
    if (this.isReleased) return
    this.isReleased = true
    this.ended(this)
    this.transaction?.leave()
    this.transaction = undefined
  }

  end(error: AshlarError): void {
    this.endedBy = error
    this.release()
  }

  private checkOpen(): void {
    if (this.isReleased) throw this.endedBy ?? new Error('The snapshot is released and cannot be read any more.')
  }

  /** Once a transaction has begun without them, the first keys are read within it like all other keys. */
  private isPrefetched(key: Bytes): boolean {
    return this.prefetched.has(keyText(key)) && (this.prefetch !== undefined || this.transaction === undefined)
  }

  private async prefetchedValue(key: Bytes): Promise<Bytes | undefined> {
    this.checkOpen()
    this.prefetch ??= this.readEarly()
    await this.prefetch
    return this.prefetched.get(keyText(key))
  }

  private async readEarly(): Promise<void> {
    const keys = this.options.prefetchKeys ?? []
    const values = await this.strategies.reads.read(keys)
    for (const [i, key] of keys.entries()) this.prefetched.set(keyText(key), values[i])
  }

  /** The transaction includes the prefetched values only if they have not changed since. */
  private async checkEarly(transaction: SnapshotReads): Promise<void> {
    if (this.prefetch === undefined || this.isPrefetchValidated) return
    await this.prefetch
    const early = this.expected === undefined ? (this.options.prefetchKeys ?? []) : [this.expected.key]
    // Omitted values have not been seen.
    const keys = early.filter((key) => this.prefetched.get(keyText(key)) !== leftOut)
    const values = keys.length === 0 ? [] : await transaction.read(keys)
    const isSame = (value: Bytes | undefined, i: number): boolean =>
      isEqual(value, this.prefetched.get(keyText(keys[i] as Bytes)))
    if (!values.every(isSame)) throw new SnapshotInvalidated()
    this.isPrefetchValidated = true
  }

  private async run<T>(read: (transaction: SnapshotReads) => Promise<T>): Promise<T> {
    this.checkOpen()
    if (this.hasReadOnly) throw new SnapshotInvalidated()
    const attempts = new Attempts(this.strategies.patienceMs)
    for (let isRetried = false; ; isRetried = true) {
      this.transaction ??= this.strategies.join(this.options, isRetried)
      const { transaction } = this
      try {
        const [, answer] = await Promise.all([this.checkEarly(transaction), read(transaction)])
        this.isPinned = true
        return answer
      } catch (error) {
        if (error instanceof SnapshotInvalidated) throw error
        // Another read of this snapshot may have left it already.
        if (this.transaction === transaction && !this.isPinned) {
          transaction.leave(true)
          this.transaction = undefined
        }
        const failure = failureOf(error)
        const mayRetry = !this.isPinned && !this.isReleased && (await attempts.another(failure))
        if (mayRetry && !this.isPinned && !this.isReleased) continue
        if (this.endedBy !== undefined) throw this.endedBy
        const thrown = toStoreError(this.strategies.location, error)
        if (!this.isPinned || !isPassing(failure) || !(thrown instanceof AshlarError)) throw thrown
        throw new SnapshotLost(thrown.message, this.strategies.patienceMs)
      }
    }
  }

  private readKeys(keys: readonly Bytes[]): Promise<(Bytes | undefined)[]> {
    return this.run((transaction) => transaction.read(keys))
  }

  private async readRange({ reverse = false, limit, ...range }: RangeRead): Promise<readonly Entry[]> {
    const entries: Entry[] = []
    for await (const segment of this.placedSegments(range, reverse)) {
      const left = limit === undefined ? undefined : limit - entries.length
      if (left !== undefined && left <= 0) break
      const { rows, first } = await this.readPage({ segment, isReverse: reverse, limit: left, keysOnly: false })
      for (let row = 0; row < rows.count; row++) {
        entries.push({ key: rows.bytes(row, first) as Buffer, value: rows.bytes(row, first + 1) as Buffer })
      }
    }
    return entries
  }

  /** The segments of a range, in order. If pages are placed, each has one placement: a page would otherwise read from every node. */
  private async *placedSegments(range: KeyRange, isReverse: boolean): AsyncGenerator<Segment> {
    const segments = this.strategies.tables.keys.segmentsOf(range)
    for (const segment of isReverse ? segments.toReversed() : segments) {
      let { firstPlacement: first, lastPlacement: last } = segment
      if (!this.strategies.arePagesPlaced || first === last) {
        yield segment
        continue
      }
      while (first <= last) {
        const bounds = [first, last] as const
        const placement = await this.run((transaction) => {
          return transaction.nextPlacement?.(...bounds, isReverse) ?? unreachable('these reads know placements')
        })
        if (placement === undefined) break
        yield { ...segment, firstPlacement: placement, lastPlacement: placement }
        if (isReverse) last = placement - 1
        else first = placement + 1
      }
    }
  }

  private readPage(page: Page): Promise<PageRows> {
    return this.run((transaction) => transaction.readPage(page))
  }

  /** The rest of a segment after the last key of a page; starts at its placement, so that no row is skipped or repeated. */
  private segmentBeyond(segment: Segment, last: Bytes, isReverse: boolean): Segment {
    const placement = this.strategies.tables.keys.placementOf(last)
    if (isReverse) return { ...segment, to: last, lastPlacement: placement }
    return { ...segment, from: Buffer.concat([last, Buffer.of(0)]), firstPlacement: placement }
  }
}

function isEqual(one: Bytes | undefined, other: Bytes | undefined): boolean {
  if (one === undefined || other === undefined) return one === other
  return Buffer.compare(one, other) === 0
}
