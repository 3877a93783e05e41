/** Rows that are objects, filtered and written without a promise per row: in the store's memory, or from its pages (`rows-by-trips.ts`). */
import { assert } from '../../errors.ts'
import { writeRecordJson } from '../../objects/representation.ts'
import type { ClassFormat } from '../../records/class-format.ts'
import { objectKeyBytes, oidOfObjectKey } from '../../records/object-key.ts'
import { shapeNumberOf } from '../../records/record-format.ts'
import { mapAwaitable } from '../../store/awaitable.ts'
import { ReadSkew } from '../../store/read-skew.ts'
import type { Awaitable, Bytes, KeyRange } from '../../store/store.ts'
import type { ShapeNumber } from '../../types/type-spec.ts'
import { type EvaluationContext, needsFetch } from '../evaluate/evaluation-context.ts'
import type { FollowedReference } from '../evaluate/followed-references.ts'
import { ObjectView } from '../evaluate/object-view.ts'
import { newline, RowsAtHand } from '../execute/row-chunk.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import { ChunkWriter, chunkBytesMin, writeObject } from '../execute/write-rows.ts'
import type { LoopCounts } from '../explain/loop-counts.ts'
import { columnsWriter, type ProjectionPlans, type WriteColumns } from '../operators/project.ts'
import { countOf, type RowLimits } from '../operators/row-limits.ts'
import type { RowChunk, RowChunks } from '../query-request.ts'
import type { ChosenAccessPath } from './choose-access.ts'
import { entryBatchSize } from './object-scan.ts'
import { OidBatch, type OidSource, restOf } from './oid-source.ts'
import { areRowsInOrder, type SourcePlan } from './source-plan.ts'

/** The parts of the plan that rows are made of. */
export interface RowsPlan {
  readonly objects: SourcePlan
  readonly projections: ProjectionPlans
  readonly limits: RowLimits
  /** The predicate and the columns need only the objects' records. */
  readonly areRecordsOnly: boolean
  readonly areInAnyOrder: boolean
  /** Other whole objects are returned, whose reads are known only once they are loaded. */
  readonly hasOtherObjects: boolean
  /** The references to other objects that are returned. */
  readonly followed: readonly FollowedReference[]
}

export interface RowsRun {
  readonly plan: RowsPlan
  readonly evaluation: EvaluationContext
  readonly context: StatementContext
  /** Counts for EXPLAIN. */
  readonly explained: LoopCounts | undefined
}

/** Undefined if the access is not in the requested order, repeats objects, or uses several ranges of a remote store. `rowLimit`: rows needed. */
export function rowsInPlace(
  run: RowsRun,
  { access }: ChosenAccessPath,
  rowLimit: number | undefined,
): Awaitable<RowChunks | undefined> | undefined {
  const { plan, evaluation, context, explained } = run
  if (context.snapshot.visit === undefined) return undefined
  const { objects } = plan
  const { ordered, extent } = objects
  if (access === extent && plan.areInAnyOrder && plan.areRecordsOnly) {
    return mapAwaitable(extent.extents(context), (ranges) => new ExtentRows(ranges, run).start())
  }
  const found = access === ordered ? ordered : plan.areInAnyOrder && 'oids' in access ? access : undefined
  const source = found?.source?.(evaluation, context, explained?.source)
  if (found === undefined || source === undefined) return undefined
  const { entries } = found
  const areRows = areRowsInOrder(objects, access)
  const batch = new OidBatch(
    access === objects.exact ? 1 : entryBatchSize(objects.filter, found.conjunctsAnswered, rowLimit),
  )
  return mapAwaitable(source, (oids) => new LookedUpRows(oids, batch, entries, areRows, run).start())
}

/**
 * The reason for a pause: the end; a full chunk; the end of the time slice; within a row, which is then restarted, the end of
 * the time slice or missing links; or a promise after which the row is written.
 */
export type Pause = 'end' | 'full' | 'due' | 'lacksLinks' | Promise<void>

