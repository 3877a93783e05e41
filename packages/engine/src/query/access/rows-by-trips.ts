/** Rows that are objects, for a remote store: objects page by page, or together with the index entries that name them. */
import { assert } from '../../errors.ts'
import { oidOfObjectKey } from '../../records/object-key.ts'
import { PartSizes } from '../../records/part-sizes.ts'
import { mapAwaitable } from '../../store/awaitable.ts'
import { ReadSkew } from '../../store/read-skew.ts'
import type { Awaitable, Bytes, Entry, KeyRange, NamingEntries } from '../../store/store.ts'
import { type FollowedObject, requestFollowed } from '../evaluate/followed-references.ts'
import type { ObjectView } from '../evaluate/object-view.ts'
import { rowsSkipped } from '../operators/row-limits.ts'
import type { RowChunks } from '../query-request.ts'
import type { EntryRange } from './access-path.ts'
import type { ChosenAccessPath } from './choose-access.ts'
import { entryBatchSize } from './object-scan.ts'
import { restOf } from './oid-source.ts'
import { mustRestart, type Pause, RowsInPlace, type RowsRun, rowKey } from './rows-in-place.ts'
import { areRowsInOrder } from './source-plan.ts'

/** Up to this number, skipped objects are read with the rest; beyond, the operators read only their entries. */
const skippedMax = 256

/** Resolves when the first page has been read. */
export function rowsByTrips(
  run: RowsRun,
  { access }: ChosenAccessPath,
  rowLimit: number | undefined,
): Awaitable<RowChunks | undefined> | undefined {
  const { plan, evaluation, context } = run
  if (context.snapshot.readNaming === undefined) return undefined
  const { objects, limits } = plan
  if (access === objects.extent && plan.areInAnyOrder && plan.areRecordsOnly) {
    return allRows(run, rowLimit)
  }
  const found =
    access === objects.ordered ? objects.ordered : plan.areInAnyOrder && 'oids' in access ? access : undefined
  // Counted entries have already been read.
  if (found?.entryRange === undefined || plan.hasOtherObjects || context.entriesCounted > 0) return undefined
  const range = found.entryRange(evaluation, context)
  if (range === undefined) return undefined
  const skipped = areRowsInOrder(objects, access) ? rowsSkipped(limits, evaluation, context) : undefined
  return mapAwaitable(skipped, (count = 0) => (count > skippedMax ? undefined : mapAwaitable(range, rowsOf)))

  function rowsOf(one: EntryRange | 'several'): Awaitable<RowChunks | undefined> {
    if (one === 'several' || found === undefined) return undefined
    const isExact = access === objects.exact
    const pageEntries = entryBatchSize(objects.filter, found.conjunctsAnswered, isExact ? 1 : rowLimit)
    const rows = new NamedRows(one, found.entries, pageEntries, rowLimit, run)
    return rows.readFirst(isExact || rowLimit !== undefined).then(() => rows.start())
  }
}

async function allRows(run: RowsRun, rowLimit: number | undefined): Promise<RowChunks> {
  const extents = await run.plan.objects.extent.extents(run.context)
  const rows = new ScannedRows(extents, rowLimit, run)
  await rows.readBatch()
  return rows.start()
}

class ScannedRows extends RowsInPlace {
  private readonly batches: AsyncIterator<Entry[]>
  private batch: readonly Entry[] = []
  private at = 0
  private isOver = false

  constructor(extents: readonly KeyRange[], rowLimit: number | undefined, run: RowsRun) {
    super(run)
    // A store with `readNaming` returns bytes that are never overwritten.
    const entry = (key: Bytes, value: Bytes): Entry => ({ key, value })
    this.batches = run.context.scanAll(extents, entry, { isOrdered: rowLimit !== undefined })[Symbol.asyncIterator]()
  }

  async readBatch(): Promise<void> {
    const { done, value } = await this.batches.next()
    this.context.check()
    this.isOver = done === true
    this.batch = this.isOver ? [] : value
    this.at = 0
  }

  protected override write(): Pause {
    while (!this.areEnough) {
      const entry = this.batch[this.at]
      if (entry === undefined) {
        if (this.isOver) return 'end'
        return this.readBatch()
      }
      const pause = this.writeRow(entry.key, entry.value, false)
      if (!mustRestart(pause)) this.at++
      if (pause !== undefined) return pause
    }
    return 'end'
  }
}

