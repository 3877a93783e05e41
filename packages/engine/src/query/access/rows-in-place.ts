/**
 * Rows that are objects, filtered and written without a promise per row: in the memory of the store, or from its pages
 * (`rows-by-trips.ts`).
 */
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
import { columnsWriter, type Projections, type WriteColumns } from '../operators/project.ts'
import { countOf, type RowLimits } from '../operators/row-limits.ts'
import type { RowChunk, RowChunks } from '../query-request.ts'
import type { ChosenAccessPath } from './choose-access.ts'
import { entriesAtOnce } from './object-scan.ts'
import { OidBatch, type OidSource, restOf } from './oid-source.ts'
import { areRowsInOrder, type SourcePlan } from './source-plan.ts'

/** What the rows are made of. */
export interface RowsPlan {
  readonly objects: SourcePlan
  readonly projections: Projections
  readonly limits: RowLimits
  /** Their records alone decide which objects are rows, and show what is returned of them: nothing else is read. */
  readonly areOfRecords: boolean
  /** No order is asked for. */
  readonly areInAnyOrder: boolean
  /** Whole objects that are not the rows' own are returned: what is read for them is known when they are there. */
  readonly hasOtherObjects: boolean
  /** What is returned of other objects. */
  readonly followed: readonly FollowedReference[]
}

/**
 * Undefined where the access has no objects that can be looked at one by one: they are not in the order asked for, repeat themselves, or
 * come by more than one range of a store where each read is a trip. `wanted`: how many rows are taken.
 */
export function rowsInPlace(
  plan: RowsPlan,
  { access }: ChosenAccessPath,
  evaluation: EvaluationContext,
  context: StatementContext,
  wanted: number | undefined,
  explained: LoopCounts | undefined,
): Awaitable<RowChunks | undefined> | undefined {
  if (context.snapshot.visit === undefined) return undefined
  const { objects } = plan
  const { ordered, extent } = objects
  if (access === extent && plan.areInAnyOrder && plan.areOfRecords) {
    return allRows(extent.extents(context), plan, evaluation, context, explained)
  }
  const found = access === ordered ? ordered : plan.areInAnyOrder && 'oids' in access ? access : undefined
  const source = found?.source?.(evaluation, context, explained?.source)
  if (found === undefined || source === undefined) return undefined
  const { entries } = found
  const areRows = areRowsInOrder(objects, access)
  const batch = new OidBatch(
    access === objects.exact ? 1 : entriesAtOnce(objects.filter, found.conjunctsAnswered, wanted),
  )
  if (source instanceof Promise) {
    return lookedUpLater(source, batch, entries, areRows, plan, evaluation, context, explained)
  }
  return begun(
    new LookedUpRows(source, batch, entries, areRows, plan, evaluation, context, explained),
    plan.limits,
    evaluation,
    context,
  )
}

function allRows(
  extents: ReturnType<SourcePlan['extent']['extents']>,
  plan: RowsPlan,
  evaluation: EvaluationContext,
  context: StatementContext,
  explained: LoopCounts | undefined,
): Awaitable<RowChunks> {
  return mapAwaitable(extents, (ranges) => {
    return begun(new ExtentRows(ranges, plan, evaluation, context, explained), plan.limits, evaluation, context)
  })
}

async function lookedUpLater(
  source: Promise<OidSource>,
  batch: OidBatch,
  entries: string | undefined,
  areRows: boolean,
  plan: RowsPlan,
  evaluation: EvaluationContext,
  context: StatementContext,
  explained: LoopCounts | undefined,
): Promise<RowChunks> {
  const rows = new LookedUpRows(await source, batch, entries, areRows, plan, evaluation, context, explained)
  return begun(rows, plan.limits, evaluation, context)
}

/** All rows, where they come within the first slice and fill no chunk. */
export function begun(
  rows: RowsInPlace,
  { skip, take }: RowLimits,
  evaluation: EvaluationContext,
  context: StatementContext,
): Awaitable<RowChunks> {
  if (skip === undefined && take === undefined) return rows.begin(0, Number.POSITIVE_INFINITY)
  return begunWithin(rows, skip, take, evaluation, context)
}

