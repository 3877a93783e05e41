/** What a statement is carried out with: its snapshot and catalog, its limits, and who may end it. */

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
import { scanSideBySide, scansAtOnce } from '../../store/scan-side-by-side.ts'
import type { Bytes, KeyRange, ScanOptions, Snapshot, StoreCapabilities } from '../../store/store.ts'
import type { TimeSlice } from '../../store/time-slice.ts'
import type { Isolation } from '../../transaction/isolation.ts'
import type { Oid } from '../../types/oid.ts'
import type { ClassNumber } from '../../types/type-spec.ts'
import type { ExplainNode } from '../explain/explain-node.ts'
import { measuredRows } from '../explain/measured-rows.ts'
import type { StatementProbe } from '../explain/statement-probe.ts'
import { Work } from '../functions/work.ts'
import type { Dialect } from '../language/dialect.ts'
import type { QueryCounts } from '../query-counts.ts'
import type { UserValue } from '../values/user.ts'
import { type DrawNumbers, DrawnNumbers } from './drawn-numbers.ts'
import type { InnerValues } from './inner-values.ts'
import { SnapshotReader } from './snapshot-reader.ts'

/** What goes to disk at once is at least this part of what a statement may hold: less is not worth a run. */
const spilledPart = 16
/** This part of the rows that a statement may hold is not taken by an operator that can go on on disk. */
const keptRowsPart = 8
/** More entries of a range are not counted for an estimate where the store tells about how many there are. */
const exactMax = 4_096
/** What it tells may be wrong by such a factor. */
const estimateShare = 2
/** Of two rows that are sorted. */
const comparisonSteps = 16
/** Rows that an operator takes before it looks at its memory again. */
const rowsAtOnce = 256

/** This part of what a statement may hold is for the records of runs that are being made; more than so much does not make them faster. */
const arenaPart = 8
const arenaBytesMax = 32 * 2 ** 20
const arenaBytesMin = 2_048

export interface ScriptContext {
  readonly text: string
  readonly dialect: Dialect
  readonly limits: EngineLimits
  readonly capabilities: StoreCapabilities
  readonly signal: CancelSignal | undefined
  /** Of its transaction, if it has one. */
  readonly isolation?: Isolation
  /** Of `QueryRequest`. */
  readonly indexUri?: ((name: string) => string) | undefined
  /** One for all statements, however short each is. */
  readonly slice: TimeSlice
  readonly clock: WorkClock
  /** Of the request, which may be more than the text. */
  readonly memory: RequestMemory
  /** Where what memory does not hold goes on; undefined where that is refused. */
  readonly space?: RequestSpace | undefined
  /** Ticks since 0001-01-01 in UTC. */
  readonly now: number
  /** Who asks: `$$USER`. */
  readonly user: UserValue
  /** Of the text. */
  readonly written: QueryCounts
  /** Of all texts. */
  readonly totals: QueryCounts
  /** Nothing that its statements change is committed. */
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
  /** Each read is a trip of its own. */
  readonly isRemote: boolean
  readonly work = new Work((isLong) => this.checkWithinRow(isLong))
  /** Where the statement is explained. */
  readonly probe: StatementProbe | undefined
  /** Entries that were counted to choose access paths. */
  entriesCounted = 0
  private expansions = 0
  private heldRows = 0

  private ownReader: SnapshotReader | undefined
  private readonly innerValues: InnerValues[] = []
  private drawnNumbers: DrawnNumbers | undefined
  private readonly closables: Closable[] = []
  /** The entries of ranges that were counted, by range. */
  private counted: Map<string, Oid[]> | undefined
  private readonly newContainers: readonly Container[]
  private containers: Map<ReadonlySet<ClassNumber>, Promise<Container[]>> | undefined

  /** `newContainers`: those in which a transaction may have new objects. */
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

  /** Made for statements that ask for it: most read nothing beside the rows' own objects. */
  get reader(): SnapshotReader {
    if (this.ownReader !== undefined) return this.ownReader
    const { memory, limits } = this.script
    const check = (): void => checkRunning(this.script)
    this.ownReader = new SnapshotReader(this.snapshot, this.catalog, !this.isRemote, this.work, {
      memory,
      limits,
      check,
      isMeasured: this.probe !== undefined,
    })
    return this.ownReader
  }

