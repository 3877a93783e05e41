/** Execution context of a statement: its snapshot, catalog, limits and cancellation. */

import { type MemoryUse, type RequestMemory, refusalOfRows } from '../../budget/request-memory.ts'
import type { WorkClock } from '../../budget/work-clock.ts'
import type { CancelSignal } from '../../cancel-signal.ts'
import { AshlarError, assert } from '../../errors.ts'
import { countLimited, readIndexOids } from '../../indexes/lookup.ts'
import type { EngineLimits } from '../../limits.ts'
import { type Container, listContainers } from '../../records/container-registry.ts'
import { type RecordFormats, recordFormats } from '../../records/record-formats.ts'
import type { Catalog } from '../../schema/catalog.ts'
import { RecordArena } from '../../spill/record-arena.ts'
import type { RequestSpace } from '../../spill/request-space.ts'
import { runSizes, SortedRuns } from '../../spill/sorted-runs.ts'
import { concurrentScans, scanSideBySide } from '../../store/scan-side-by-side.ts'
import type { Bytes, KeyRange, ScanOptions, Snapshot, StoreCapabilities } from '../../store/store.ts'
import type { TimeSlice } from '../../store/time-slice.ts'
import type { Isolation } from '../../transaction/isolation.ts'
import type { Oid } from '../../types/oid.ts'
import type { ClassNumber } from '../../types/type-spec.ts'
import type { DrawNumbers } from '../../write/object-expressions.ts'
import type { ExplainNode } from '../explain/explain-node.ts'
import { measuredRows } from '../explain/measured-rows.ts'
import type { StatementProbe } from '../explain/statement-probe.ts'
import { Work } from '../functions/work.ts'
import type { Dialect } from '../language/dialect.ts'
import type { QueryCounts } from '../query-counts.ts'
import type { UserValue } from '../values/user.ts'
import { DrawnNumbers } from './drawn-numbers.ts'
import type { InnerValues } from './inner-values.ts'
import { SnapshotReader } from './snapshot-reader.ts'

/** A spill writes at least 1/16 of the statement's memory limit: a smaller run is not worth a file. */
const spillFraction = 16
/** An operator that can spill leaves 1/8 of `sortedRowsMax` to operators with too few rows for a run. */
const reservedRowsFraction = 8
/** Ranges are counted exactly up to this many entries; beyond, an estimate by the store is used where there is one. */
const exactCountMax = 4_096
/** Estimates may be off by this factor. */
const estimateErrorFactor = 2
/** Work steps of one comparison while sorting. */
const comparisonSteps = 16
/** Rows that an operator takes in between two checks of its memory. */
const rowsPerMemoryCheck = 256

/** Run buffers get this fraction of the statement's memory limit; beyond `arenaBytesMax` they do not get faster. */
const arenaFraction = 8
const arenaBytesMax = 32 * 2 ** 20
const arenaBytesMin = 2_048

export interface ScriptContext {
  readonly text: string
  /** In place of the text where statements are planned whose values were taken out of it; see `liftLiterals`. */
  readonly shape?: string | undefined
  readonly dialect: Dialect
  readonly limits: EngineLimits
  readonly capabilities: StoreCapabilities
  readonly signal: CancelSignal | undefined
  readonly isolation?: Isolation
  /** As in `QueryRequest`. */
  readonly indexUri?: ((name: string) => string) | undefined
  /** One for all statements of the script, so that many short ones yield as well. */
  readonly slice: TimeSlice
  readonly clock: WorkClock
  /** Memory of the whole request, which may be more than one text. */
  readonly memory: RequestMemory
  /** Temporary space for spilling; undefined where spilling is disabled. */
  readonly space?: RequestSpace | undefined
  /** Ticks since 0001-01-01 in UTC. */
  readonly now: number
  /** The caller: `$$USER`. */
  readonly user: UserValue
  /** Counts of this text. */
  readonly written: QueryCounts
  /** Counts of all texts of the request. */
  readonly totals: QueryCounts
  /** Changes by its statements are rolled back. */
  readonly isUndone?: boolean
}

export interface Closable {
  close(): Promise<void>
}