/** Rows written between clock checks, minus one; a bit mask. */
const rowsPerClockCheckMask = 15

export abstract class RowsInPlace {
  protected readonly plan: RowsPlan
  protected readonly context: StatementContext
  private readonly writer: ChunkWriter
  private readonly writeColumns: WriteColumns | undefined
  private readonly evaluation: EvaluationContext
  private toSkip = 0
  /** As far as known before the first row. */
  protected toTake = 0
  private checkedRows = 0
  /** Objects examined but not yet counted. */
  private touched = 0
  /** The shape of the last object of a requested class, which the next one mostly shares. */
  private shape: ShapeNumber | undefined
  private format: ClassFormat | undefined
  /** Of these, the objects for which the predicate is true. */
  private qualified = 0
  private readonly explained: LoopCounts | undefined

  constructor({ plan, evaluation, context, explained }: RowsRun) {
    this.explained = explained
    const { projections } = plan
    this.plan = plan
    this.evaluation = evaluation
    this.context = context
    this.writer = new ChunkWriter(context)
    this.writeColumns = projections === undefined ? undefined : columnsWriter(projections, context)
  }

  /** Writes rows from the current position. */
  protected abstract write(): Pause

  /** Returns all rows if they fit in the first time slice and in one chunk. */
  start(): Awaitable<RowChunks> {
    const { plan, evaluation, context } = this
    const { skip, take } = plan.limits
    if (skip === undefined && take === undefined) return this.begin(0, Number.POSITIVE_INFINITY)
    return mapAwaitable(countOf(skip, evaluation, context), (skipped = 0) => {
      return mapAwaitable(countOf(take, evaluation, context), (rowLimit = Number.POSITIVE_INFINITY) => {
        return this.begin(skipped, rowLimit)
      })
    })
  }

  private begin(skipped: number, rowLimit: number): RowChunks {
    this.toSkip = skipped
    this.toTake = rowLimit
    const pause = this.areEnough ? 'end' : this.write()
    if (pause !== 'end') return this.remainingRows(pause)
    const rows = this.hasRows ? [this.take()] : []
    this.countTouched()
    this.writer.end()
    return new RowsAtHand(rows)
  }

  private async *remainingRows(first: Pause): AsyncGenerator<RowChunk> {
    const { context } = this
    let isSent = false
    for (let pause = first; ; pause = this.write()) {
      if (pause instanceof Promise) await pause
      if (pause === 'lacksLinks') await context.reader.fetchMissing()
      // The first rows are sent as soon as possible.
      else if (this.hasRows && this.mayBeSent && (pause === 'end' || !isSent || this.isFull)) {
        yield this.take()
        isSent = true
      }
      this.countTouched()
      if (pause === 'end' || this.areEnough) break
      if (!mustRestart(pause)) await context.yieldIfDue()
    }
    if (this.hasRows) yield this.take()
    this.writer.end()
  }

  /** The number of rows still needed, including those to skip. */
  protected get left(): number {
    return this.toSkip + this.toTake
  }

  /** Skips up to `rows` rows without reading them; returns the number skipped. */
  protected skip(rows: number): number {
    const skipped = Math.min(this.toSkip, rows)
    this.toSkip -= skipped
    return skipped
  }

  protected get areEnough(): boolean {
    return this.toTake === 0
  }

  /** Rows that were sent cannot be read again. */
  protected get mayBeSent(): boolean {
    return true
  }

  private get isFull(): boolean {
    return this.writer.json.to.length >= chunkBytesMin
  }

  private get hasRows(): boolean {
    return this.writer.json.to.length > 0
  }

  private countTouched(): void {
    this.context.touched(this.touched)
    this.explained?.looked(this.touched, this.qualified)
    this.touched = 0
    this.qualified = 0
  }

  private take(): RowChunk {
    const { writer, context } = this
    context.wroteRows(writer.starts.length)
    this.explained?.wrote(writer.starts.length)
    return writer.take()
  }

