/**
 * Builds an index over the rows that exist, in batches, while writes go on. From the moment the index is in the
 * catalog every writer keeps the entries of what it writes, so the build has only to come by each older row once.
 */

import { setImmediate as nextIteration } from 'node:timers/promises'
import { catalogVersionKey } from '../bytes/key-space.ts'
import type { CancelSignal } from '../cancel-signal.ts'
import { AshlarError, assert, unreachable } from '../errors.ts'
import { indexBuildBatchBytes } from '../limits.ts'
import type { ClassFormat } from '../records/class-format.ts'
import { keyAfter, oidOfObjectKey } from '../records/object-key.ts'
import { decodeRecord, revisionPrefixOf, shapeNumberOf } from '../records/record-format.ts'
import { recordFormats } from '../records/record-formats.ts'
import { presentRanges } from '../records/scan-objects.ts'
import type { Catalog } from '../schema/catalog.ts'
import type { IndexDefinition, IndexNumber } from '../schema/class-definition.ts'
import { readPart } from '../store/read-range.ts'
import type { Bytes, Change, KeyRange, Precondition, Snapshot, Store } from '../store/store.ts'
import { inSlices } from '../store/time-slice.ts'
import { awaitPendingCommits, withSnapshot } from '../store/with-snapshot.ts'
import { transact } from '../transaction/transact.ts'
import type { Transaction } from '../transaction/transaction.ts'
import { type Oid, oidBytes, oidFromBytes } from '../types/oid.ts'
import type { ClassNumber } from '../types/type-spec.ts'
import { type IndexKeyFormat, makeIndexKeyOfRecord } from './index-key.ts'
import { indexFormatsOf, uniqueViolationError } from './maintain.ts'

export interface BuildContext {
  readonly store: Store
  readonly batchObjects: number
  readonly attemptsMax: number
  catalogAt(snapshot: Snapshot): Promise<Catalog>
  readonly progress?: BuildProgress
}

export interface BuildProgress {
  readonly key: Buffer
  /** The value to store once these objects are indexed too. */
  after(last: Oid, objects: number): Buffer
  /** Objects up to this one are indexed. */
  readonly last: Oid | undefined
}

/** What an index is built from. Throws IndexNotFound for a catalog that does not have the index. */
export interface IndexSource {
  /** Where the rows are that there are now. */
  ranges(snapshot: Snapshot, catalog: Catalog): ReturnType<typeof presentRanges>
  /** What the rows of one commit take as they are read. */
  batchBytes(catalog: Catalog): number
  /** Reads a borrowed row, which may have no entries. */
  reader(catalog: Catalog): (key: Bytes, row: Bytes) => SourceRow | undefined
  /** That another object has a key of the row; only of indexes that may be unique. */
  duplicate?(catalog: Catalog, key: Bytes, row: Bytes, holder: Oid): AshlarError
}

/** What the index needs of a row as one snapshot had it. The row is not held: many, however large, go into one commit. */
export interface SourceRow {
  readonly key: Buffer
  /** The row begins with this as long as it has these entries. */
  readonly revision: Buffer
  /** Without unique keys, they are gone through once: those of a long list are made one by one. */
  readonly entries: Iterable<SourceEntry>
}

export interface SourceEntry {
  readonly key: Bytes
  readonly value: Bytes
  readonly isUniqueKey: boolean
}

/** Rows that one commit is to index, as one snapshot had them. */
interface SeenRows {
  readonly rows: readonly SourceRow[]
  /** Of the catalog by which their keys were made. */
  readonly version: Bytes
  /** The last row that was read. */
  readonly last: Buffer | undefined
  /** There are no further rows in the range. */
  readonly isComplete: boolean
}

/**
 * Adds the entries of all objects of the indexed class and its subclasses. Throws UniqueViolation for two objects with equal full key values,
 * IndexNotFound if the index was deleted during the build, and the signal's reason.
 */
export function buildIndexEntries(
  context: BuildContext,
  index: IndexNumber,
  signal: CancelSignal | undefined,
): Promise<void> {
  return buildEntries(context, sourceOfIndex(index), signal)
}

