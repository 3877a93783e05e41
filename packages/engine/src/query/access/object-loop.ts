/** Reads the objects of an access path one by one, filters each in borrowed memory, and passes those that qualify to a consumer. */
import { assert } from '../../errors.ts'
import { scanBatchBytes } from '../../limits.ts'
import type { ClassFormat } from '../../records/class-format.ts'
import { objectKeyBytes, oidOfObjectKey } from '../../records/object-key.ts'
import { shapeNumberOf } from '../../records/record-format.ts'
import type { ClassSet } from '../../schema/class-set.ts'
import { ReadSkew } from '../../store/read-skew.ts'
import type { Bytes, KeyRange } from '../../store/store.ts'
import { type Oid, oidFromBytes } from '../../types/oid.ts'
import type { ShapeNumber } from '../../types/type-spec.ts'
import type { Evaluate, EvaluationContext } from '../evaluate/evaluation-context.ts'
import { ObjectView } from '../evaluate/object-view.ts'
import { ValuesView } from '../evaluate/values-view.ts'
import type { RowConsumer } from '../execute/pushed-rows.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import type { ExplainNode } from '../explain/explain-node.ts'
import { decideSync, type FilterPlan, qualified } from '../operators/filter.ts'
import { type OidBatch, type OidBatches, restOf } from './oid-batch.ts'

export interface ObjectScan {
  readonly classes: ClassSet
  readonly filter: FilterPlan
  readonly evaluation: EvaluationContext
  readonly context: StatementContext
  /** The name of the entries from which OIDs are read, whose objects must exist; undefined if objects may be missing. */
  readonly entries: string | undefined
  /** The access path and, if present, the filter. */
  readonly source: ExplainNode
  readonly filterOperator: ExplainNode | undefined
  /** Each OID is a row, so the consumer may skip it unread. */
  readonly areRows: boolean
}

export type ObjectConsumer = RowConsumer<ObjectView>

/** Creates the loop over the objects of a source. */
export type NewLoop = (consumer: ObjectConsumer) => Promise<ObjectLoop>

/** Why a step ended: there are no more objects, `settle` must be called, or more must be read by `read`. */
export type Progress = 'end' | 'pause' | 'read'

/** Rows passed between clock checks, minus one; a bit mask. */
const rowsPerClockCheckMask = 15
/** The maximum number of rows copied after a refused one, to be taken together; on a remote store, where each time is a round trip, at once. */
const copiesMax = 256
const remoteCopiesMax = 1_000
/** If fewer than this multiple of the copies were taken between two refusals, more are copied the next time. */
const passedShare = 4

/**
 * A consumer that refuses a row may first need to read something, which is impossible while bytes are borrowed. The following
 * rows are then copied and handed over together, in numbers that grow with the frequency of refusals.
 */
export abstract class ObjectLoop {
  protected readonly scan: ObjectScan
  protected readonly consumer: ObjectConsumer
  /** The entries are objects, or lead to them, and count as such. */
  protected readonly areObjects: boolean = true
  protected examined = 0
  private checkedRows = 0
  private returned = 0
  /** The shape of the last object, which the next one mostly shares; the format is undefined for other classes. */
  private shape: ShapeNumber | undefined
  private format: ClassFormat | undefined
  /** The first one was refused. They may still fail the part of the predicate that needs more than the record. */
  private copies: ObjectView[] = []
  private copiedBytes = 0
  private copyCount: number
  private passedSince = 0
  /** Some of them may also fail the rest of the predicate. */
  private areUndecided = false

  constructor(scan: ObjectScan, consumer: ObjectConsumer) {
    this.scan = scan
    this.consumer = consumer
    this.copyCount = scan.context.isRemote ? remoteCopiesMax : 1
  }

  /** Copies wait for `settle`. */
  get isUnsettled(): boolean {
    return this.copies.length > 0
  }

  /** Rows that were sent cannot be read again. */
  get mayBeSent(): boolean {
    return true
  }

  /** Passes objects on until it must pause. */
  abstract step(): Progress

  /** Reads more; called after `step` has returned 'read', and after `settle`. */
  async read(): Promise<void> {}

  /** Called in any case when no more objects are needed. */
  async close(): Promise<void> {}

  /** Counts the objects that the access path has examined. */
  protected countExamined(_examined: number): void {}

