/** Rows that are objects as an access path finds them: filtered and written from the bytes that the store lends, without a copy of them. */
import { assert } from '../../errors.ts'
import { writeObjectJson } from '../../objects/representation.ts'
import { objectKey } from '../../records/object-key.ts'
import { shapeNumberOf } from '../../records/record-format.ts'
import { ReadSkew } from '../../store/read-skew.ts'
import type { Awaitable, Bytes } from '../../store/store.ts'
import { noOid, type Oid } from '../../types/oid.ts'
import type { EvaluationContext } from '../evaluate/evaluation-context.ts'
import { ObjectView } from '../evaluate/object-view.ts'
import { newline } from '../execute/row-chunk.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import { ChunkWriter, chunkBytesMin, noLinks } from '../execute/write-rows.ts'
import { explainNode } from '../explain/explain-node.ts'
import { turnDue } from '../functions/work.ts'
import { columnsWriter, columnValues, type Projections, type WriteColumns } from '../operators/project.ts'
import { countOf, type RowLimits } from '../operators/row-limits.ts'
import type { RowChunk } from '../query-request.ts'
import type { ChosenAccessPath } from './choose-access.ts'
import { entriesAtOnce } from './object-scan.ts'
import type { SourcePlan } from './source-plan.ts'

/** Counts what nobody asks for. */
const unexplained = explainNode('unexplained')

export interface OidsInPlace {
  readonly batches: AsyncGenerator<Oid[]>
  /** So many, but the last ones fewer. */
  readonly batch: number
  /** The entries that they are read from, whose objects are there; undefined where there may be none. */
  readonly entries: string | undefined
}

/**
 * The OIDs of the rows in their order; undefined where the access has none, or its objects cannot be looked at one by one: they may repeat
 * themselves, or come later.
 */
export function oidsInPlace(
  { filter, ordered }: SourcePlan,
  { access }: ChosenAccessPath,
  evaluation: EvaluationContext,
  context: StatementContext,
  wanted: number | undefined,
): OidsInPlace | undefined {
  if (context.probe !== undefined || context.isRemote) return undefined
  const batch = entriesAtOnce(filter, wanted)
  if (access === ordered) {
    const batches = ordered?.oidsInOrder(evaluation, context, batch)
    return batches && { batches, batch, entries: ordered?.entries }
  }
  if (!('oids' in access) || access.mayRepeat) return undefined
  return { batches: access.oids(evaluation, context, unexplained, batch), batch, entries: access.entries }
}

/** `source`: of which the whole predicate, and what is returned, are decided by the record alone. */
export async function* rowsInPlace(
  { batches, batch, entries }: OidsInPlace,
  source: SourcePlan,
  projections: Projections,
  limits: RowLimits,
  evaluation: EvaluationContext,
  context: StatementContext,
): AsyncGenerator<RowChunk> {
  const skipped = (await countOf(limits.skip, evaluation, context)) ?? 0
  const taken = (await countOf(limits.take, evaluation, context)) ?? Number.POSITIVE_INFINITY
  const rows = new RowsInPlace(source, entries, projections, skipped, taken, evaluation, context)
  const { writer } = rows
  let isSent = false
  if (taken === 0) return
  for await (const oids of batches) {
    for (let at = 0; at < oids.length && !rows.areEnough; ) {
      const next = rows.write(oids, at)
      at = next instanceof Promise ? await next : next
      if (rows.isTurnDue) await context.turn()
      if (writer.json.to.length < chunkBytesMin) continue
      yield writer.take()
      isSent = true
    }
    context.script.written.rows += rows.takeWritten()
    if (rows.areEnough) break
    // The first rows do not wait for others, unless these come at once, or there are none.
    if (!isSent && writer.json.to.length > 0 && (oids.length >= batch || context.isTurnDue)) {
      yield writer.take()
      isSent = true
    }
    const pause = context.yieldIfDue()
    if (pause !== undefined) await pause
  }
  if (writer.json.to.length > 0) yield writer.take(true)
}

