/** A snapshot of an LMDB store: one pinned read transaction. */
import type { AshlarError } from '../../errors.ts'
import { scanBatchBytes } from '../../limits.ts'
import type {
  Bytes,
  CountedEntries,
  Entry,
  KeyRange,
  RangeRead,
  ReadAnswer,
  ScanOptions,
  Snapshot,
  SnapshotOptions,
} from '../store.ts'
import { openTimeSlice } from '../time-slice.ts'
import { readTail, storedTail } from './appended-tail.ts'
import { borrowedValue, countEntries, visitEntries } from './checked-entries.ts'
import type { EntryChecks } from './entry-checks.ts'
import { estimateEntries } from './estimate-entries.ts'
import { nameOfCommit } from './last-transaction.ts'
import { endLeaves, putBackLeaves, takeLeaves } from './leaves-of-pin.ts'
import type { Environment } from './lmdb-js.ts'
import { type LmdbRange, lmdbRange, rangeAfter } from './lmdb-range.ts'
import { beginRead, beginSharedRead, endRead, type Pin } from './read-pins.ts'

const batchEntriesDefault = 256
const nothing = Buffer.alloc(0)
const noRanges: readonly RangeRead[] = []
const noEntries: ReadAnswer['ranges'] = []

/** Shows the tree only; `StoreSnapshot` adds the tail. A class, not closures, because each GET creates one. */
export class LmdbSnapshot implements Snapshot {
  readonly openedAtMs: number
  place: number | undefined
  readonly options: SnapshotOptions | undefined
  readonly entryCount?: number
  readonly environment: Environment
  protected readonly checks: EntryChecks
  private readonly ended: (snapshot: LmdbSnapshot) => void
  private pin: Pin | undefined
  private endedBy: AshlarError | undefined

  constructor(
    environment: Environment,
    checks: EntryChecks,
    ended: (snapshot: LmdbSnapshot) => void,
    options?: SnapshotOptions,
  ) {
    this.environment = environment
    this.checks = checks
    this.ended = ended
    this.options = options
    this.pin = options?.mayShare === true ? beginSharedRead(environment) : beginRead(environment)
    this.openedAtMs = this.pin.startedAtMs
    if (options?.isCounted === true) this.entryCount = this.countEntries()
  }

  get sharedRead(): object | undefined {
    return this.pin?.sharedRead
  }

  get lastCommit(): string | undefined {
    const number = this.pin?.lastCommit
    return number === undefined ? undefined : nameOfCommit(this.environment, number)
  }

  get sharedObjects(): object | undefined {
    return this.pin?.sharedRead
  }

  view<T>(key: Bytes, use: (value: Bytes) => T): T | undefined {
    const value = borrowedValue(this.environment, key, this.checks, this.requireOpen())
    return value === undefined ? undefined : use(value)
  }

  read(keys: readonly Bytes[], ranges: readonly RangeRead[] = noRanges): ReadAnswer {
    const pin = this.requireOpen()
    const values: (Buffer | undefined)[] = []
    for (const key of keys) {
      const value = borrowedValue(this.environment, key, this.checks, pin)
      values.push(value === undefined ? undefined : Buffer.from(value))
    }
    return { values, ranges: ranges.length === 0 ? noEntries : ranges.map((range) => this.readRange(range)) }
  }

  visit(
    range: KeyRange,
    isReverse: boolean,
    use: (key: Bytes, value: Bytes) => boolean,
    max = Number.POSITIVE_INFINITY,
  ): Bytes | undefined {
    const visited = lmdbRange(range, isReverse, max)
    return visited && visitEntries(this.environment, visited, this.checks, this.requireOpen(), use)
  }

  count(range: KeyRange, max: number): CountedEntries {
    const counted = lmdbRange(range, false, max)
    return counted === undefined
      ? { count: 0, last: undefined }
      : countEntries(this.environment, counted, this.checks, this.requireOpen())
  }

  estimate({ from, to }: KeyRange): number | undefined {
    const pin = this.requireOpen()
    if (from === undefined || to === undefined || !this.checks.hasChecksums) return undefined
    const leaves = takeLeaves(this.environment, pin)
    if (leaves === null) return undefined
    try {
      const [first, last] = [leaves.pathTo(from), leaves.pathTo(to)]
      return first === undefined || last === undefined ? undefined : estimateEntries(first, last)
    } finally {
      putBackLeaves(pin, leaves)
    }
  }

  async *scan<T>(
    range: KeyRange,
    use: (key: Bytes, value: Bytes) => T,
    options: ScanOptions = {},
  ): AsyncGenerator<T[]> {
    const batch = options.batch ?? batchEntriesDefault
    const slice = options.slice ?? openTimeSlice()
    let left = options.limit ?? Number.POSITIVE_INFINITY
    let rest = lmdbRange(range, options.reverse === true, Math.min(batch, left))
    while (rest !== undefined) {
      const results: T[] = []
      const last: Bytes | undefined = this.scanBatch(rest, results, use, options)
      if (results.length > 0) yield results
      left -= results.length
      // No cursor survives a batch: releasing a snapshot in the middle of a scan is harmless.
      rest = last === undefined ? undefined : rangeAfter(rest, last, Math.min(batch, left))
      const pause = slice.yieldIfDue()
      if (rest !== undefined && pause !== undefined) await pause
    }
  }

  /** The block that is not in the tree yet. */
  tail(): Entry | undefined {
    return readTail(this.environment, this.checks, this.requireOpen())
  }

  /** Also true for a damaged tail. */
  protected hasTail(): boolean {
    return storedTail(this.environment, this.checks, this.requireOpen()) !== undefined
  }

  release(): void {
    if (this.pin === undefined) return
    endLeaves(this.pin)
    endRead(this.pin)
    this.pin = undefined
    this.ended(this)
  }

  end(error: AshlarError): void {
    this.endedBy = error
    this.release()
  }

  private requireOpen(): Pin {
    if (this.pin === undefined) throw this.endedBy ?? new Error('The snapshot is released and cannot be read any more.')
    return this.pin
  }

  /** Uses the transaction begun last, which is the pinned one. */
  protected countEntries(): number {
    return this.environment.db.stat().entryCount
  }

  protected readRange(read: RangeRead): readonly Entry[] {
    const range = lmdbRange(read, read.reverse === true, read.limit ?? Number.POSITIVE_INFINITY)
    if (range === undefined) return []
    const entries: Entry[] = []
    visitEntries(this.environment, range, this.checks, this.requireOpen(), (key, value) =>
      entries.push({ key: Buffer.from(key), value: Buffer.from(value) }),
    )
    return entries
  }

  /** Appends the results of one batch; returns the key after which the scan continues, or undefined at the end of the range. */
  private scanBatch<T>(
    range: LmdbRange,
    results: T[],
    use: (key: Bytes, value: Bytes) => T,
    { keysOnly = false, onDamage }: ScanOptions,
  ): Bytes | undefined {
    const pin = this.requireOpen()
    let bytes = 0
    const visit = (key: Buffer, value: Buffer): boolean => {
      results.push(use(key, keysOnly ? nothing : value))
      bytes += value.length
      return bytes < scanBatchBytes
    }
    return visitEntries(this.environment, range, this.checks, pin, visit, onDamage)
  }
}
