/** Rebuilds the entries that the change log omits because they follow from objects and classes: containers and index entries. */
import { keySpace } from '../bytes/key-space.ts'
import type { CancelSignal } from '../cancel-signal.ts'
import { CatalogCache } from '../catalog/catalog-cache.ts'
import { catalogPartRange } from '../catalog/catalog-keys.ts'
import { assert } from '../errors.ts'
import { makeIndexKeyOfRecord } from '../indexes/index-key.ts'
import { indexFormatsOf } from '../indexes/maintain.ts'
import { referrersOfList } from '../indexes/referrer-entries.ts'
import { restoreSortBytesMax } from '../limits.ts'
import { containersWith, type UsedPage } from '../records/container-registry.ts'
import { attributeOfKey } from '../records/link-keys.ts'
import { oidOfObjectKey } from '../records/object-key.ts'
import { decodeRecord, shapeNumberOf } from '../records/record-format.ts'
import { recordFormats } from '../records/record-formats.ts'
import type { Catalog } from '../schema/catalog.ts'
import { sortSteps } from '../store/sort-in-pieces.ts'
import type { Bytes, KeyRange, Put, Snapshot, SnapshotOptions, Store } from '../store/store.ts'
import { openTimeSlice, runYielding } from '../store/time-slice.ts'
import { onSnapshot } from '../store/with-snapshot.ts'
import { type Oid, oidBytes } from '../types/oid.ts'
import type { ShapeNumber } from '../types/type-spec.ts'
import { checkFormat } from '../verify/check-store.ts'
import { deriveReferrers } from './derived-referrers.ts'
import type { TargetWriter } from './target-writer.ts'

/** Estimated memory per buffered entry in addition to the bytes of its key. */
const entryMemoryBytes = 250

const long: SnapshotOptions = { isCounted: true, isLong: true }

interface LastPage {
  page: number
  readonly shape: ShapeNumber
}

export interface DeriveOptions {
  readonly signal?: CancelSignal | undefined
  readonly onProgress?: (done: number, total: number) => void
}

export class DerivedEntries {
  private readonly store: Store
  /** Keyed by database × 2^16 + container. */
  private readonly pages = new Map<number, LastPage>()

  constructor(store: Store) {
    this.store = store
  }

  /** Must be called for each restored change. */
  note(key: Bytes, record: Bytes | undefined): void {
    if (key[0] !== keySpace.object || record === undefined) return
    const bytes = Buffer.from(key.buffer, key.byteOffset, key.length)
    const container = bytes.readUInt32BE(1)
    const page = bytes.readUInt16BE(5)
    const lastPage = this.pages.get(container)
    if (lastPage === undefined) this.pages.set(container, { page, shape: shapeNumberOf(record) })
    else if (page > lastPage.page) lastPage.page = page
  }

  /** Must be called once all changes are in the store. Idempotent. */
  async write(writer: TargetWriter, options: DeriveOptions): Promise<void> {
    const catalog = await onSnapshot(
      this.store,
      async (snapshot) => {
        const read = await new CatalogCache(checkFormat).at(snapshot)
        for (const change of await containersWith(snapshot, this.usedPages(read))) await writer.add(change)
        await this.clear(snapshot, read, writer, options)
        return read
      },
      long,
    )
    await writer.flush()
    await this.index(catalog, writer, options)
    await deriveReferrers(this.store, catalog, writer, long, options.signal)
  }

  private *usedPages(catalog: Catalog): Generator<UsedPage, undefined, undefined> {
    const numbers = [...this.pages.keys()].sort((one, other) => one - other)
    for (const number of numbers) {
      const { page, shape } = this.pages.get(number) as LastPage
      const classNumber = catalog.shape(shape)?.classNumber
      assert(classNumber !== undefined, 'the catalog has every shape that a record was written in')
      yield { database: Math.floor(number / 65_536), container: number % 65_536, page, classNumber }
    }
    return undefined
  }