export class StatementContext {
  readonly script: ScriptContext
  readonly snapshot: Snapshot
  readonly catalog: Catalog
  readonly formats: RecordFormats
  /** Each read is a round trip. */
  readonly isRemote: boolean
  readonly work = new Work((isLong) => this.checkWithinRow(isLong))
  /** Set where the statement is explained. */
  readonly probe: StatementProbe | undefined
  /** Entries that were counted to choose access paths. */
  entriesCounted = 0
  private expansions = 0
  private bufferedRows = 0

  private lazyReader: SnapshotReader | undefined
  private readonly innerValues: InnerValues[] = []
  private drawnNumbers: DrawnNumbers | undefined
  private readonly closables: Closable[] = []
  /** OIDs of the ranges that were counted by reading them, by range. */
  private counted: Map<string, Oid[]> | undefined
  private readonly newContainers: readonly Container[]
  private containers: Map<ReadonlySet<ClassNumber>, Promise<Container[]>> | undefined

  /** `newContainers`: those in which the transaction may have created objects. */
  constructor(
    script: ScriptContext,
    snapshot: Snapshot,
    catalog: Catalog,
    newContainers: readonly Container[] = [],
    probe?: StatementProbe,
  ) {
    this.script = script
    this.probe = probe
    probe?.reads(this)
    this.newContainers = newContainers
    this.snapshot = snapshot
    this.catalog = catalog
    this.isRemote = !script.capabilities.hasSynchronousReads
    this.formats = recordFormats(catalog)
  }

  /** Created lazily: most statements read nothing but the rows' own objects. */
  get reader(): SnapshotReader {
    if (this.lazyReader !== undefined) return this.lazyReader
    const { memory, limits } = this.script
    const check = (): void => checkRunning(this.script)
    this.lazyReader = new SnapshotReader(this.snapshot, this.catalog, !this.isRemote, this.work, {
      memory,
      limits,
      check,
      isMeasured: this.probe !== undefined,
    })
    return this.lazyReader
  }

  /** Fetches all that expressions found missing: objects and links in one round trip, then the values of subqueries. */
  async fetchMissing(): Promise<void> {
    if (this.lazyReader !== undefined) await this.lazyReader.fetchMissing()
    for (const values of this.innerValues) await values.fetchMissing()
    // To begin again elsewhere would draw again.
    if ((await this.drawnNumbers?.fetchMissing()) === true) this.script.slice.beginAnew?.()
  }

  /** Of sequences; undefined where no statement may draw any. */
  get numbers(): DrawnNumbers | undefined {
    return this.drawnNumbers
  }

  /** For statements that may draw numbers of sequences. */
  drawBy(draw: DrawNumbers): this {
    this.drawnNumbers = new DrawnNumbers(draw, this.script.memory)
    return this
  }

  /** `fetchMissing` fetches these values as well. */
  addInnerValues(values: InnerValues): void {
    this.innerValues.push(values)
  }

  /** Context of a nested statement, which reads the same snapshot. */
  within(probe: StatementProbe | undefined): StatementContext {
    return new StatementContext(this.script, this.snapshot, this.catalog, this.newContainers, probe)
  }

  /** Read once for each set of classes of a plan. */
  containersOf(classes: ReadonlySet<ClassNumber>): Promise<Container[]> {
    this.containers ??= new Map()
    let containers = this.containers.get(classes)
    if (containers === undefined) {
      containers = listContainers(this.snapshot, classes, this.newContainers)
      this.containers.set(classes, containers)
    }
    return containers
  }

  /** Scans several ranges; concurrently and out of order where that is faster, unless `isOrdered`. */
  scanAll<T>(
    ranges: readonly KeyRange[],
    use: (key: Bytes, value: Bytes) => T,
    options: Pick<ScanOptions, 'keysOnly' | 'batch'> & { readonly isOrdered?: boolean } = {},
  ): AsyncGenerator<T[]> {
    const { isOrdered = false, ...scanOptions } = options
    const { capabilities, slice } = this.script
    return scanSideBySide(this.snapshot, ranges, use, isOrdered ? 1 : concurrentScans(capabilities), {
      ...scanOptions,
      slice,
    })
  }