  /** Passes the object of a record on; returns false if the loop must pause. */
  protected offerRecord(key: Bytes, record: Bytes): boolean {
    const shape = shapeNumberOf(record)
    if (shape !== this.shape) {
      const format = this.scan.context.formats.forShape(shape)
      this.format = this.scan.classes.numbers.has(format.cls.number) ? format : undefined
      this.shape = shape
    }
    if (this.format !== undefined) return this.offer(new ObjectView(undefined, key, this.format, record))
    this.examined++
    return this.mayContinue()
  }

  /** The same for an object of the classes. */
  protected offer(view: ObjectView): boolean {
    const { context, evaluation, filter } = this.scan
    const { recordPredicate, slot } = filter
    this.examined++
    evaluation.slots[slot] = view
    const isRow = recordPredicate === undefined || decideSync(recordPredicate, evaluation)
    if (isRow === undefined) this.areUndecided = true
    let taken: ReturnType<ObjectConsumer['consume']> = 'taken'
    if (isRow !== false) {
      taken = this.copies.length > 0 || isRow === undefined ? 'refused' : this.taken(view)
      if (taken === 'refused') {
        const copy = view.copy()
        this.copies.push(copy)
        this.copiedBytes += copy.bytes
      }
    }
    context.endRow()
    if (taken === 'full' || this.copies.length >= this.copyCount || this.copiedBytes >= scanBatchBytes) return false
    return this.mayContinue()
  }

  private taken(view: ObjectView): ReturnType<ObjectConsumer['consume']> {
    const { rest } = this.scan.filter
    if (rest !== undefined) {
      const isRow = decideSync(rest, this.scan.evaluation)
      if (isRow !== true) return isRow === false ? 'taken' : 'refused'
    }
    const taken = this.consumer.consume(view)
    if (taken !== 'refused') {
      this.returned++
      this.passedSince++
    }
    return taken
  }

  /** Whether the current time slice continues; called after each object. */
  protected mayContinue(): boolean {
    return (++this.checkedRows & rowsPerClockCheckMask) !== 0 || !this.scan.context.isYieldDue
  }

  /** Completes work that was not possible while bytes were borrowed. */
  async settle(): Promise<void> {
    if (this.copies.length > 0) await this.takeCopies()
    this.count()
  }

  private async takeCopies(): Promise<void> {
    const { copies, copyCount, consumer, areUndecided, scan } = this
    const { filter, context } = scan
    this.copies = []
    this.copiedBytes = 0
    this.areUndecided = false
    const isOften = this.passedSince < copyCount * passedShare
    if (!context.isRemote) this.copyCount = isOften ? Math.min(copiesMax, 2 * copyCount) : Math.max(1, copyCount >> 1)
    this.passedSince = 0
    const decided = areUndecided ? await this.qualified(copies, filter.recordPredicate) : copies
    const rows = await this.qualified(decided, filter.rest)
    this.returned += rows.length
    if (rows.length > 0) await consumer.consumeCopies(rows)
    context.endRow()
  }

  private async qualified(
    views: readonly ObjectView[],
    predicate: Evaluate | undefined,
  ): Promise<readonly ObjectView[]> {
    const { evaluation, context, filter } = this.scan
    return predicate === undefined ? views : qualified(views, predicate, filter.slot, evaluation, context)
  }

  /** For EXPLAIN, and the objects that the statement has touched. */
  count(): void {
    const { examined, returned, scan } = this
    const { context, source, filterOperator } = scan
    if (this.areObjects) context.touched(examined)
    if (context.probe !== undefined) {
      this.countExamined(examined)
      source.returned += examined
      if (filterOperator !== undefined) {
        filterOperator.examined += examined
        filterOperator.returned += returned
      }
    }
    this.examined = 0
    this.returned = 0
  }
}

/** Creates a view of an entry, borrowed like the entry; undefined if its object must be read. */
export type ReadEntry = (key: Bytes) => ObjectView | undefined

/** The entries of ranges of a store that reads synchronously: objects, or index entries, which `readEntry` reads. */
export class RangeLoop extends ObjectLoop {
  protected override readonly areObjects: boolean
  private readonly ranges: readonly KeyRange[]
  private readonly readEntry: ReadEntry | undefined
  private at = 0
  private rest: KeyRange | undefined
  /** The OID of an entry whose object must be read. */
  private unread: Oid | undefined

  constructor(scan: ObjectScan, consumer: ObjectConsumer, ranges: readonly KeyRange[], readEntry?: ReadEntry) {
    super(scan, consumer)
    this.ranges = ranges
    this.readEntry = readEntry
    this.areObjects = readEntry === undefined
  }

