/** Builds an index over existing rows in batches, during concurrent writes. Writers maintain the entries of their own rows, so each older row is read once. */

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

/** The rows from which an index is built. Its functions throw IndexNotFound for a catalog without the index. */
export interface IndexSource {
  /** The ranges that contain the present rows. */
  ranges(snapshot: Snapshot, catalog: Catalog): ReturnType<typeof presentRanges>
  /** The maximum size of the rows of one commit. */
  batchBytes(catalog: Catalog): number
  /** Reads a borrowed row, which may have no entries. */
  reader(catalog: Catalog): (key: Bytes, row: Bytes) => SourceRow | undefined
  /** The error for a key that another object has; only for indexes that may be unique. */
  duplicate?(catalog: Catalog, key: Bytes, row: Bytes, holder: Oid): AshlarError
}

/** A row as of one snapshot. Its content is not retained, since a commit covers many rows of any size. */
export interface SourceRow {
  readonly key: Buffer
  /** A prefix of the row that changes if its entries do. */
  readonly revision: Buffer
  /** Entries without unique keys are iterated once: those of a long list are generated lazily. */
  readonly entries: Iterable<SourceEntry>
}

export interface SourceEntry {
  readonly key: Bytes
  readonly value: Bytes
  readonly isUniqueKey: boolean
}

/** The rows of one commit, as of one snapshot. */
interface SeenRows {
  readonly rows: readonly SourceRow[]
  /** The version of the catalog from which their keys were derived. */
  readonly version: Bytes
  /** The key of the last row read. */
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
 * The rows that exist now, by container. Rows created later come with their entries, so the build does not chase a growing class. Rows of writers
 * that did not know the index must be included, so none of their commits may still be in progress.
 */
async function coveredRanges(context: BuildContext, source: IndexSource): ReturnType<typeof presentRanges> {
  await awaitPendingCommits(context.store)
  return withSnapshot(context.store, async (snapshot) => source.ranges(snapshot, await context.catalogAt(snapshot)))
}

export function coveredClasses(catalog: Catalog, cls: ClassNumber): Set<ClassNumber> {
  const subclasses = catalog.classByNumber(cls)?.subclasses ?? []
  return new Set([cls, ...subclasses.map(({ number }) => number)])
}

/** Under read skew, the catalog can be older than a record and lack its shape: then everything is read again. */
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
 * Commits the batch on condition that all rows and the catalog are unchanged: otherwise the entry of an old value could be added after a writer's
 * new one. Returns false, with nothing written, if one has changed or a unique key is taken; its holder may have got the key after the read, so
 * rows are then retried one by one.
 */
async function putEntries(context: BuildContext, source: IndexSource, { rows, version }: SeenRows): Promise<boolean> {
  const holders = await holdersOf(context, source, rows)
  const own = new Set<string>()
  const changes: Change[] = []
  const preconditions: Precondition[] = [{ kind: 'revision', key: catalogVersionKey, prefix: version }]
  let isDuplicate = false
  let required: SourceRow | undefined
  await inSlices(entriesOf(rows), ([row, entry]) => {
    const { key, value, isUniqueKey } = entry
    const holder = holders.get(entry)
    // Added by a writer, and maintained by all writers since.
    if (holder !== undefined && Buffer.compare(holder, value) === 0) return true
    isDuplicate ||= holder !== undefined
    if (isUniqueKey) {
      const text = Buffer.from(key).toString('latin1')
      isDuplicate ||= own.has(text)
      own.add(text)
      preconditions.push({ kind: 'absent', key })
    }
    if (row !== required) preconditions.push(unchanged(row))
    required = row
    changes.push({ kind: 'put', key, value })
    return !isDuplicate
  })
  if (isDuplicate) return false
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

/** Returns the holders of unique keys. An entry with its OID in the key can be put in any case. */
async function holdersOf(
  { store }: BuildContext,
  { duplicate }: IndexSource,
  rows: readonly SourceRow[],
): Promise<ReadonlyMap<SourceEntry, Bytes | undefined>> {
  if (duplicate === undefined) return new Map()
  const unique = Array.from(entriesOf(rows), ([, entry]) => entry).filter(({ isUniqueKey }) => isUniqueKey)
  const { values } = await withSnapshot(store, (snapshot) => snapshot.read(unique.map(({ key }) => key)))
  return new Map(unique.map((entry, i) => [entry, values[i]]))
}

/** After a conflict, indexes each row separately in its current state, so that another conflict repeats one row only. */
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