  /** Number of index entries in the range, exact below `max`, else `max`. `keyFilter`: the filter that later reads of these entries will use. */
  async countEntries(range: KeyRange, max: number, keyFilter?: (key: Bytes) => boolean): Promise<number> {
    if (!this.isRemote) return this.countAbout(range, max)
    // Reads the entries instead of counting them: a scan of the range then needs no further round trip.
    let count = 0
    const oids: Oid[] = []
    const counts = (key: Bytes): boolean => {
      count++
      return keyFilter === undefined || keyFilter(key)
    }
    const options = { limit: max, keyFilter: counts }
    for await (const batch of readIndexOids(this.snapshot, range, false, options))
      for (const oid of batch) oids.push(oid)
    if (count < max) {
      this.counted ??= new Map()
      this.counted.set(rangeKey(range), oids)
    }
    this.entriesCounted += count
    return count
  }

  /** Approximate number of entries in a range of any kind; exact where they are few, and at most `max`. */
  async countAbout(range: KeyRange, max: number): Promise<number> {
    const { snapshot } = this
    // A store without estimates would count the first entries twice, which also costs a second round trip.
    const isLong = snapshot.estimate !== undefined && max > exactCountMax
    const few = await countLimited(snapshot, range, isLong ? exactCountMax : max)
    this.entriesCounted += few
    if (!isLong || few < exactCountMax) return few
    const estimate = snapshot.estimate?.(range)
    if (estimate !== undefined && estimate >= max * estimateErrorFactor) return max
    if (estimate !== undefined && estimate * estimateErrorFactor <= max) return Math.max(few, estimate)
    // The estimate is too close to `max` to decide.
    const count = await countLimited(snapshot, range, max)
    this.entriesCounted += count
    return count
  }

  /** Measures the operator's rows where the statement is analyzed; otherwise returns the rows unchanged. */
  measured<T>(rows: AsyncGenerator<T>, operator: ExplainNode): AsyncGenerator<T> {
    const nowMs = this.probe?.nowMs
    return nowMs === undefined ? rows : measuredRows(rows, operator, this.reader, nowMs)
  }

  /** OIDs in index order, in batches (of `batch` entries, if given). A range that `countEntries` has read is not read again. */
  async *entries(
    range: KeyRange,
    isReverse: boolean,
    batch?: number,
    keyFilter?: (key: Bytes) => boolean,
  ): AsyncGenerator<Oid[]> {
    const counted = isReverse ? undefined : this.counted?.get(rangeKey(range))
    if (counted === undefined) yield* readIndexOids(this.snapshot, range, isReverse, { batch, keyFilter })
    else if (counted.length > 0) yield counted
  }

  /** Called between batches. Throws LimitExceeded, or the reason of the cancellation. */
  check(): void {
    this.endRow()
    this.lazyReader?.trim()
    for (const values of this.innerValues) values.trim()
    checkRunning(this.script)
  }

  /** Row evaluation is synchronous, so it cannot yield: it can only fail, or be abandoned and restarted. */
  private checkWithinRow(isLong: boolean): void {
    checkRunning(this.script)
    this.script.slice.abandonIfOver?.(isLong)
  }

  /** Stable sort. Throws like `check`. */
  sorted<T>(all: readonly T[], compare: (one: T, other: T) => number): T[] {
    return [...all].sort((one, other) => {
      this.work.spend(comparisonSteps)
      return compare(one, other)
    })
  }

  /** Checks the limits, and yields to the event loop where the time slice is over. */
  yieldIfDue(): Promise<void> | undefined {
    this.check()
    return this.script.slice.yieldIfDue()
  }

  /** Called between rows, once the results of a row are charged elsewhere or discarded. */
  endRow(): void {
    this.script.memory.endRow()
    this.drawnNumbers?.endRow()
  }

  get isYieldDue(): boolean {
    return this.script.slice.isOver
  }

  /** Yields where the time slice is over. Unlike `yieldIfDue`, caches are not trimmed, so it is safe within a batch. Throws like `check`. */
  async yieldToEventLoop(): Promise<void> {
    checkRunning(this.script)
    await this.script.slice.yieldIfDue()
  }

  /** Counts rows of the reply. */
  wroteRows(rows: number): void {
    this.script.written.rows += rows
    this.script.totals.rows += rows
  }

  /** Counts objects that were examined. */
  touched(objects: number): void {
    this.script.written.touched += objects
    this.script.totals.touched += objects
  }

