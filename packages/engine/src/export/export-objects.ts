/** Exports all objects of a federated database, or of a class and its subclasses, in OID order from one snapshot (contract 2.2.25). */
import { JsonWriter } from '../bytes/json-writer.ts'
import type { CancelSignal } from '../cancel-signal.ts'
import { AshlarError, truncateForMessage } from '../errors.ts'
import { exportedLinksMax, exportRangesMax } from '../limits.ts'
import { type MemorySource, objectJson, readObject, visibleRange } from '../objects/read.ts'
import { writeRecordJson } from '../objects/representation.ts'
import type { QueryWatch, RowChunk, RowChunks } from '../query/query-request.ts'
import type { AttributeFormat, ClassFormat } from '../records/class-format.ts'
import { isFollowing } from '../records/computed.ts'
import { listContainers } from '../records/container-registry.ts'
import { containerExtent, objectKey, oidOfObjectKey } from '../records/object-key.ts'
import { shapeNumberOf } from '../records/record-format.ts'
import { recordFormats } from '../records/record-formats.ts'
import type { Catalog, SchemaClass } from '../schema/catalog.ts'
import { representIndex } from '../schema/index-definition.ts'
import { didYouMean } from '../schema/names.ts'
import { type ClassRepresentation, representClass } from '../schema/representation.ts'
import { type ListedSequence, listSequences } from '../sequences/list-sequences.ts'
import type { Bytes, Entry, KeyRange, Snapshot, SnapshotOptions } from '../store/store.ts'
import { openTimeSlice } from '../store/time-slice.ts'
import { lateReadError, withLastingSnapshot } from '../store/with-snapshot.ts'
import { checkedOid, type Oid } from '../types/oid.ts'
import type { OpenDatabase } from '../write/open-database.ts'

export interface ExportRequest {
  /** Full name or class number of a referenceable class; undefined for all classes. */
  readonly class?: string | undefined
  /** Only objects after this OID. */
  readonly after?: string | undefined
  readonly signal?: CancelSignal | undefined
  readonly watch?: QueryWatch | undefined
}

/** The header of an export and its objects. The caller must iterate `objects`, which holds the snapshot open. */
export interface Export {
  /** By class number, without deleted ones. */
  readonly classes: readonly ClassRepresentation[]
  /** Only ready indexes. */
  readonly indexes: readonly ReturnType<typeof representIndex>[]
  /** With their next numbers. Empty for callers with access to only part of the database, since sequences belong to the whole. */
  readonly sequences: readonly ListedSequence[]
  /** The attributes of the class in schema order, named as in representations; attributes of embedded objects with dots. */
  readonly columns: readonly string[]
  /** The same for the class and its subclasses, unordered. */
  readonly allColumns: ReadonlySet<string>
  /** Those of type json, by the name of the class or subclass. */
  readonly jsonColumns: ReadonlyMap<string, ReadonlySet<string>>
  readonly objects: RowChunks
}

const newline = 0x0a

/** Throws ClassNotFound, ClassNotReferenceable, MalformedOid. */
export async function exportObjects(
  database: Pick<OpenDatabase, 'store' | 'catalogs'>,
  source: MemorySource,
  request: ExportRequest,
): Promise<Export> {
  const { store, catalogs } = database
  const after = request.after === undefined ? undefined : checkedOid(request.after)
  const options: SnapshotOptions = { isolation: 'readOnly', watch: request.watch }
  const begin = async (snapshot: Snapshot, snapshotOptions: SnapshotOptions): Promise<Export> => {
    const catalog = await catalogs.at(snapshot)
    const cls = request.class === undefined ? undefined : classNamed(catalog, request.class)
    const classes = cls === undefined ? catalog.classes : [cls, ...cls.subclasses]
    const formats = recordFormats(catalog)
    const reading = new ObjectReading(snapshot, catalog, source, request)
    const late = (error: unknown): unknown => lateReadError(store, snapshotOptions, error)
    return {
      classes: catalog.classes.map((one) => representClass(one, catalog)),
      // Indexes of unique attributes are created with their attributes.
      indexes: catalog.indexes
        .filter(({ state, attribute }) => state === 'ready' && attribute === undefined)
        .map((index) => representIndex(index, catalog)),
      sequences: catalog.permitsOnDatabase?.('define') === false ? [] : await listSequences(catalog, snapshot),
      columns: cls === undefined ? [] : columnsOf(formats.of(cls)),
      allColumns: new Set(cls === undefined ? [] : classes.flatMap((one) => columnsOf(formats.of(one)))),
      jsonColumns: new Map(
        cls === undefined ? [] : classes.map((one) => [one.name, new Set(columnsOf(formats.of(one), isJson))]),
      ),
      objects: releasing(snapshot, reading.chunks(classes, after), late),
    }
  }
  return withLastingSnapshot(store, { begin }, options)
}