  /** All that expressions have asked for in vain: objects and links by one trip, then what statements come to that are run for rows. */
  async fetchMissing(): Promise<void> {
    if (this.ownReader !== undefined) await this.ownReader.fetchMissing()
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

  /** What `fetchMissing` sees to as well. */
  addInnerValues(values: InnerValues): void {
    this.innerValues.push(values)
  }

  /** For a statement within this one: it reads the same. */
  within(probe: StatementProbe | undefined): StatementContext {
    return new StatementContext(this.script, this.snapshot, this.catalog, this.newContainers, probe)
  }

  /** Read once for each set of classes that a plan has. */
  containersOf(classes: ReadonlySet<ClassNumber>): Promise<Container[]> {
    this.containers ??= new Map()
    let containers = this.containers.get(classes)
    if (containers === undefined) {
      containers = listContainers(this.snapshot, classes, this.newContainers)
      this.containers.set(classes, containers)
    }
    return containers
  }

  /** The entries of several ranges; some at a time, out of their order, where that is faster and `isOrdered` does not forbid it. */
  scanAll<T>(
    ranges: readonly KeyRange[],
    use: (key: Bytes, value: Bytes) => T,
    options: Pick<ScanOptions, 'keysOnly' | 'batch'> & { readonly isOrdered?: boolean } = {},
  ): AsyncGenerator<T[]> {
    const { isOrdered = false, ...others } = options
    const { capabilities, slice } = this.script
    return scanSideBySide(this.snapshot, ranges, use, isOrdered ? 1 : scansAtOnce(capabilities), { ...others, slice })
  }

  /**
   * How many entries an index has in the range; exact below `max`, and `max` where there are as many or more. `isWanted`: as it will be asked
   * of those that are read meanwhile.
   */
  async countEntries(range: KeyRange, max: number, isWanted?: (key: Bytes) => boolean): Promise<number> {
    if (!this.isRemote) return this.countAbout(range, max)
    const count = await this.countedAfar(range, max, isWanted)
    this.entriesCounted += count
    return count
  }

  /** About how many entries there are in a range of any kind; exact where there are few, and `max` where there are as many or more. */
  async countAbout(range: KeyRange, max: number): Promise<number> {
    const { snapshot } = this
    // Where nothing tells it from afar, the first few would be counted twice, and by two trips where a count is one.
    const isLong = snapshot.estimate !== undefined && max > exactMax
    const few = await countLimited(snapshot, range, isLong ? exactMax : max)
    this.entriesCounted += few
    if (!isLong || few < exactMax) return few
    const about = snapshot.estimate?.(range)
    if (about !== undefined && about >= max * estimateShare) return max
    if (about !== undefined && about * estimateShare <= max) return Math.max(few, about)
    // Too near to it to be told by an estimate.
    const count = await countLimited(snapshot, range, max)
    this.entriesCounted += count
    return count
  }

  private async countedAfar(
    range: KeyRange,
    max: number,
    isWanted: ((key: Bytes) => boolean) | undefined,
  ): Promise<number> {
    // Few are read at once instead: whoever wants them has them then, without another trip.
    let count = 0
    const oids: Oid[] = []
    const counts = (key: Bytes): boolean => {
      count++
      return isWanted === undefined || isWanted(key)
    }
    const options = { limit: max, isWanted: counts }
    for await (const batch of readIndexOids(this.snapshot, range, false, options))
      for (const oid of batch) oids.push(oid)
    if (count < max) {
      this.counted ??= new Map()
      this.counted.set(nameOf(range), oids)
    }
    return count
  }

  /** What the operator's rows take is noted where the statement is analyzed; else they are handed on as they are. */
  measured<T>(rows: AsyncGenerator<T>, operator: ExplainNode): AsyncGenerator<T> {
    const nowMs = this.probe?.nowMs
    return nowMs === undefined ? rows : measuredRows(rows, operator, this.reader, nowMs)
  }

  /** In the order of the index, in batches, of `batch` entries each if it is given; of those that are not known yet, without what is refused. */
  async *entries(
    range: KeyRange,
    isReverse: boolean,
    batch?: number,
    isWanted?: (key: Bytes) => boolean,
  ): AsyncGenerator<Oid[]> {
    const counted = isReverse ? undefined : this.counted?.get(nameOf(range))
    if (counted === undefined) yield* readIndexOids(this.snapshot, range, isReverse, { batch, isWanted })
    else if (counted.length > 0) yield counted
  }

  /** To be asked between batches. Throws LimitExceeded, or the reason for which the client went away. */
  check(): void {
    this.endRow()
    this.ownReader?.trim()
    for (const values of this.innerValues) values.trim()
    checkRunning(this.script)
  }

  /** Whoever evaluates a row cannot yield: it may only end the statement, or abandon it. */
  private checkWithinRow(isLong: boolean): void {
    checkRunning(this.script)
    this.script.slice.abandonIfOver?.(isLong)
  }

  /** Equal elements stay in their order. Throws what `check` does. */
  sorted<T>(all: readonly T[], compare: (one: T, other: T) => number): T[] {
    return [...all].sort((one, other) => {
      this.work.spend(comparisonSteps)
      return compare(one, other)
    })
  }

  /** Checks, and lets others have their turn where it is time. */
  yieldIfDue(): Promise<void> | undefined {
    this.check()
    return this.script.slice.yieldIfDue()
  }

  /** Between rows whose results are held, or no longer needed. */
  endRow(): void {
    this.script.memory.endRow()
    this.drawnNumbers?.endRow()
  }

  get isTurnDue(): boolean {
    return this.script.slice.isOver
  }

  /** Within a batch, what it has read stays: lets others have their turn where it is time. Throws what `check` does. */
  async turn(): Promise<void> {
    checkRunning(this.script)
    await this.script.slice.yieldIfDue()
  }

  /** Counts rows of the reply. */
  wroteRows(rows: number): void {
    this.script.written.rows += rows
    this.script.totals.rows += rows
  }

  /** Counts objects that were looked at. */
  touched(objects: number): void {
    this.script.written.touched += objects
    this.script.totals.touched += objects
  }

  /** Counts what is held in memory for sorting and grouping, or for another `use`. Throws LimitExceeded and ServerBusy. */
  hold(rows: number, bytes: number, use?: MemoryUse): void {
    this.holdRows(rows, use)
    this.script.memory.chargeStatement(bytes, use)
  }

  /** The same where the memory is charged elsewhere. */
  holdRows(rows: number, use?: MemoryUse): void {
    const { sortedRowsMax } = this.script.limits
    this.heldRows += rows
    if (this.heldRows <= sortedRowsMax) return
    if (use !== undefined)
      throw new AshlarError('LimitExceeded', refusalOfRows(use, `${sortedRowsMax} rows (sortedRowsMax)`))
    throw new AshlarError(
      'LimitExceeded',
      `The statement holds more than ${sortedRowsMax} rows in memory (sortedRowsMax), to sort or group them or as a value; TAKE, WHERE or an index on the order may help.`,
    )
  }

  /** Whether an operator that holds so much, and can go on with it on disk, is to do that. `uncounted`: rows that are not yet held. */
  isSpillDue(rows: number, bytes: number, uncounted = 0): boolean {
    const { space, limits, memory } = this.script
    if (space === undefined) return false
    if (bytes * spilledPart > limits.statementBytesMax && memory.isShort) return true
    const { sortedRowsMax } = limits
    // What is left is for operators that hold too few for a run.
    const due = sortedRowsMax - Math.floor(sortedRowsMax / keptRowsPart)
    return rows * spilledPart > sortedRowsMax && this.heldRows + uncounted + rowsAtOnce > due
  }

  /** The same for rows that are a value as long as memory holds them. */
  isBeyondMemory(bytes: number): boolean {
    const { space, limits, memory } = this.script
    if (space === undefined) return false
    return this.heldRows >= limits.sortedRowsMax || (bytes * spilledPart > limits.statementBytesMax && memory.isShort)
  }

  /** What is closed when nobody takes rows of the statement any more. */
  closeLater(closable: Closable): void {
    this.closables.push(closable)
  }

  /** May be called again. */
  async close(): Promise<void> {
    for (const closable of this.closables.splice(0)) await closable.close()
  }

  /** For one operator, which closes them; where `isSpillDue` was true. */
  sortedRuns(): SortedRuns {
    const { space, limits } = this.script
    assert(space !== undefined, 'what is due to go to disk may go there')
    return new SortedRuns(space, runSizes(limits.statementBytesMax), () => this.yieldIfDue())
  }

  /** Where the records of the next run are made, in an eighth of the statement's memory at most, which so many share. */
  recordArena(sharing: number): RecordArena {
    const { limits, memory } = this.script
    const bytesMax = Math.max(arenaBytesMin, Math.min(arenaBytesMax, limits.statementBytesMax / arenaPart / sharing))
    return new RecordArena(2 ** Math.floor(Math.log2(bytesMax)), (bytes) => memory.chargeStatement(bytes))
  }

  /** Counts edges that walks try. Throws LimitExceeded. */
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

/** Throws LimitExceeded when the time is over, or the reason for which the client went away. */
export function checkRunning({ signal, clock, limits }: ScriptContext): void {
  signal?.throwIfAborted()
  if (!clock.isOver) return
  throw new AshlarError(
    'LimitExceeded',
    `The statements ran for more than ${limits.statementMsMax / 1_000} s (statementMsMax).`,
  )
}

function nameOf({ from, to }: KeyRange): string {
  const text = (bound: Bytes | undefined): string => (bound === undefined ? '' : Buffer.from(bound).toString('latin1'))
  const lower = text(from)
  return `${lower.length} ${lower}${text(to)}`
}
