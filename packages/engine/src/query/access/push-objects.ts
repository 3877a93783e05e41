/** Pushes objects to an operator one by one, borrowed from the store's memory and filtered in place, without copies or batches. */
import { assert } from '../../errors.ts'
import { scanBatchBytes } from '../../limits.ts'
import { objectKeyBytes, oidOfObjectKey } from '../../records/object-key.ts'
import { ReadSkew } from '../../store/read-skew.ts'
import type { Awaitable, Bytes, KeyRange } from '../../store/store.ts'
import type { ObjectView } from '../evaluate/object-view.ts'
import type { PushRows, RowConsumer } from '../execute/pushed-rows.ts'
import { decideSync, filterObjects } from '../operators/filter.ts'
import type { AccessPath } from './access-path.ts'
import type { ObjectScan } from './object-scan.ts'
import { OidBatch, type OidSource, restOf } from './oid-source.ts'

/** Creates a view of an entry, borrowed like the entry; undefined if more must be read, which `readAsync` does. */
interface EntryReader {
  read(key: Bytes, value: Bytes): ObjectView | undefined
  /** The asynchronous form, for an entry whose bytes are no longer borrowed. */
  readAsync(value: Bytes): Promise<ObjectView>
}

/** Undefined if the store is asynchronous. `areObjects`: the entries are objects and count as such. */
export function pushObjects(
  scan: ObjectScan,
  ranges: () => Awaitable<readonly KeyRange[]>,
  areObjects: boolean,
  newReader: () => EntryReader,
): PushRows<ObjectView> | undefined {
  if (!canPush(scan)) return undefined
  return async (consumer) => {
    const pusher = new RangePusher(scan, areObjects, newReader(), consumer)
    for (const range of await ranges()) await pusher.push(range)
  }
}

/** Like `pushObjects`, for an access path; undefined if it cannot push its objects. */
export function pushRows(access: AccessPath, scan: ObjectScan): PushRows<ObjectView> | undefined {
  if (!('oids' in access)) return access.push?.(scan)
  const { evaluation, context } = scan
  if (access.source === undefined || !canPush(scan) || access.isDeferred?.(evaluation, context) === true)
    return undefined
  return async (consumer) => {
    const source = await access.source?.(evaluation, context, scan.source)
    assert(source !== undefined, 'they do not come later')
    await new OidPusher(scan, consumer).push(source)
  }
}

function canPush({ context }: ObjectScan): boolean {
  return context.snapshot.visit !== undefined
}

/** Rows pushed between clock checks, minus one; a bit mask. */
const rowsPerClockCheckMask = 31
/** The maximum number of rows copied after a refused one, to be taken together. */
const copiesMax = 256
/** If fewer than this multiple of the copies were taken between two refusals, more are copied the next time. */
const pushedShare = 4

/**
 * An operator that refuses a row may first need to read something, which is impossible while bytes are borrowed. The following
 * rows are then copied and handed over together, in numbers that grow with the frequency of refusals.
 */
abstract class ObjectPusher {
  protected readonly scan: ObjectScan
  private readonly consumer: RowConsumer<ObjectView>
  private checkedRows = 0
  protected examined = 0
  private returned = 0
  /** A row whose filter needs an asynchronous evaluation. */
  private undecided: ObjectView | undefined
  /** The first one was refused. If part of the predicate needs more than the record, they may still fail it. */
  private copies: ObjectView[] = []
  private copiedBytes = 0
  private copyCount = 1
  private pushedSince = 0

  constructor(scan: ObjectScan, consumer: RowConsumer<ObjectView>) {
    this.scan = scan
    this.consumer = consumer
  }

  /** Pushes a row; false if `settle` must be called before the next one. */
  protected offer(view: ObjectView): boolean {
    const { context, evaluation, filter } = this.scan
    const { recordPredicate, slot } = filter
    evaluation.slots[slot] = view
    const isRow = recordPredicate === undefined || decideSync(recordPredicate, evaluation)
    if (isRow === undefined) this.undecided = view.copy()
    else if (isRow && (this.copies.length > 0 || !this.isFinished(view))) this.keep(view.copy())
    context.endRow()
    const { length } = this.copies
    if (this.undecided !== undefined || length >= this.copyCount || this.copiedBytes >= scanBatchBytes) return false
    return this.mayContinue()
  }

  /** Whether the current time slice continues; called after each row and each skipped entry. */
  protected mayContinue(): boolean {
    return (++this.checkedRows & rowsPerClockCheckMask) !== 0 || !this.scan.context.isYieldDue
  }

  /** Whether the row is finished: taken or rejected. */
  private isFinished(view: ObjectView): boolean {
    const { rest } = this.scan.filter
    if (rest !== undefined) {
      const isRow = decideSync(rest, this.scan.evaluation)
      if (isRow !== true) return isRow === false
    }
    if (!this.consumer.consume(view)) return false
    this.returned++
    this.pushedSince++
    return true
  }

  private keep(view: ObjectView): void {
    this.copies.push(view)
    this.copiedBytes += view.bytes
  }