/** Throws the errors of the source, and the signal's reason. */
export async function buildEntries(
  context: BuildContext,
  source: IndexSource,
  signal: CancelSignal | undefined,
): Promise<void> {
  for (const { from, to } of await coveredRanges(context, source)) {
    let next: Buffer | undefined = laterOf(from, context.progress?.last)
    while (next !== undefined) {
      signal?.throwIfAborted()
      const seen: SeenRows = await readBatch(context, source, { from: next, to })
      if (!(await putEntries(context, source, seen))) await putOneByOne(context, source, seen.rows)
      next = seen.last === undefined || seen.isComplete ? undefined : Buffer.concat([seen.last, Buffer.of(0)])
      await nextIteration()
    }
  }
}

function laterOf(from: Buffer, last: Oid | undefined): Buffer {
  const next = last === undefined ? from : keyAfter(last)
  return Buffer.compare(next, from) > 0 ? next : from
}

/**
 * The rows that there are now, container by container. Those that are created from now on bring their entries
 * along, so that the build does not run after a class that keeps growing. Those whose writers did not know of the index yet
 * have to be seen, and so nothing of their commits may be under way still.
 */
async function coveredRanges(context: BuildContext, source: IndexSource): ReturnType<typeof presentRanges> {
  await awaitPendingCommits(context.store)
  return withSnapshot(context.store, async (snapshot) => source.ranges(snapshot, await context.catalogAt(snapshot)))
}

export function coveredClasses(catalog: Catalog, cls: ClassNumber): Set<ClassNumber> {
  const subclasses = catalog.classByNumber(cls)?.subclasses ?? []
  return new Set([cls, ...subclasses.map(({ number }) => number)])
}

/** A catalog that is older than one of the records, as read skew can show, does not know the shape of that: then it is all read again. */
async function readBatch(context: BuildContext, source: IndexSource, range: KeyRange): Promise<SeenRows> {
  const read = async (snapshot: Snapshot): Promise<SeenRows> => {
    const catalog = await context.catalogAt(snapshot)
    const bounds = { entriesMax: context.batchObjects, bytesMax: source.batchBytes(catalog) }
    const { results, last, isComplete } = await readPart(snapshot, range, source.reader(catalog), bounds)
    return { rows: results, version: catalog.version, last, isComplete }
  }
  return withSnapshot(context.store, read, { isolation: 'readOnly' })
}

/**
 * One commit for the whole batch, which requires every row, and the catalog, as they were read: else the entry of an old value could
 * be written beside a writer's new one. False when one of them has changed, or a key of a unique index is taken; nothing was
 * written then. Whoever holds the key may have got it after the row was read: each row by itself tells.
 */
async function putEntries(context: BuildContext, source: IndexSource, { rows, version }: SeenRows): Promise<boolean> {
  const holders = await holdersOf(context, source, rows)
  const own = new Set<string>()
  const changes: Change[] = []
  const preconditions: Precondition[] = [{ kind: 'revision', key: catalogVersionKey, prefix: version }]
  let isTaken = false
  let required: SourceRow | undefined
  await inSlices(entriesOf(rows), ([row, entry]) => {
    const { key, value, isUniqueKey } = entry
    const holder = holders.get(entry)
    // Put by a writer, and kept by all writers since.
    if (holder !== undefined && Buffer.compare(holder, value) === 0) return true
    isTaken ||= holder !== undefined
    if (isUniqueKey) {
      const text = Buffer.from(key).toString('latin1')
      isTaken ||= own.has(text)
      own.add(text)
      preconditions.push({ kind: 'absent', key })
    }
    if (row !== required) preconditions.push(unchanged(row))
    required = row
    changes.push({ kind: 'put', key, value })
    return !isTaken
  })
  if (isTaken) return false
  if (changes.length === 0) return true
  const last = rows.at(-1)
  const { progress } = context
  if (progress !== undefined && last !== undefined) {
    changes.push({ kind: 'put', key: progress.key, value: progress.after(oidOfObjectKey(last.key), rows.length) })
  }
  return (await context.store.commit({ changes, preconditions })).isCommitted
}

function* entriesOf(rows: readonly SourceRow[]): Generator<readonly [SourceRow, SourceEntry]> {
  for (const row of rows) for (const entry of row.entries) yield [row, entry]
}