/** The objects of an index range, page by page, one round trip each. */
class NamedRows extends RowsInPlace {
  private readonly range: EntryRange
  private readonly entries: string | undefined
  private readonly sizes: PartSizes
  private page: NamingEntries | undefined
  private at = 0
  /** By position in the page: objects for which references were requested. */
  private requestedViews: (ObjectView | undefined)[] = []
  /** The rest of the range; undefined at the end. */
  private rest: KeyRange | undefined
  /** Whether the first page is expected to suffice; if it does not, everything is read again. */
  private isOnly = false

  constructor(
    range: EntryRange,
    entries: string | undefined,
    pageEntries: number,
    rowLimit: number | undefined,
    run: RowsRun,
  ) {
    super(run)
    this.range = range
    this.rest = range
    this.entries = entries
    this.sizes = new PartSizes(pageEntries, pageEntries)
    this.toTake = rowLimit ?? Number.POSITIVE_INFINITY
  }

  /** `isEnough`: the first page is expected to contain all rows needed. */
  readFirst(isEnough: boolean): Promise<void> {
    this.isOnly = isEnough && this.plan.areRecordsOnly
    return this.readPage()
  }

  private async readPage(): Promise<void> {
    const { context, sizes, range, rest } = this
    if (rest === undefined) return
    const { isReverse } = range
    const limit = sizes.next
    const page = await context.snapshot.readNaming?.({ ...rest, reverse: isReverse, limit }, this.isOnly)
    assert(page !== undefined, 'only where entries and what they name come by one trip')
    const { count } = page
    this.page = page
    this.at = 0
    sizes.noteBytes(page.namedBytes, count)
    const last = count < limit || range.isOneKey || count === 0 ? undefined : page.key(count - 1)
    this.rest = last && restOf(rest, last, isReverse)
    if (this.plan.followed.length > 0) await this.fetchFollowed()
  }

  /** Reads the references of the page's rows: one round trip per step of the longest path. */
  private async fetchFollowed(): Promise<void> {
    const { followed: references } = this.plan
    const { reader } = this.context
    let pending: FollowedObject[] = []
    this.requestedViews = []
    for (let at = 0; at < this.count && pending.length < this.left; at++) {
      const record = this.page?.named(at)
      const view = record && this.likelyRow(this.keyAt(at), record)
      this.requestedViews.push(view)
      if (view !== undefined) pending.push({ view, references })
    }
    for (;;) {
      const next: FollowedObject[] = []
      let isMissing = false
      for (const one of pending) isMissing = requestFollowed(one, reader, next) || isMissing
      if (!isMissing) return
      await reader.fetchMissing()
      pending = next
    }
  }

  protected override get mayBeSent(): boolean {
    return !this.isOnly || this.rest === undefined || this.areEnough
  }

  protected override write(): Pause {
    while (!this.areEnough) {
      if (this.at === this.count) {
        if (this.rest === undefined) return 'end'
        return this.readPage()
      }
      const pause = this.writeNext()
      if (pause === 'lacksLinks') this.requestAll()
      if (pause !== undefined) return pause
    }
    return 'end'
  }

  private writeNext(): Pause | undefined {
    const record = this.requestedViews[this.at]?.record ?? this.page?.named(this.at)
    const key = this.keyAt(this.at)
    if (record === undefined)
      throw new ReadSkew(`${this.entries} names object ${oidOfObjectKey(key)}, which is not there`)
    const pause = this.writeRow(key, record, !this.plan.areRecordsOnly)
    if (!mustRestart(pause)) this.at++
    return pause
  }

  private requestAll(): void {
    for (let { at } = this; at < this.count; at++) {
      const record = this.page?.named(at)
      if (record !== undefined) this.requestData(this.keyAt(at), record)
    }
  }

  private get count(): number {
    return this.page?.count ?? 0
  }

  /** Returns the key of the current row, borrowed. */
  private keyAt(at: number): Bytes {
    this.page?.writeNamedKey(at, rowKey)
    return rowKey
  }
}