  /** Charges rows and bytes that are buffered for sorting and grouping, or for another `use`. Throws LimitExceeded and ServerBusy. */
  hold(rows: number, bytes: number, use?: MemoryUse): void {
    this.holdRows(rows, use)
    this.script.memory.chargeStatement(bytes, use)
  }

  /** `hold` for rows whose memory is charged elsewhere. */
  holdRows(rows: number, use?: MemoryUse): void {
    const { sortedRowsMax } = this.script.limits
    this.bufferedRows += rows
    if (this.bufferedRows <= sortedRowsMax) return
    if (use !== undefined)
      throw new AshlarError('LimitExceeded', refusalOfRows(use, `${sortedRowsMax} rows (sortedRowsMax)`))
    throw new AshlarError(
      'LimitExceeded',
      `The statement holds more than ${sortedRowsMax} rows in memory (sortedRowsMax), to sort or group them or as a value; TAKE, WHERE or an index on the order may help.`,
    )
  }

  /** Whether an operator that buffers this much should continue on disk. `uncounted`: its rows that `holdRows` has not counted. */
  isSpillDue(rows: number, bytes: number, uncounted = 0): boolean {
    const { space, limits, memory } = this.script
    if (space === undefined) return false
    if (bytes * spillFraction > limits.statementBytesMax && memory.isShort) return true
    const { sortedRowsMax } = limits
    const threshold = sortedRowsMax - Math.floor(sortedRowsMax / reservedRowsFraction)
    return rows * spillFraction > sortedRowsMax && this.bufferedRows + uncounted + rowsPerMemoryCheck > threshold
  }

  /** `isSpillDue` for rows that are a value and stay in memory as long as they fit. */
  isBeyondMemory(bytes: number): boolean {
    const { space, limits, memory } = this.script
    if (space === undefined) return false
    return (
      this.bufferedRows >= limits.sortedRowsMax || (bytes * spillFraction > limits.statementBytesMax && memory.isShort)
    )
  }

  /** Registers a resource that is closed when the statement ends. */
  closeAtEnd(closable: Closable): void {
    this.closables.push(closable)
  }

  /** Idempotent. */
  async close(): Promise<void> {
    for (const closable of this.closables.splice(0)) await closable.close()
  }

  /** Sorted runs for one operator, which must close them. Only valid after `isSpillDue` returned true. */
  sortedRuns(): SortedRuns {
    const { space, limits } = this.script
    assert(space !== undefined, 'what is due to go to disk may go there')
    return new SortedRuns(space, runSizes(limits.statementBytesMax), () => this.yieldIfDue())
  }

  /** Buffer for the records of the next run: at most 1/8 of the statement's memory limit, divided by `sharing`. */
  recordArena(sharing: number): RecordArena {
    const { limits, memory } = this.script
    const bytesMax = Math.max(
      arenaBytesMin,
      Math.min(arenaBytesMax, limits.statementBytesMax / arenaFraction / sharing),
    )
    return new RecordArena(2 ** Math.floor(Math.log2(bytesMax)), (bytes) => memory.chargeStatement(bytes))
  }

  /** Counts edges that path searches try. Throws LimitExceeded. */
  expand(edges: number): void {
    this.expansions += edges
    const { pathExpansionsMax } = this.script.limits
    if (this.expansions <= pathExpansionsMax) return
    throw new AshlarError(
      'LimitExceeded',
      `The walks of the statement try more than ${pathExpansionsMax} edges (pathExpansionsMax); a class, an attribute or a smaller bound may help.`,
    )
  }
}

/** Throws LimitExceeded when the time limit is exceeded, or the reason of the cancellation. */
export function checkRunning({ signal, clock, limits }: ScriptContext): void {
  signal?.throwIfAborted()
  if (!clock.isOver) return
  throw new AshlarError(
    'LimitExceeded',
    `The statements ran for more than ${limits.statementMsMax / 1_000} s (statementMsMax).`,
  )
}

function rangeKey({ from, to }: KeyRange): string {
  const text = (bound: Bytes | undefined): string => (bound === undefined ? '' : Buffer.from(bound).toString('latin1'))
  const lower = text(from)
  return `${lower.length} ${lower}${text(to)}`
}