  override step(): Progress {
    const { ranges } = this
    while (this.at < ranges.length) {
      const range = this.rest ?? (ranges[this.at] as KeyRange)
      const last = this.visit(range)
      this.rest = last && restOf(range, last, false)
      if (this.unread !== undefined) return 'read'
      if (last !== undefined) return 'pause'
      this.at++
    }
    return 'end'
  }

  /** Reads the object of an entry that lacks a part of a value. */
  override async read(): Promise<void> {
    const { unread, scan } = this
    if (unread === undefined) return
    this.unread = undefined
    const [view] = await scan.context.reader.load([unread])
    scan.context.touched(1)
    this.offer(required(view, unread, scan))
  }

  protected override countExamined(examined: number): void {
    this.scan.source.examined += examined
  }

  private visit(range: KeyRange): Bytes | undefined {
    const { reader, snapshot } = this.scan.context
    reader.hasBorrowedBytes = true
    try {
      return snapshot.visit?.(range, false, this.readEntry === undefined ? this.useObject : this.useEntry)
    } finally {
      reader.hasBorrowedBytes = false
    }
  }

  private readonly useObject = (key: Bytes, record: Bytes): boolean => this.offerRecord(key, record)

  private readonly useEntry = (key: Bytes, value: Bytes): boolean => {
    const view = this.readEntry?.(key)
    if (view !== undefined) return this.offer(view)
    this.unread = oidFromBytes(value, 0)
    return false
  }
}

/** The objects of OIDs in a store that reads synchronously. */
class OidLoop extends ObjectLoop {
  private readonly batches: OidBatches
  private readonly key = Buffer.allocUnsafe(objectKeyBytes)
  private readonly mayRead: boolean
  private batch: OidBatch | undefined
  private at = 0
  private isOver = false

  constructor(scan: ObjectScan, consumer: ObjectConsumer, batches: OidBatches) {
    super(scan, consumer)
    this.batches = batches
    this.mayRead = scan.filter.rest !== undefined || consumer.readsOthers
  }

  override step(): Progress {
    const { context, entries } = this.scan
    for (;;) {
      const { batch, key } = this
      if (batch === undefined || this.at === batch.count) return this.isOver ? 'end' : 'read'
      batch.writeKey(this.at++, key)
      const found = context.snapshot.view<Buffer | boolean>(key, this.mayRead ? copied : this.useBorrowed)
      assert(!(found instanceof Promise), 'a store whose reads are immediate answers at once')
      if (found === undefined && entries !== undefined) throw missing(oidOfObjectKey(key), entries)
      const continues = typeof found === 'object' ? this.offerRecord(key, found) : (found ?? this.mayContinue())
      if (!continues) return 'pause'
    }
  }

  override async read(): Promise<void> {
    const { done, value } = await this.batches.next()
    this.isOver = done === true
    this.batch = this.isOver ? undefined : value
    this.at = 0
  }

  override async close(): Promise<void> {
    await this.batches.return(undefined)
  }

  protected override countExamined(examined: number): void {
    this.scan.context.reader.objectsRead += examined
  }

  private readonly useBorrowed = (record: Bytes): boolean => this.offerRecord(this.key, record)
}

/** Objects, or index entries, that own their bytes. Their batches count what they have read. */
export class ViewsLoop extends ObjectLoop {
  protected override readonly areObjects: boolean
  private readonly batches: AsyncGenerator<readonly ObjectView[]>
  private batch: readonly ObjectView[] = []
  private at = 0
  private isOver = false

  constructor(
    scan: ObjectScan,
    consumer: ObjectConsumer,
    batches: AsyncGenerator<readonly ObjectView[]>,
    areObjects = true,
  ) {
    super(scan, consumer)
    this.batches = batches
    this.areObjects = areObjects
  }

  override step(): Progress {
    const { numbers } = this.scan.classes
    for (;;) {
      const view = this.batch[this.at]
      if (view === undefined) return this.isOver || this.isLastBatch ? 'end' : 'read'
      this.at++
      const { format } = view
      if (!this.areObjects || (format !== undefined && numbers.has(format.cls.number))) {
        if (!this.offer(view)) return 'pause'
      } else this.examined++
    }
  }

  /** No batch follows that of the last read. */
  protected get isLastBatch(): boolean {
    return false
  }

  override async read(): Promise<void> {
    const { done, value } = await this.batches.next()
    this.scan.context.check()
    this.isOver = done === true
    this.batch = this.isOver ? [] : value
    this.at = 0
  }

