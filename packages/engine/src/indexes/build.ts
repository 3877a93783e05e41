/** Builds an index over existing objects in batches, during concurrent writes: the entries of newer writes are maintained by their writers. */

import { setImmediate as nextIteration } from 'node:timers/promises'
import { catalogVersionKey } from '../bytes/key-space.ts'
import type { CancelSignal } from '../cancel-signal.ts'
import { AshlarError, assert } from '../errors.ts'
import { indexBuildBatchBytes } from '../limits.ts'
import type { ClassFormat } from '../records/class-format.ts'
import { keyAfter, objectKey, oidOfObjectKey } from '../records/object-key.ts'
import { decodeRecord, revisionPrefixOf, shapeNumberOf } from '../records/record-format.ts'
import { recordFormats } from '../records/record-formats.ts'
import { presentRanges } from '../records/scan-objects.ts'
import type { Catalog } from '../schema/catalog.ts'
import type { IndexDefinition, IndexNumber } from '../schema/class-definition.ts'
import { readPart } from '../store/read-range.ts'
import type { Bytes, Change, KeyRange, Precondition, Snapshot, Store } from '../store/store.ts'
import { awaitPendingCommits, withSnapshot } from '../store/with-snapshot.ts'
import { transact } from '../transaction/transact.ts'
import type { Transaction } from '../transaction/transaction.ts'
import { type Oid, oidBytes, oidFromBytes } from '../types/oid.ts'
import type { ClassNumber } from '../types/type-spec.ts'
import { makeIndexKeyOfRecord } from './index-key.ts'
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

/** An object as of one snapshot. The record is not retained, since a commit covers many objects of any size. */
interface SeenObject {
  readonly oid: Oid
  readonly revision: Buffer
  readonly key: Buffer
  readonly isUniqueKey: boolean
}

interface SeenObjects {
  readonly objects: readonly SeenObject[]
  readonly version: Bytes
  /** The range has no further objects. */
  readonly isComplete: boolean
}

/**
 * Adds the entries of all objects of the indexed class and its subclasses. Throws UniqueViolation for two objects with equal full key values,
 * IndexNotFound if the index was deleted during the build, and the signal's reason.
 */
export async function buildIndexEntries(
  context: BuildContext,
  index: IndexNumber,
  signal: CancelSignal | undefined,
): Promise<void> {
  for (const { from, to } of await coveredRanges(context, index)) {
    let next: Buffer | undefined = laterOf(from, context.progress?.last)
    while (next !== undefined) {
      signal?.throwIfAborted()
      const seen: SeenObjects = await readBatch(context, index, { from: next, to })
      const last = seen.objects.at(-1)
      if (last !== undefined && !(await putEntries(context, seen))) await putOneByOne(context, index, seen.objects)
      next = last === undefined || seen.isComplete ? undefined : keyAfter(last.oid)
      await nextIteration()
    }
  }
}

function laterOf(from: Buffer, last: Oid | undefined): Buffer {
  const next = last === undefined ? from : keyAfter(last)
  return Buffer.compare(next, from) > 0 ? next : from
}

/**
 * The objects that exist now, by container. Objects created later come with their entries, so the build does not chase a growing class. Objects of
 * writers that did not know the index must be included, so none of their commits may still be in progress.
 */
async function coveredRanges(context: BuildContext, index: IndexNumber): Promise<{ from: Buffer; to: Buffer }[]> {
  await awaitPendingCommits(context.store)
  return withSnapshot(context.store, async (snapshot) => {
    const catalog = await context.catalogAt(snapshot)
    const definition = existing(catalog, index)
    const cls = catalog.classByNumber(definition.indexedClass)
    const classes = new Set<ClassNumber>([definition.indexedClass])
    for (const subclass of cls?.subclasses ?? []) classes.add(subclass.number)
    return presentRanges(snapshot, classes)
  })
}

/** Under read skew, the catalog can be older than a record and lack its shape: then everything is read again. */
async function readBatch(context: BuildContext, index: IndexNumber, range: KeyRange): Promise<SeenObjects> {
  const read = async (snapshot: Snapshot): Promise<SeenObjects> => {
    const catalog = await context.catalogAt(snapshot)
    const definition = existing(catalog, index)
    const seen = (key: Bytes, record: Bytes): SeenObject => {
      const oid = oidOfObjectKey(key)
      const entry = entryOf(catalog, definition, oid, record)
      return { oid, revision: Buffer.from(revisionPrefixOf(record)), key: entry.key, isUniqueKey: entry.isUniqueKey }
    }
    const bounds = { entriesMax: context.batchObjects, bytesMax: indexBuildBatchBytes }
    const { results, isComplete } = await readPart(snapshot, range, seen, bounds)
    return { objects: results, version: catalog.version, isComplete }
  }
  return withSnapshot(context.store, read, { isolation: 'readOnly' })
}