function unchanged({ key, revision }: SourceRow): Precondition {
  return revision.length === 0 ? { kind: 'present', key } : { kind: 'revision', key, prefix: revision }
}

/** Who holds the keys of a unique index; an entry that names its object in its key can be put whether it is there or not. */
async function holdersOf(
  { store }: BuildContext,
  { duplicate }: IndexSource,
  rows: readonly SourceRow[],
): Promise<ReadonlyMap<SourceEntry, Bytes | undefined>> {
  if (duplicate === undefined) return new Map()
  const asked = Array.from(entriesOf(rows), ([, entry]) => entry).filter(({ isUniqueKey }) => isUniqueKey)
  const { values } = await withSnapshot(store, (snapshot) => snapshot.read(asked.map(({ key }) => key)))
  return new Map(asked.map((entry, i) => [entry, values[i]]))
}

/** A writer was there between: each row by itself, as it is now, so that one conflict redoes one row. */
async function putOneByOne(context: BuildContext, source: IndexSource, seen: readonly SourceRow[]): Promise<void> {
  for (const { key } of seen) {
    await transact(context.store, context.attemptsMax, (transaction) => putOne(context, transaction, source, key))
  }
}

async function putOne(
  context: BuildContext,
  transaction: Transaction,
  source: IndexSource,
  rowKey: Buffer,
): Promise<void> {
  const catalog = await context.catalogAt(transaction.snapshot)
  const readRow = source.reader(catalog)
  const { values } = await transaction.read([rowKey])
  const row = values[0]
  const seen = row && readRow(rowKey, row)
  if (row === undefined || seen === undefined) return
  transaction.requireRevision(catalogVersionKey, catalog.version)
  transaction.requireAsRead(rowKey, seen.revision)
  for (const { key, value, isUniqueKey } of seen.entries) {
    const [holder] = isUniqueKey ? await transaction.readAndRequire([key]) : []
    if (holder === undefined) transaction.put(key, value)
    else if (Buffer.compare(holder, value) !== 0) {
      throw (
        source.duplicate?.(catalog, rowKey, row, oidFromBytes(holder, 0)) ?? unreachable('the key is of one row alone')
      )
    }
  }
}

/** The objects of the indexed class and its subclasses. */
function sourceOfIndex(number: IndexNumber): IndexSource {
  return {
    ranges(snapshot, catalog) {
      return presentRanges(snapshot, coveredClasses(catalog, existing(catalog, number).indexedClass))
    },
    batchBytes: () => indexBuildBatchBytes,
    reader(catalog) {
      const definition = existing(catalog, number)
      return (key, record) => {
        const oid = oidOfObjectKey(key)
        const { format, keyFormat } = formatsOf(catalog, definition, oid, record)
        const entry = makeIndexKeyOfRecord(keyFormat, format, record, oid)
        return rowOfObject(key, record, [{ ...entry, value: oidBytes(oid) }])
      }
    },
    duplicate(catalog, key, record, holder) {
      const { format, keyFormat } = formatsOf(catalog, existing(catalog, number), oidOfObjectKey(key), record)
      return uniqueViolationError(keyFormat, format.cls.name, decodeRecord(format, record).values, holder)
    },
  }
}

export function rowOfObject(key: Bytes, record: Bytes, entries: Iterable<SourceEntry>): SourceRow {
  return { key: Buffer.from(key), revision: Buffer.from(revisionPrefixOf(record)), entries }
}

function formatsOf(
  catalog: Catalog,
  { number, name }: IndexDefinition,
  oid: Oid,
  record: Bytes,
): { readonly format: ClassFormat; readonly keyFormat: IndexKeyFormat } {
  const format = recordFormats(catalog).forShape(shapeNumberOf(record))
  const keyFormat = indexFormatsOf(format).all.find(({ index }) => index.number === number)
  assert(keyFormat !== undefined, `index ${name} covers object ${oid}`)
  return { format, keyFormat }
}

function existing(catalog: Catalog, index: IndexNumber): IndexDefinition {
  const definition = catalog.indexByNumber(index)
  if (definition === undefined) throw indexGone()
  return definition
}

export function indexGone(): AshlarError {
  return new AshlarError('IndexNotFound', 'The index was deleted while it was being built.')
}