  /** Removes the progress of background builds, so that they restart, entries of dropped indexes, and links of deleted attributes. */
  private async clear(
    snapshot: Snapshot,
    catalog: Catalog,
    writer: TargetWriter,
    { signal }: DeriveOptions,
  ): Promise<void> {
    const remove = async (range: KeyRange, isRemoved: (key: Bytes) => boolean): Promise<void> => {
      const keyIf = (key: Bytes): Buffer | undefined => (isRemoved(key) ? Buffer.from(key) : undefined)
      for await (const batch of snapshot.scan(range, keyIf, { keysOnly: true })) {
        signal?.throwIfAborted()
        for (const key of batch) if (key !== undefined) await writer.add({ kind: 'delete', key })
      }
    }
    for (const part of ['progress', 'droppedIndexes', 'droppedLinkAttributes'] as const)
      await remove(catalogPartRange(part), () => true)
    const links = { from: Buffer.of(keySpace.link), to: Buffer.of(keySpace.link + 1) }
    await remove(links, (key) => catalog.attribute(attributeOfKey(key)) === undefined)
  }

  /** Writes sorted runs, each after its snapshot is released: otherwise LMDB could not reuse pages, and the file would grow manyfold. */
  private async index(catalog: Catalog, writer: TargetWriter, { signal, onProgress }: DeriveOptions): Promise<void> {
    const to = Buffer.of(keySpace.object + 1)
    let done = 0
    for (let from: Buffer | undefined = Buffer.of(keySpace.object); from !== undefined; ) {
      const range: KeyRange = { from, to }
      const run = await onSnapshot(this.store, (snapshot) => indexEntries(snapshot, catalog, range, signal), long)
      const byKey = (one: Put, other: Put): number => Buffer.compare(one.key, other.key)
      for (const entry of await runYielding(sortSteps(run.entries, byKey))) {
        const due = writer.add(entry)
        if (due !== undefined) await due
      }
      await writer.flush()
      done += run.objects
      onProgress?.(done, Math.max(done, run.storeEntries))
      signal?.throwIfAborted()
      from = run.next
    }
  }
}

interface IndexRun {
  readonly entries: Put[]
  readonly objects: number
  readonly storeEntries: number
  /** Start of the next run; undefined at the end. */
  readonly next: Buffer | undefined
}

/** Builds the entries of the first objects of the range, up to `restoreSortBytesMax`. */
async function indexEntries(
  snapshot: Snapshot,
  catalog: Catalog,
  range: KeyRange,
  signal: CancelSignal | undefined,
): Promise<IndexRun> {
  const formats = recordFormats(catalog)
  const entriesOf = (key: Bytes, record: Bytes): { last: Buffer; puts: Put[] } => {
    const oid = oidOfObjectKey(key)
    const format = formats.forShape(shapeNumberOf(record))
    const ready = indexFormatsOf(format).all.filter(({ index }) => index.state === 'ready')
    const value = oidBytes(oid)
    const puts = ready.map((index): Put => {
      return { kind: 'put', key: makeIndexKeyOfRecord(index, format, record, oid).key, value }
    })
    const lists = indexFormatsOf(format).lists.filter(({ isBuilding }) => !isBuilding)
    const values = lists.length === 0 ? [] : decodeRecord(format, record).values
    for (const { attribute, index } of lists) {
      const referrers = referrersOfList(index, values[attribute.index] as readonly Oid[], oid)
      for (const referrer of referrers.values()) puts.push({ kind: 'put', key: referrer, value })
    }
    return { last: Buffer.from(key), puts }
  }
  const entries: Put[] = []
  let [objects, bytes] = [0, 0]
  for await (const batch of snapshot.scan(range, entriesOf, { slice: openTimeSlice() })) {
    signal?.throwIfAborted()
    for (const { puts } of batch) {
      for (const put of puts) {
        entries.push(put)
        bytes += put.key.length + entryMemoryBytes
      }
    }
    objects += batch.length
    const last = batch.at(-1)?.last
    if (bytes >= restoreSortBytesMax && last !== undefined)
      return { entries, objects, storeEntries: snapshot.entryCount ?? 0, next: Buffer.concat([last, Buffer.of(0)]) }
  }
  return { entries, objects, storeEntries: snapshot.entryCount ?? 0, next: undefined }
}