function begunWithin(
  rows: RowsInPlace,
  skip: RowLimits['skip'],
  take: RowLimits['take'],
  evaluation: EvaluationContext,
  context: StatementContext,
): Awaitable<RowChunks> {
  return mapAwaitable(countOf(skip, evaluation, context), (skipped = 0) => {
    return mapAwaitable(countOf(take, evaluation, context), (taken = Number.POSITIVE_INFINITY) => {
      return rows.begin(skipped, taken)
    })
  })
}

/**
 * Why no more rows are written: there are none; a chunk is full; others are to have their turn; within a row, which is then begun again,
 * they are, or links have to be waited for; or the row is written when the promise resolves.
 */
export type Pause = 'end' | 'full' | 'due' | 'lacksLinks' | Promise<void>

/** Rows that are written before the next look at the clock, less one; all its bits are ones. */
const rowsBetweenLooks = 15

export abstract class RowsInPlace {
  protected readonly plan: RowsPlan
  protected readonly context: StatementContext
  private readonly writer: ChunkWriter
  private readonly writeColumns: WriteColumns | undefined
  private readonly evaluation: EvaluationContext
  private toSkip = 0
  /** As far as is known before the rows begin. */
  protected toTake = 0
  private looked = 0
  /** Of the objects that were looked at, those that are not counted yet. */
  private touched = 0
  /** Of the object that was looked at last and is of a class that is wanted; the next one mostly has the same. */
  private shape: ShapeNumber | undefined
  private format: ClassFormat | undefined
  /** Of the same, those for which the predicate is true. */
  private qualified = 0
  private readonly explained: LoopCounts | undefined

  /** `explained`: counts, where the statement is explained. */
  constructor(
    plan: RowsPlan,
    evaluation: EvaluationContext,
    context: StatementContext,
    explained: LoopCounts | undefined,
  ) {
    this.explained = explained
    const { projections } = plan
    this.plan = plan
    this.evaluation = evaluation
    this.context = context
    this.writer = new ChunkWriter(context)
    this.writeColumns = projections === undefined ? undefined : columnsWriter(projections, context)
  }

  /** Writes rows from where it has stopped. */
  protected abstract write(): Pause

  begin(skipped: number, taken: number): RowChunks {
    this.toSkip = skipped
    this.toTake = taken
    const pause = this.areEnough ? 'end' : this.write()
    if (pause !== 'end') return this.later(pause)
    const rows = this.hasRows ? [this.take()] : []
    this.countTouched()
    this.writer.end()
    return new RowsAtHand(rows)
  }

  private async *later(first: Pause): AsyncGenerator<RowChunk> {
    const { context } = this
    let isSent = false
    for (let pause = first; ; pause = this.write()) {
      if (pause instanceof Promise) await pause
      if (pause === 'lacksLinks') await context.reader.fetchMissing()
      // The first rows do not wait for others.
      else if (this.hasRows && this.mayBeSent && (pause === 'end' || !isSent || this.isFull)) {
        yield this.take()
        isSent = true
      }
      this.countTouched()
      if (pause === 'end' || this.areEnough) break
      if (!isBrokenOff(pause)) await context.yieldIfDue()
    }
    if (this.hasRows) yield this.take()
    this.writer.end()
  }

  /** How many rows are wanted yet, those that are skipped included. */
  protected get left(): number {
    return this.toSkip + this.toTake
  }

  /** How many of so many rows are skipped, without being looked at. */
  protected skip(rows: number): number {
    const skipped = Math.min(this.toSkip, rows)
    this.toSkip -= skipped
    return skipped
  }

  protected get areEnough(): boolean {
    return this.toTake === 0
  }

  /** What is sent cannot be read once more. */
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