  /** Writes the row of an object, if it qualifies; undefined if the next one may follow immediately. The bytes are borrowed unless `isOwn`. */
  protected writeRow(key: Bytes, record: Bytes, isOwn: boolean): Pause | undefined {
    const { writer, context } = this
    this.touched++
    const { json } = writer
    const rowStart = json.to.length
    try {
      const { plan, evaluation } = this
      const { filter, classes } = plan.objects
      const { slot, recordPredicate, rest } = filter
      const shape = shapeNumberOf(record)
      if (shape !== this.shape) {
        const format = context.formats.forShape(shape)
        if (!classes.numbers.has(format.cls.number)) return this.passed()
        this.format = format
        this.shape = shape
      }
      const format = this.format as ClassFormat
      const view = new ObjectView(undefined, key, format, record)
      evaluation.slots[slot] = view
      if (recordPredicate !== undefined && recordPredicate(evaluation) !== true) return this.passed()
      if (rest !== undefined && rest(evaluation) !== true) return this.passed()
      if (this.toSkip > 0) {
        this.toSkip--
        this.qualified++
        return this.passed()
      }
      json.byte(newline)
      if (plan.projections !== undefined) this.writeColumns?.(json, evaluation)
      else if (isOwn) writeObject(json, view, context)
      else writeRecordJson(json, format, key, record)
    } catch (error) {
      json.to.length = rowStart
      if (error === needsFetch) return 'lacksLinks'
      throw error
    }
    this.written(rowStart)
    if (this.areEnough) return undefined
    return this.isFull ? 'full' : this.checkClock()
  }

  /** The object, if it may qualify, as far as can be determined without reading anything else or yielding. */
  protected likelyRow(key: Bytes, record: Bytes): ObjectView | undefined {
    const { plan, evaluation, context } = this
    const { filter, classes } = plan.objects
    const format = context.formats.forShape(shapeNumberOf(record))
    if (!classes.numbers.has(format.cls.number)) return undefined
    const view = new ObjectView(undefined, key, format, record)
    evaluation.slots[filter.slot] = view
    try {
      if (filter.recordPredicate !== undefined && filter.recordPredicate(evaluation) !== true) return undefined
      if (filter.rest !== undefined && filter.rest(evaluation) !== true) return undefined
    } catch (error) {
      if (error !== needsFetch) throw error
      return undefined
    } finally {
      context.endRow()
    }
    return view
  }

  /** Requests the data that the row needs, to be fetched together with that of other rows. */
  protected requestData(key: Bytes, record: Bytes): void {
    const { plan, evaluation, context } = this
    const view = this.likelyRow(key, record)
    if (view === undefined) return
    try {
      if (plan.projections === undefined) requestLinks(view, evaluation)
      else for (const { evaluate } of plan.projections) evaluate(evaluation)
    } catch (error) {
      if (error !== needsFetch) throw error
    } finally {
      context.endRow()
    }
  }

  private passed(): Pause | undefined {
    this.context.endRow()
    return this.checkClock()
  }

  private written(rowStart: number): void {
    this.writer.starts.push(rowStart + 1)
    this.qualified++
    this.toTake--
    this.context.endRow()
  }

  private checkClock(): Pause | undefined {
    return (++this.checkedRows & rowsPerClockCheckMask) === 0 && this.context.isYieldDue ? 'due' : undefined
  }
}

export function mustRestart(pause: Pause | undefined): boolean {
  return pause === 'lacksLinks'
}

/** The objects of OIDs, one after the other. */
class LookedUpRows extends RowsInPlace {
  private readonly oids: OidSource
  private readonly batch: OidBatch
  private readonly entries: string | undefined
  private readonly areRows: boolean
  private at = 0
  private hasMore = true

