/** The objects of an index range of a remote store, page by page: each in one round trip with the entries that name them. */
import { objectKeyBytes, oidOfObjectKey } from '../../records/object-key.ts'
import { PartSizes } from '../../records/part-sizes.ts'
import { ReadSkew } from '../../store/read-skew.ts'
import type { KeyRange } from '../../store/store.ts'
import { type FollowedReference, type Following, requestFollowed } from '../evaluate/followed-references.ts'
import type { ObjectView } from '../evaluate/object-view.ts'
import { decideSync } from '../operators/filter.ts'
import { entryBatchSize } from './access-loop.ts'
import type { AccessPath, EntryRange } from './access-path.ts'
import { type ObjectConsumer, type ObjectLoop, type ObjectScan, ViewsLoop } from './object-loop.ts'
import { restOf } from './oid-batch.ts'
import type { SourcePlan } from './source-plan.ts'

/** The part of a plan of rows that decides what is read for them. */
export interface NamedRowsPlan {
  readonly objects: SourcePlan
  /** The predicate and the columns need only the objects' records. */
  readonly areRecordsOnly: boolean
  /** Other whole objects are returned, whose reads are known only once they are loaded. */
  readonly hasOtherObjects: boolean
  /** The references to other objects that are returned. */
  readonly followed: readonly FollowedReference[]
}

/** Up to this number, skipped objects are read with the rest; beyond, only their entries are. */
const skippedMax = 256

interface NamedConsumer extends ObjectConsumer {
  readonly toSkip: number
  /** The number of rows still needed. */
  readonly left: number
  readonly isComplete: boolean
}

/** Undefined if the store or the access does not support it, or if more than the columns' references must be read. */
export async function namedLoop(
  plan: NamedRowsPlan,
  access: AccessPath,
  scan: ObjectScan,
  rowLimit: number | undefined,
  writer: NamedConsumer,
): Promise<ObjectLoop | undefined> {
  const { evaluation, context } = scan
  // Counted entries have already been read.
  if (context.snapshot.readNaming === undefined || plan.hasOtherObjects || context.entriesCounted > 0) return undefined
  if (scan.areRows && writer.toSkip > skippedMax) return undefined
  const range = await access.entryRange?.(evaluation, context)
  if (range === undefined || range === 'several') return undefined
  const { objects } = plan
  const isExact = access === objects.exact
  const answered = 'conjunctsAnswered' in access ? access.conjunctsAnswered : 0
  const pageEntries = entryBatchSize(objects.filter, answered, isExact ? 1 : rowLimit)
  // If the first page is expected to suffice and does not, everything is read again.
  const isOnly = (isExact || rowLimit !== undefined) && plan.areRecordsOnly
  const pages = new NamedPages(range, pageEntries, isOnly, plan.followed, scan, writer)
  return new NamedLoop(scan, writer, pages)
}

class NamedLoop extends ViewsLoop {
  private readonly pages: NamedPages

  constructor(scan: ObjectScan, writer: NamedConsumer, pages: NamedPages) {
    super(scan, writer, pages.views())
    this.pages = pages
  }

  override get mayBeSent(): boolean {
    return this.pages.mayBeSent
  }

  protected override get isLastBatch(): boolean {
    return this.pages.isOver
  }
}

class NamedPages {
  private readonly followed: readonly FollowedReference[]
  private readonly scan: ObjectScan
  private readonly writer: NamedConsumer
  private readonly range: EntryRange
  private readonly isOnly: boolean
  private readonly sizes: PartSizes
  /** The rest of the range; undefined at the end. */
  private rest: KeyRange | undefined

  constructor(
    range: EntryRange,
    pageEntries: number,
    isOnly: boolean,
    followed: readonly FollowedReference[],
    scan: ObjectScan,
    writer: NamedConsumer,
  ) {
    this.followed = followed
    this.scan = scan
    this.writer = writer
    this.range = range
    this.isOnly = isOnly
    this.rest = range
    this.sizes = new PartSizes(pageEntries, pageEntries)
  }

  get isOver(): boolean {
    return this.rest === undefined
  }

  get mayBeSent(): boolean {
    return !this.isOnly || this.rest === undefined || this.writer.isComplete
  }

  async *views(): AsyncGenerator<readonly ObjectView[]> {
    while (this.rest !== undefined) {
      const views = await this.readPage(this.rest)
      if (this.followed.length > 0) await this.fetchFollowed(views)
      yield views
    }
  }

  private async readPage(rest: KeyRange): Promise<ObjectView[]> {
    const { sizes, range, scan } = this
    const { context, source, entries } = scan
    const limit = sizes.next
    const page = await context.snapshot.readNaming?.({ ...rest, reverse: range.isReverse, limit }, this.isOnly)
    const views: ObjectView[] = []
    const count = page?.count ?? 0
    for (let at = 0; page !== undefined && at < count; at++) {
      const key = Buffer.allocUnsafe(objectKeyBytes)
      page.writeNamedKey(at, key)
      const record = page.named(at)
      if (record === undefined) throw new ReadSkew(`${entries} names object ${oidOfObjectKey(key)}, which is not there`)
      views.push(context.reader.view(undefined, key, record))
    }
    context.reader.objectsRead += count
    source.examined += count
    sizes.noteBytes(page?.namedBytes ?? 0, count)
    const last = count < limit || range.isOneKey || count === 0 ? undefined : page?.key(count - 1)
    this.rest = last && restOf(rest, last, range.isReverse)
    return views
  }

  /** Reads the references of the page's rows: one round trip per step of the longest path. */
  private async fetchFollowed(views: readonly ObjectView[]): Promise<void> {
    const { followed: references } = this
    const { reader } = this.scan.context
    let pending: Following[] = []
    for (const view of views) {
      if (pending.length >= this.writer.left) break
      if (this.mayBeRow(view)) pending.push({ view, references })
    }
    for (;;) {
      const next: Following[] = []
      let isMissing = false
      for (const one of pending) isMissing = requestFollowed(one, reader, next) || isMissing
      if (!isMissing) return
      await reader.fetchMissing()
      pending = next
    }
  }

  /** Whether the object may qualify, as far as can be determined without reading anything else. */
  private mayBeRow(view: ObjectView): boolean {
    const { classes, filter, evaluation, context } = this.scan
    if (view.format === undefined || !classes.numbers.has(view.format.cls.number)) return false
    evaluation.slots[filter.slot] = view
    const { recordPredicate, rest } = filter
    const mayBe =
      (recordPredicate === undefined || decideSync(recordPredicate, evaluation) === true) &&
      (rest === undefined || decideSync(rest, evaluation) === true)
    context.endRow()
    return mayBe
  }
}
