/** Writes rows that are objects, or columns of one, as JSON text while the objects are read, without batches of rows. */
import type { JsonWriter } from '../../bytes/json-writer.ts'
import { writeRecordJson } from '../../objects/representation.ts'
import { type EvaluationContext, needsFetch } from '../evaluate/evaluation-context.ts'
import type { ObjectView } from '../evaluate/object-view.ts'
import { newline, RowsAtHand } from '../execute/row-chunk.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import { ChunkWriter, chunkBytesMin, writeBatch, writeObject } from '../execute/write-rows.ts'
import { explainNode } from '../explain/explain-node.ts'
import type { LoopCounts } from '../explain/loop-counts.ts'
import { columnsWriter, type Projections, type WriteColumns } from '../operators/project.ts'
import { countOf, type RowLimits } from '../operators/row-limits.ts'
import type { RowChunk, RowChunks } from '../query-request.ts'
import { loopOf } from './access-loop.ts'
import type { AccessPath } from './access-path.ts'
import { type NamedRowsPlan, namedLoop } from './named-objects.ts'
import type { ObjectConsumer, ObjectLoop, ObjectScan, Progress } from './object-loop.ts'
import { areRowsInOrder } from './source-plan.ts'

/** The parts of the plan that rows are made of. */
export interface RowsPlan extends NamedRowsPlan {
  readonly projections: Projections
  readonly limits: RowLimits
  readonly areInAnyOrder: boolean
}

export interface RowsRun {
  readonly plan: RowsPlan
  readonly evaluation: EvaluationContext
  readonly context: StatementContext
  /** Counts for EXPLAIN. */
  readonly explained: LoopCounts | undefined
}

/** Undefined if the access is not in the requested order. `rowLimit`: rows needed. */
export async function rowsInPlace(
  run: RowsRun,
  access: AccessPath,
  rowLimit: number | undefined,
): Promise<RowChunks | undefined> {
  const { plan, evaluation, context, explained } = run
  const { objects, limits } = plan
  if (!plan.areInAnyOrder && access !== objects.ordered) return undefined
  const { classes, filter } = objects
  const scan: ObjectScan = {
    ...{ classes, filter, evaluation, context, entries: access.entries },
    source: explained?.source ?? explainNode('objects'),
    filterOperator: explained?.filter,
    areRows: context.script.capabilities.isPartial !== true && areRowsInOrder(objects, access),
  }
  const newLoop = loopOf(access, scan, rowLimit)
  if (newLoop === undefined) return undefined
  const toSkip = (await countOf(limits.skip, evaluation, context)) ?? 0
  const toTake = (await countOf(limits.take, evaluation, context)) ?? Number.POSITIVE_INFINITY
  if (toTake === 0) return new RowsAtHand([])
  const writer = new RowWriter(run, toSkip, toTake)
  const loop = (await namedLoop(plan, access, scan, rowLimit, writer)) ?? (await newLoop(writer))
  return chunksOf(loop, writer, context)
}

/** All rows if they fit in the first time slice and in one chunk, and in one trip to a remote store. */
async function chunksOf(loop: ObjectLoop, writer: RowWriter, context: StatementContext): Promise<RowChunks> {
  let progress: Progress = 'read'
  try {
    while (progress === 'read' && !loop.isUnsettled && !(context.isRemote && writer.hasRows)) {
      await loop.read()
      progress = loop.step()
    }
    const areAll = progress === 'end' || (writer.isComplete && loop.mayBeSent)
    if (!areAll || loop.isUnsettled) return remainingChunks(loop, progress, writer, context)
    loop.count()
  } catch (error) {
    await loop.close()
    throw error
  }
  await loop.close()
  const rows = writer.hasRows ? [writer.take()] : []
  writer.end()
  return new RowsAtHand(rows)
}

async function* remainingChunks(
  loop: ObjectLoop,
  first: Progress,
  writer: RowWriter,
  context: StatementContext,
): AsyncGenerator<RowChunk> {
  let isSent = false
  try {
    for (let progress = first; ; progress = loop.step()) {
      await loop.settle()
      yield* writer.pendingChunks()
      // The first rows are sent as soon as possible.
      if (writer.hasRows && loop.mayBeSent && (!isSent || writer.isFull)) {
        yield writer.take()
        isSent = true
      }
      if (progress === 'end' || writer.isComplete) break
      if (progress === 'read') await loop.read()
      await context.yieldIfDue()
    }
    if (writer.hasRows) yield writer.take()
    writer.end()
  } finally {
    await loop.close()
  }
}

class RowWriter implements ObjectConsumer {
  readonly readsOthers: boolean
  private readonly run: RowsRun
  private readonly writer: ChunkWriter
  private readonly writeColumns: WriteColumns | undefined
  toSkip: number
  private toTake: number
  /** Rows that need something to be read first. */
  private pending: readonly ObjectView[] = []

  constructor(run: RowsRun, toSkip: number, toTake: number) {
    const { plan, context } = run
    this.run = run
    this.toSkip = toSkip
    this.toTake = toTake
    this.readsOthers = !plan.areRecordsOnly
    this.writer = new ChunkWriter(context)
    this.writeColumns = plan.projections === undefined ? undefined : columnsWriter(plan.projections, context)
  }

  /** The number of rows still needed, including those to skip. */
  get left(): number {
    return this.toSkip + this.toTake
  }

  get isComplete(): boolean {
    return this.toTake === 0
  }

  get isFull(): boolean {
    return this.writer.json.to.length >= chunkBytesMin
  }

  get hasRows(): boolean {
    return this.writer.json.to.length > 0
  }

  skip(rows: number): number {
    const skipped = Math.min(this.toSkip, rows)
    this.toSkip -= skipped
    return skipped
  }

  consume(view: ObjectView): 'taken' | 'full' | 'refused' {
    if (this.toSkip > 0) {
      this.toSkip--
      return 'taken'
    }
    const { json, starts } = this.writer
    const rowStart = json.to.length
    try {
      json.byte(newline)
      this.write(json, view)
    } catch (error) {
      json.to.length = rowStart
      if (error !== needsFetch) throw error
      return 'refused'
    }
    starts.push(rowStart + 1)
    this.toTake--
    return this.toTake === 0 || this.isFull ? 'full' : 'taken'
  }

  async consumeCopies(rows: readonly ObjectView[]): Promise<void> {
    const skipped = this.skip(rows.length)
    this.pending = rows.slice(skipped, skipped + this.toTake)
    this.toTake -= this.pending.length
  }

  /** Writes the copies, and yields the chunks that they fill. */
  async *pendingChunks(): AsyncGenerator<RowChunk> {
    const { pending } = this
    if (pending.length === 0) return
    this.pending = []
    const { evaluation, context, plan } = this.run
    const write = (json: JsonWriter, row: ObjectView): void => {
      evaluation.slots[plan.objects.filter.slot] = row
      this.write(json, row)
    }
    yield* writeBatch(this.writer, pending, write, context, () => this.take())
  }

  take(): RowChunk {
    const { writer, run } = this
    run.context.wroteRows(writer.starts.length)
    run.explained?.wrote(writer.starts.length)
    return writer.take()
  }

  /** Called after the last chunk. */
  end(): void {
    this.writer.end()
  }

  /** Throws `needsFetch`. */
  private write(json: JsonWriter, view: ObjectView): void {
    const { evaluation, context } = this.run
    const { key, format, record } = view
    if (this.writeColumns !== undefined) this.writeColumns(json, evaluation)
    else if (key === undefined || format === undefined || format.linkAttributes.length > 0)
      writeObject(json, view, context)
    else writeRecordJson(json, format, key, record)
  }
}