/**
 * Commits the whole batch on condition that all records and the catalog are unchanged: otherwise the entry of an old value could be added after a
 * writer's new one. Returns false, with nothing written, if one has changed or a unique key is taken; its holder may have got the key after the
 * read, so objects are then retried one by one.
 */
async function putEntries(context: BuildContext, { objects, version }: SeenObjects): Promise<boolean> {
  const holders = await withSnapshot(context.store, (snapshot) => holdersOf(snapshot, objects))
  const own = new Set<string>()
  const changes: Change[] = []
  const preconditions: Precondition[] = [{ kind: 'revision', key: catalogVersionKey, prefix: version }]
  for (const [position, { oid, revision, key, isUniqueKey }] of objects.entries()) {
    const holder = holders[position]
    // Added by a writer, and maintained by all writers since.
    if (holder === oid) continue
    if (holder !== undefined || own.has(key.toString('latin1'))) return false
    if (isUniqueKey) {
      preconditions.push({ kind: 'absent', key })
      own.add(key.toString('latin1'))
    }
    preconditions.push({ kind: 'revision', key: objectKey(oid), prefix: revision })
    changes.push({ kind: 'put', key, value: oidBytes(oid) })
  }
  if (changes.length === 0) return true
  const last = objects.at(-1)
  const { progress } = context
  if (progress !== undefined && last !== undefined) {
    changes.push({ kind: 'put', key: progress.key, value: progress.after(last.oid, objects.length) })
  }
  return (await context.store.commit({ changes, preconditions })).isCommitted
}

/** Returns the holders of unique keys. An entry with its OID in the key can be put in any case. */
async function holdersOf(snapshot: Snapshot, entries: readonly SeenObject[]): Promise<(Oid | undefined)[]> {
  const { values } = await snapshot.read(entries.filter(({ isUniqueKey }) => isUniqueKey).map(({ key }) => key))
  let read = 0
  return entries.map(({ isUniqueKey }) => {
    const stored = isUniqueKey ? values[read++] : undefined
    return stored === undefined ? undefined : oidFromBytes(stored, 0)
  })
}

/** After a conflict, indexes each object separately in its current state, so that another conflict repeats one object only. */
async function putOneByOne(context: BuildContext, index: IndexNumber, seen: readonly SeenObject[]): Promise<void> {
  for (const { oid } of seen) {
    await transact(context.store, context.attemptsMax, (transaction) => putOne(context, transaction, index, oid))
  }
}

async function putOne(context: BuildContext, transaction: Transaction, index: IndexNumber, oid: Oid): Promise<void> {
  const catalog = await context.catalogAt(transaction.snapshot)
  const definition = existing(catalog, index)
  const { values } = await transaction.read([objectKey(oid)])
  const record = values[0]
  if (record === undefined) return
  const { key, isUniqueKey, format } = entryOf(catalog, definition, oid, record)
  transaction.requireRevision(catalogVersionKey, catalog.version)
  transaction.requireRevision(objectKey(oid), revisionPrefixOf(record))
  if (isUniqueKey) {
    const [stored] = await transaction.readAndRequire([key])
    const holder = stored === undefined ? undefined : oidFromBytes(stored, 0)
    if (holder === oid) return
    if (holder !== undefined) throw duplicate(catalog, definition, format, oid, record, holder)
  }
  transaction.put(key, oidBytes(oid))
}

interface IndexEntry {
  readonly key: Buffer
  readonly isUniqueKey: boolean
  readonly format: ClassFormat
}

function entryOf(catalog: Catalog, definition: IndexDefinition, oid: Oid, record: Bytes): IndexEntry {
  const format = recordFormats(catalog).forShape(shapeNumberOf(record))
  const keyFormat = indexFormatsOf(format).all.find(({ index }) => index.number === definition.number)
  assert(keyFormat !== undefined, `index ${definition.name} covers object ${oid}`)
  return { ...makeIndexKeyOfRecord(keyFormat, format, record, oid), format }
}

function duplicate(
  catalog: Catalog,
  definition: IndexDefinition,
  format: ClassFormat,
  oid: Oid,
  record: Bytes,
  holder: Oid,
): AshlarError {
  const keyFormat = indexFormatsOf(format).all.find(({ index }) => index.number === definition.number)
  assert(keyFormat !== undefined, `index ${definition.name} covers object ${oid}`)
  const { values } = decodeRecord(recordFormats(catalog).forShape(shapeNumberOf(record)), record)
  return uniqueViolationError(keyFormat, format.cls.name, values, holder)
}

function existing(catalog: Catalog, index: IndexNumber): IndexDefinition {
  const definition = catalog.indexByNumber(index)
  if (definition === undefined) {
    throw new AshlarError('IndexNotFound', 'The index was deleted while it was being built.')
  }
  return definition
}