/** Rows that are written before the next look at the clock, less one; all its bits are ones. */
const rowsBetweenLooks = 15

class RowsInPlace {
  readonly writer: ChunkWriter
  private written = 0
  private toSkip: number
  private toTake: number
  private isInterrupted = false
  private readonly source: SourcePlan
  private readonly entries: string | undefined
  private readonly columns: Projections
  private readonly writeColumns: WriteColumns | undefined
  private readonly evaluation: EvaluationContext
  private readonly context: StatementContext
  /** Of the row at hand, and what is returned of it. */
  private oid: Oid = noOid
  private values: readonly unknown[] = []

  constructor(
    source: SourcePlan,
    entries: string | undefined,
    columns: Projections,
    skipped: number,
    taken: number,
    evaluation: EvaluationContext,
    context: StatementContext,
  ) {
    this.source = source
    this.entries = entries
    this.columns = columns
    this.writeColumns = columns === undefined ? undefined : columnsWriter(columns, context)
    this.toSkip = skipped
    this.toTake = taken
    this.evaluation = evaluation
    this.context = context
    this.writer = new ChunkWriter(context)
  }

  get areEnough(): boolean {
    return this.toTake === 0
  }

  /** How many rows, since it was asked last. */
  takeWritten(): number {
    const { written } = this
    this.written = 0
    return written
  }

  /** Others are to have their turn before the next call. */
  get isTurnDue(): boolean {
    return this.isInterrupted || this.context.isTurnDue
  }

  /** From the place on, until a chunk is full, the rows are enough, or others are to have their turn; returns the place that is next. */
  write(oids: readonly Oid[], from: number): Awaitable<number> {
    const { writer, context, writeColumns } = this
    const { snapshot } = context
    const { json } = writer
    this.isInterrupted = false
    for (let i = from; i < oids.length; i++) {
      const rowStart = json.to.length
      this.oid = oids[i] as Oid
      try {
        const isRow = snapshot.view(objectKey(this.oid), this.writeLent)
        assert(!(isRow instanceof Promise), 'a store whose reads are immediate answers at once')
        if (isRow === undefined && this.entries !== undefined) {
          throw new ReadSkew(`${this.entries} names object ${this.oid}, which is not there`)
        }
        if (isRow !== true) {
          context.endRow()
          continue
        }
      } catch (error) {
        if (error !== turnDue) throw error
        json.to.length = rowStart
        this.isInterrupted = true
        return i
      }
      if (writeColumns !== undefined) {
        json.byte(newline)
        const later = writeColumns(json, this.values)
        if (later !== undefined) {
          return later.then(() => {
            this.endRow(rowStart)
            return i + 1
          })
        }
      }
      this.endRow(rowStart)
      const isTimeToLook = (i & rowsBetweenLooks) === rowsBetweenLooks
      if (this.toTake === 0 || json.to.length >= chunkBytesMin || (isTimeToLook && context.isTurnDue)) return i + 1
    }
    return oids.length
  }

  private endRow(rowStart: number): void {
    this.writer.starts.push(rowStart + 1)
    this.written++
    this.toTake--
    this.context.endRow()
  }

  /** True for a row; of what is returned of it by columns, the values. Nothing else is read meanwhile. */
  private readonly writeLent = (record: Bytes): boolean => {
    const { source, columns, evaluation, context, oid } = this
    const { slot, ofRecord } = source.filter
    const format = context.reader.formats.ofShape(shapeNumberOf(record))
    if (!source.classNumbers.has(format.cls.number)) return false
    evaluation.slots[slot] = new ObjectView(oid, undefined, format, record)
    if (ofRecord !== undefined && ofRecord(evaluation) !== true) return false
    if (this.toSkip > 0) {
      this.toSkip--
      return false
    }
    if (columns !== undefined) {
      this.values = columnValues(columns, evaluation)
      return true
    }
    const { json } = this.writer
    json.byte(newline)
    writeObjectJson(json, format, oid, record, noLinks)
    return true
  }
}