function classNamed(catalog: Catalog, name: string): SchemaClass {
  const cls = catalog.findClass(name)
  if (cls === undefined) {
    const names = catalog.classes.map((one) => one.name)
    throw new AshlarError('ClassNotFound', `There is no class '${truncateForMessage(name)}'.${didYouMean(name, names)}`)
  }
  if (cls.isReferenceable) return cls
  const message = `Class ${cls.name} is embeddable: its objects exist only within other objects.`
  throw new AshlarError('ClassNotReferenceable', message)
}

function columnsOf({ attributes }: ClassFormat, isIncluded = all, prefix = ''): string[] {
  return attributes.flatMap((one) => {
    if (isFollowing(one.attribute)) return []
    const name = `${prefix}${one.attribute.outputName}`
    if (one.embedded !== undefined) return columnsOf(one.embedded, isIncluded, `${name}.`)
    return isIncluded(one) ? [name] : []
  })
}

function all(_attribute: AttributeFormat): boolean {
  return true
}

function isJson({ attribute: { spec } }: AttributeFormat): boolean {
  return spec.logicalType === 'json'
}

async function* releasing(
  snapshot: Snapshot,
  chunks: AsyncGenerator<RowChunk>,
  late: (error: unknown) => unknown,
): AsyncGenerator<RowChunk> {
  try {
    yield* chunks
  } catch (error) {
    throw late(error)
  } finally {
    snapshot.release()
  }
}

interface StoredObject {
  readonly key: Buffer
  readonly record: Buffer
}

class ObjectReading {
  private readonly snapshot: Snapshot
  private readonly catalog: Catalog
  private readonly source: MemorySource
  private readonly request: ExportRequest

  constructor(snapshot: Snapshot, catalog: Catalog, source: MemorySource, request: ExportRequest) {
    this.snapshot = snapshot
    this.catalog = catalog
    this.source = source
    this.request = request
  }

  async *chunks(classes: readonly SchemaClass[], after: Oid | undefined): AsyncGenerator<RowChunk> {
    const { snapshot, request } = this
    const numbers = new Set(classes.filter(({ isReferenceable }) => isReferenceable).map(({ number }) => number))
    const behind = after === undefined ? undefined : Buffer.concat([objectKey(after), Buffer.of(0)])
    const slice = openTimeSlice(request.watch)
    const stored = (key: Bytes, record: Bytes): StoredObject => {
      return { key: Buffer.from(key), record: Buffer.from(record) }
    }
    for (const { database, container } of await listContainers(snapshot, numbers)) {
      const extent = containerExtent(database, container)
      if (behind !== undefined && Buffer.compare(behind, extent.to) >= 0) continue
      const from = behind !== undefined && Buffer.compare(behind, extent.from) > 0 ? behind : extent.from
      for await (const batch of snapshot.scan({ from, to: extent.to }, stored)) {
        request.signal?.throwIfAborted()
        if (batch.length > 0) yield await this.chunkOf(batch)
        const pause = slice.yieldIfDue()
        if (pause !== undefined) await pause
      }
    }
  }

  private async chunkOf(batch: readonly StoredObject[]): Promise<RowChunk> {
    const formats = recordFormats(this.catalog)
    const json = new JsonWriter()
    const starts: number[] = []
    const links = await this.linksOf(batch)
    for (const [i, { key, record }] of batch.entries()) {
      const format = formats.forShape(shapeNumberOf(record))
      json.byte(newline)
      starts.push(json.to.length)
      const own = links[i]
      if (own === undefined) writeRecordJson(json, format, key, record)
      else json.to.writeBytes(await this.objectOf(format, oidOfObjectKey(key), record, own))
    }
    return { bytes: json.to.written(), starts }
  }

  private async objectOf(format: ClassFormat, oid: Oid, record: Buffer, own: Links): Promise<Buffer> {
    if (own === 'many') return readObject(this.snapshot, this.catalog, oid, this.source)
    return objectJson(format, oid, record, own)
  }

  /** By position of the object; undefined if its class has no links. Reads in few round trips. */
  private async linksOf(batch: readonly StoredObject[]): Promise<(Links | undefined)[]> {
    const formats = recordFormats(this.catalog)
    const all: (Links | undefined)[] = []
    const reads: { readonly position: number; readonly index: number; readonly range: KeyRange }[] = []
    for (const [position, { key, record }] of batch.entries()) {
      const { linkAttributes } = formats.forShape(shapeNumberOf(record))
      if (linkAttributes.length === 0) continue
      all[position] = new Map()
      for (const attribute of linkAttributes) {
        reads.push({ position, index: attribute.index, range: visibleRange(oidOfObjectKey(key), attribute) })
      }
    }
    for (let at = 0; at < reads.length; at += exportRangesMax) {
      const part = reads.slice(at, at + exportRangesMax)
      const { ranges } = await this.snapshot.read(
        [],
        part.map(({ range }) => ({ ...range, limit: exportedLinksMax })),
      )
      for (const [i, { position, index }] of part.entries()) {
        const entries = ranges[i] ?? []
        const links = all[position]
        if (entries.length >= exportedLinksMax) all[position] = 'many'
        else if (links instanceof Map) links.set(index, entries)
      }
    }
    return all
  }
}

/** Links by attribute index; `many` means they are read one object at a time. */
type Links = Map<number, readonly Entry[]> | 'many'