  /**
   * `entries`: source of the OIDs, whose objects must exist; undefined if they may be missing. `areRows`: each OID is a row, so it may be skipped.
   */
  constructor(oids: OidSource, batch: OidBatch, entries: string | undefined, areRows: boolean, run: RowsRun) {
    super(run)
    this.oids = oids
    this.batch = batch
    this.entries = entries
    this.areRows = areRows
  }

  protected override write(): Pause {
    const { batch, context } = this
    while (!this.areEnough) {
      if (this.at === batch.count) {
        if (!this.hasMore) return 'end'
        batch.count = 0
        this.at = 0
        this.hasMore = this.oids.next(batch)
        if (this.areRows) this.at = this.skip(batch.count)
        if (context.isYieldDue) return 'due'
        continue
      }
      const pause = this.writeNext()
      if (pause !== undefined) return pause
    }
    return 'end'
  }

  private writeNext(): Pause | undefined {
    const { batch, context, plan } = this
    const key = rowKey
    batch.writeKey(this.at, key)
    const use: (record: Bytes) => Buffer | Written = plan.areRecordsOnly ? this.writeBorrowed : copied
    const answer = context.snapshot.view(key, use)
    assert(!(answer instanceof Promise), 'a store whose reads are immediate answers at once')
    if (answer === undefined) {
      this.at++
      if (this.entries === undefined) return undefined
      throw new ReadSkew(`${this.entries} names object ${oidOfObjectKey(key)}, which is not there`)
    }
    const pause = Buffer.isBuffer(answer) ? this.writeRow(key, answer, true) : answer.pause
    if (!mustRestart(pause)) this.at++
    return pause
  }

  private readonly writeBorrowed = (record: Bytes): Written => {
    const pause = this.writeRow(rowKey, record, false)
    return pause === undefined ? noPause : { pause }
  }
}

interface Written {
  readonly pause: Pause | undefined
}

const noPause: Written = { pause: undefined }

/** The key of the current row: a row is written, or restarted, before any other statement continues. */
export const rowKey = Buffer.allocUnsafe(objectKeyBytes)

/** Views, one per length, of a buffer to which the record of a row is copied while other objects are read for it. */
const copies = new Array<Buffer | undefined>(2_049)
const copyBytes = Buffer.allocUnsafeSlow(2_048)

function copied(record: Bytes): Buffer {
  const { length } = record
  if (length > copyBytes.length) return Buffer.from(record)
  let copy = copies[length]
  if (copy === undefined) {
    copy = copyBytes.subarray(0, length)
    copies[length] = copy
  }
  copy.set(record)
  return copy
}

/** Requests all lists of links together. Throws `needsFetch`. */
function requestLinks(view: ObjectView, { reader }: EvaluationContext): void {
  let isMissing = false
  for (const { index } of view.format?.linkAttributes ?? []) {
    try {
      reader.linkEntries(view, index)
    } catch (error) {
      if (error !== needsFetch) throw error
      isMissing = true
    }
  }
  if (isMissing) throw needsFetch
}

/** All objects in storage order. */
class ExtentRows extends RowsInPlace {
  private readonly ranges: readonly KeyRange[]
  private at = 0
  private rest: KeyRange | undefined
  private pause: Pause | undefined

  constructor(ranges: readonly KeyRange[], run: RowsRun) {
    super(run)
    this.ranges = ranges
  }

  protected override write(): Pause {
    const { ranges, context } = this
    while (this.at < ranges.length && !this.areEnough) {
      const range = this.rest ?? (ranges[this.at] as KeyRange)
      this.pause = undefined
      const last = context.snapshot.visit?.(range, false, this.writeBorrowed)
      if (last === undefined) {
        this.rest = undefined
        this.at++
        continue
      }
      const { pause } = this
      this.rest = mustRestart(pause) ? { ...range, from: last } : restOf(range, last, false)
      if (pause !== undefined) return pause
    }
    return 'end'
  }

  private readonly writeBorrowed = (key: Bytes, record: Bytes): boolean => {
    this.pause = this.writeRow(key, record, false)
    return this.pause === undefined && !this.areEnough
  }
}