  override async close(): Promise<void> {
    await this.batches.return(undefined)
  }
}

/** The loop over the objects of OIDs. */
export function loopOfOids(scan: ObjectScan, consumer: ObjectConsumer, all: OidBatches): ObjectLoop {
  const batches = scan.areRows && consumer.skip !== undefined ? unskipped(scan, consumer, all) : all
  return scan.context.snapshot.visit === undefined
    ? new ViewsLoop(scan, consumer, loadedViews(scan, batches))
    : new OidLoop(scan, consumer, batches)
}

/** The OIDs that the consumer does not skip. */
async function* unskipped(scan: ObjectScan, consumer: ObjectConsumer, batches: OidBatches): OidBatches {
  for await (const batch of batches) {
    const skipped = consumer.skip?.(batch.count) ?? 0
    batch.dropFirst(skipped)
    scan.source.returned += skipped
    yield batch
  }
}

/** Reads only few large objects at a time. */
async function* loadedViews(scan: ObjectScan, batches: OidBatches): AsyncGenerator<readonly ObjectView[]> {
  const { reader } = scan.context
  for await (const batch of batches) {
    for (const oids of reader.parts(batch.oids)) {
      const views = await reader.load(oids)
      yield views.flatMap((view, i) => {
        if (scan.entries !== undefined) return required(view, oids[i] as Oid, scan)
        return view ?? []
      })
    }
  }
}

/** Throws ReadSkew if an entry refers to a missing object. */
function required(view: ObjectView | undefined, oid: Oid, { entries }: ObjectScan): ObjectView {
  if (view?.format === undefined) throw missing(oid, `${entries}`)
  return view
}

function missing(oid: Oid, entries: string): ReadSkew {
  return new ReadSkew(`${entries} names object ${oid}, which is not there`)
}

/** Passes all objects to the consumer, yielding to the event loop in between. */
export async function passAll(newLoop: NewLoop, consumer: ObjectConsumer, context: StatementContext): Promise<void> {
  const loop = await newLoop(consumer)
  try {
    for (let progress = loop.step(); ; progress = loop.step()) {
      await loop.settle()
      if (progress === 'end') return
      if (progress === 'read') await loop.read()
      await context.yieldIfDue()
    }
  } finally {
    await loop.close()
  }
}

const batchRows = 256

const skippedRow = new ValuesView([])

/** Retains the rows of a batch. */
class BatchOfRows implements ObjectConsumer {
  readonly readsOthers = false
  rows: ObjectView[] = []
  private readonly rowsMax: number
  private toSkip: number
  private bytes = 0

  constructor(rowsMax: number, toSkip: number) {
    this.rowsMax = rowsMax
    this.toSkip = toSkip
  }

  /** An operator that follows drops the skipped rows. */
  skip(rows: number): number {
    const skipped = Math.min(this.toSkip, rows)
    this.toSkip -= skipped
    for (let i = 0; i < skipped; i++) this.rows.push(skippedRow)
    return skipped
  }

  get isFull(): boolean {
    return this.rows.length >= this.rowsMax || this.bytes >= scanBatchBytes
  }

  consume(view: ObjectView): 'taken' | 'full' {
    const copy = view.copy()
    this.rows.push(copy)
    this.bytes += copy.bytes
    return this.isFull ? 'full' : 'taken'
  }

  async consumeCopies(rows: readonly ObjectView[]): Promise<void> {
    for (const row of rows) this.consume(row)
  }

  take(): ObjectView[] {
    const { rows } = this
    this.rows = []
    this.bytes = 0
    return rows
  }
}

/** The objects in batches, which own their bytes. `toSkip`: the number of first rows of which nothing is needed. */
export async function* batchesOfObjects(
  newLoop: NewLoop,
  context: StatementContext,
  rowLimit = batchRows,
  toSkip = 0,
): AsyncGenerator<ObjectView[]> {
  // Where each read is a round trip, what was read together stays together.
  const batch = new BatchOfRows(context.isRemote ? Number.POSITIVE_INFINITY : Math.min(batchRows, rowLimit), toSkip)
  const loop = await newLoop(batch)
  try {
    for (let progress = loop.step(); ; progress = loop.step()) {
      await loop.settle()
      if (batch.rows.length > 0 && (batch.isFull || progress !== 'pause')) yield batch.take()
      if (progress === 'end') return
      if (progress === 'read') await loop.read()
      await context.yieldIfDue()
    }
  } finally {
    await loop.close()
  }
}

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