  /** The row of an object, if it is one; undefined where another may follow at once. The bytes are borrowed, or where `isOwn`, stay as they are. */
  protected writeRow(key: Bytes, record: Bytes, isOwn: boolean): Pause | undefined {
    const { writer, context } = this
    this.touched++
    const { json } = writer
    const rowStart = json.to.length
    try {
      const { plan, evaluation } = this
      const { filter, classes } = plan.objects
      const { slot, ofRecord, rest } = filter
      const shape = shapeNumberOf(record)
      if (shape !== this.shape) {
        const format = context.formats.ofShape(shape)
        if (!classes.numbers.has(format.cls.number)) return this.passed()
        this.format = format
        this.shape = shape
      }
      const format = this.format as ClassFormat
      const view = new ObjectView(undefined, key, format, record)
      evaluation.slots[slot] = view
      if (ofRecord !== undefined && ofRecord(evaluation) !== true) return this.passed()
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
    return this.isFull ? 'full' : this.look()
  }

  /** The object, if it may be a row: as far as that can be told without reading anything else, or giving others their turn. */
  protected likelyRow(key: Bytes, record: Bytes): ObjectView | undefined {
    const { plan, evaluation, context } = this
    const { filter, classes } = plan.objects
    const format = context.formats.ofShape(shapeNumberOf(record))
    if (!classes.numbers.has(format.cls.number)) return undefined
    const view = new ObjectView(undefined, key, format, record)
    evaluation.slots[filter.slot] = view
    try {
      if (filter.ofRecord !== undefined && filter.ofRecord(evaluation) !== true) return undefined
      if (filter.rest !== undefined && filter.rest(evaluation) !== true) return undefined
    } catch (error) {
      if (error !== needsFetch) throw error
      return undefined
    } finally {
      context.endRow()
    }
    return view
  }

  /** Asks for what the row will need, to be fetched with what others need. */
  protected askFor(key: Bytes, record: Bytes): void {
    const { plan, evaluation, context } = this
    const view = this.likelyRow(key, record)
    if (view === undefined) return
    try {
      if (plan.projections === undefined) askForLinks(view, evaluation)
      else for (const { evaluate } of plan.projections) evaluate(evaluation)
    } catch (error) {
      if (error !== needsFetch) throw error
    } finally {
      context.endRow()
    }
  }

  private passed(): Pause | undefined {
    this.endRow()
    return this.look()
  }

  private written(rowStart: number): void {
    this.writer.starts.push(rowStart + 1)
    this.qualified++
    this.toTake--
    this.endRow()
  }

  private endRow(): void {
    this.context.endRow()
  }

  private look(): Pause | undefined {
    return (++this.looked & rowsBetweenLooks) === 0 && this.context.isTurnDue ? 'due' : undefined
  }
}

/** The row is to be begun again. */
export function isBrokenOff(pause: Pause | undefined): boolean {
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
   * `entries`: that the OIDs are read from, whose objects are there; undefined where there may be none. `areRows`: each names a row, so that
   * those which are skipped need not be read.
   */
  constructor(
    oids: OidSource,
    batch: OidBatch,
    entries: string | undefined,
    areRows: boolean,
    plan: RowsPlan,
    evaluation: EvaluationContext,
    context: StatementContext,
    explained: LoopCounts | undefined,
  ) {
    super(plan, evaluation, context, explained)
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
        if (context.isTurnDue) return 'due'
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
    const use: (record: Bytes) => Buffer | Written = plan.areOfRecords ? this.writeBorrowed : copied
    const answer = context.snapshot.view(key, use)
    assert(!(answer instanceof Promise), 'a store whose reads are immediate answers at once')
    if (answer === undefined) {
      this.at++
      if (this.entries === undefined) return undefined
      throw new ReadSkew(`${this.entries} names object ${oidOfObjectKey(key)}, which is not there`)
    }
    const pause = Buffer.isBuffer(answer) ? this.writeRow(key, answer, true) : answer.pause
    if (!isBrokenOff(pause)) this.at++
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

/** The key of the row at hand: a row is written, or begun again, before any other statement goes on. */
export const rowKey = Buffer.allocUnsafe(objectKeyBytes)

/** Of each length, a view of the bytes that a row's record is copied to while other objects are read for the row. */
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

/** All lists of links at once. Throws `needsFetch`. */
function askForLinks(view: ObjectView, { reader }: EvaluationContext): void {
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

/** All objects, in the order in which they lie. */
class ExtentRows extends RowsInPlace {
  private readonly ranges: readonly KeyRange[]
  private at = 0
  /** What is left of the range at hand. */
  private rest: KeyRange | undefined
  private pause: Pause | undefined

  constructor(
    ranges: readonly KeyRange[],
    plan: RowsPlan,
    evaluation: EvaluationContext,
    context: StatementContext,
    explained: LoopCounts | undefined,
  ) {
    super(plan, evaluation, context, explained)
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
      this.rest = isBrokenOff(pause) ? { ...range, from: last } : restOf(range, last, false)
      if (pause !== undefined) return pause
    }
    return 'end'
  }

  private readonly writeBorrowed = (key: Bytes, record: Bytes): boolean => {
    this.pause = this.writeRow(key, record, false)
    return this.pause === undefined && !this.areEnough
  }
}