  /** Completes work that was not possible while bytes were borrowed. */
  protected async settle(): Promise<void> {
    const { context } = this.scan
    if (this.undecided !== undefined) {
      const [row] = await this.rowsOf([this.undecided], this.scan.filter.recordPredicate)
      this.undecided = undefined
      if (row !== undefined) this.keep(row)
    }
    if (this.copies.length > 0) await this.takeCopies()
    this.count()
    const pause = context.yieldIfDue()
    if (pause !== undefined) await pause
  }

  private async takeCopies(): Promise<void> {
    const { copies, copyCount } = this
    this.copies = []
    this.copiedBytes = 0
    const isOften = this.pushedSince < copyCount * pushedShare
    this.copyCount = isOften ? Math.min(copiesMax, 2 * copyCount) : Math.max(1, copyCount >> 1)
    this.pushedSince = 0
    const rows = await this.rowsOf(copies, this.scan.filter.rest)
    this.returned += rows.length
    if (rows.length > 0) await this.consumer.consumeCopies(rows)
    this.scan.context.endRow()
  }

  /** A row that had to be read is then treated like any other. */
  protected async takeRead(view: ObjectView): Promise<void> {
    const [row] = await this.rowsOf([view], this.scan.filter.recordPredicate)
    if (row !== undefined) this.keep(row)
  }

  private async rowsOf(
    views: readonly ObjectView[],
    predicate: ObjectScan['filter']['recordPredicate'],
  ): Promise<readonly ObjectView[]> {
    const { evaluation, context, filter } = this.scan
    return predicate === undefined ? views : filterObjects(views, predicate, filter.slot, evaluation, context)
  }

  protected abstract readonly areObjects: boolean
  protected abstract readonly readsOids: boolean

  private count(): void {
    const { examined, returned, scan } = this
    const { context, source, filterOperator } = scan
    if (this.readsOids) context.reader.objectsRead += examined
    // Sources of OIDs count the entries that they read.
    else source.examined += examined
    source.returned += examined
    if (this.areObjects) context.touched(examined)
    if (filterOperator !== undefined) {
      filterOperator.examined += examined
      filterOperator.returned += returned
    }
    this.examined = 0
    this.returned = 0
  }
}

class RangePusher extends ObjectPusher {
  protected override readonly areObjects: boolean
  protected override readonly readsOids = false
  private readonly reader: EntryReader
  /** The value of the entry that could not be read synchronously. */
  private unread: Buffer | undefined

  constructor(scan: ObjectScan, areObjects: boolean, reader: EntryReader, consumer: RowConsumer<ObjectView>) {
    super(scan, consumer)
    this.areObjects = areObjects
    this.reader = reader
  }

  async push(range: KeyRange): Promise<void> {
    let rest: KeyRange | undefined = range
    while (rest !== undefined) {
      const last = this.visit(rest)
      rest = last === undefined ? undefined : restOf(rest, last, false)
      if (this.unread !== undefined) {
        const { unread } = this
        this.unread = undefined
        await this.takeRead(await this.reader.readAsync(unread))
      }
      await this.settle()
    }
  }

  private visit(range: KeyRange): Bytes | undefined {
    const { reader, snapshot } = this.scan.context
    reader.hasBorrowedBytes = true
    try {
      return snapshot.visit?.(range, false, this.use)
    } finally {
      reader.hasBorrowedBytes = false
    }
  }

  private readonly use = (key: Bytes, value: Bytes): boolean => {
    this.examined++
    const view = this.reader.read(key, value)
    if (view !== undefined) return this.offer(view)
    this.unread = Buffer.from(value)
    return false
  }
}

/** OIDs looked up per batch of the source. */
const oidsPerBatch = 4_096

/** The objects of OIDs, without duplicates. */
class OidPusher extends ObjectPusher {
  protected override readonly areObjects = true
  protected override readonly readsOids = true
  private readonly batch = new OidBatch(oidsPerBatch)
  private readonly key = Buffer.allocUnsafe(objectKeyBytes)

  async push(source: OidSource): Promise<void> {
    const { batch, scan } = this
    const { snapshot, reader } = scan.context
    for (let hasMore = true; hasMore; ) {
      batch.count = 0
      hasMore = source.next(batch)
      for (let at = 0; at < batch.count; at++) {
        batch.writeKey(at, this.key)
        reader.hasBorrowedBytes = true
        let continues: Awaitable<boolean | undefined>
        try {
          continues = snapshot.view(this.key, this.use)
        } finally {
          reader.hasBorrowedBytes = false
        }
        assert(typeof continues !== 'object', 'a store whose reads are immediate answers at once')
        if (!(continues ?? this.skipMissing())) await this.settle()
      }
      await this.settle()
    }
  }

  private readonly use = (record: Bytes): boolean => {
    const { context, classes } = this.scan
    this.examined++
    const view = context.reader.view(undefined, this.key, record)
    const isInClasses = view.format !== undefined && classes.numbers.has(view.format.cls.number)
    return isInClasses ? this.offer(view) : this.mayContinue()
  }

  /** Handles a missing object. Throws ReadSkew if its OID came from an entry. */
  private skipMissing(): boolean {
    const { entries } = this.scan
    if (entries === undefined) return this.mayContinue()
    throw new ReadSkew(`${entries} names object ${oidOfObjectKey(this.key)}, which is not there`)
  }
}
