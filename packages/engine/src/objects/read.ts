/** Reads an object as JSON text from its record and its link entries. */
import type { RequestMemory } from '../budget/request-memory.ts'
import { JsonWriter } from '../bytes/json-writer.ts'
import type { AttributeFormat, ClassFormat } from '../records/class-format.ts'
import { linkKind, linkRange } from '../records/link-keys.ts'
import { objectKey } from '../records/object-key.ts'
import { isLongRecord, shapeNumberOf } from '../records/record-format.ts'
import { recordFormats } from '../records/record-formats.ts'
import type { Catalog } from '../schema/catalog.ts'
import type { Awaitable, Bytes, Entry, KeyRange, Snapshot, Store } from '../store/store.ts'
import { openTimeSlice, runYielding, type SliceWatch, type TimeSlice, yieldToNewWork } from '../store/time-slice.ts'
import type { Oid } from '../types/oid.ts'
import { isExpectedLarge, noteLongRecord, readAlone, writeFew } from './long-records.ts'
import { type LinkEntries, LinksJson, manyLinksJson, writeObjectJson, writeObjectStepwise } from './representation.ts'
import { objectNotFound } from './update.ts'

/** Links of one attribute read in the first round trip; longer collections are scanned, yielding to other requests. */
const linksPerRead = 1_000
const noLinks: LinkEntries = new Map()

/** One writer serves all reads, since each fills and empties it synchronously. */
const writer = new JsonWriter()

/** Approximate memory of a link entry while many are held. */
const bufferedEntryBytes = 300

/** Room for attribute names in the text of a long record, besides values. */
const roomForNames = 4_096

/** Gives `use` a memory account for objects with very many links, released when `use` ends. */
export interface MemorySource {
  readonly database: { readonly store: Pick<Store, 'capabilities'> }
  withMemory<T>(use: (memory: RequestMemory) => Promise<T>): Promise<T>
}

interface ObjectRead {
  readonly snapshot: Snapshot
  readonly catalog: Catalog
  readonly oid: Oid
  readonly source: MemorySource
  readonly watch: SliceWatch | undefined
}

/**
 * Returns the representation in UTF-8. `watch`: called during reads of very many links, which it can abort by throwing. Throws
 * ObjectNotFound and the errors of the watch; LimitExceeded and ServerBusy for objects with very many links.
 */
export function readObject(
  snapshot: Snapshot,
  catalog: Catalog,
  oid: Oid,
  source: MemorySource,
  watch?: SliceWatch,
): Awaitable<Buffer> {
  const object: ObjectRead = { snapshot, catalog, oid, source, watch }
  if (isExpectedLarge(catalog, oid)) return readLarge(object)
  const bytes = snapshot.bytesLeftOut?.(objectKey(oid))
  if (bytes === undefined) return readDirectly(object)
  // The first read of this object: the number of records held is limited however many reads run concurrently.
  return bytes.then((recordBytes) => {
    const isLarge = recordBytes !== undefined && noteLongRecord(catalog, oid, recordBytes)
    return isLarge ? readLarge(object) : readDirectly(object)
  })
}

function readLarge(object: ObjectRead): Promise<Buffer> {
  const { snapshot, catalog, oid, source } = object
  const read = async (copyOf: (borrowed: Bytes) => Buffer): Promise<Buffer> => {
    const formats = recordFormats(catalog)
    const found = await snapshot.view(objectKey(oid), (borrowed): SeenRecord => {
      const format = formats.forShape(shapeNumberOf(borrowed))
      return { format, record: copyOf(borrowed), hasLinks: format.linkAttributes.length > 0 }
    })
    // Checking and copying several megabytes uses up a time slice.
    if (isLocal && found !== undefined) await yieldToNewWork()
    return restOf(found, object)
  }
  const isLocal = source.database.store.capabilities.hasSynchronousReads
  if (isLocal) return readAlone(read)
  // A remote store allows overlapping round trips.
  const readOwn = (): Promise<Buffer> => read((borrowed) => Buffer.from(borrowed))
  // A transaction may hold a connection that its other readers wait for.
  const isFirstRead = snapshot.bytesLeftOut?.(objectKey(oid)) !== undefined
  return isFirstRead ? writeFew(readOwn) : readOwn()
}

function readDirectly(object: ObjectRead): Awaitable<Buffer> {
  const { snapshot, catalog, oid } = object
  const formats = recordFormats(catalog)
  const found = snapshot.view(objectKey(oid), (record): Buffer | SeenRecord | typeof large => {
    const format = formats.forShape(shapeNumberOf(record))
    const hasLinks = format.linkAttributes.length > 0
    const isLong = isLongRecord(record)
    if (!hasLinks && !isLong) return shortObjectJson(format, oid, record, noLinks)
    if (isLong && noteLongRecord(catalog, oid, record.length)) return large
    return { format, record: Buffer.from(record), hasLinks }
  })
  if (Buffer.isBuffer(found)) return found
  const finishRead = (seen: Buffer | SeenRecord | typeof large | undefined): Awaitable<Buffer> =>
    seen === large ? readLarge(object) : restOf(seen, object)
  return found instanceof Promise ? found.then(finishRead) : finishRead(found)
}

/** Signals that the object must be read again under the limits for large objects; nothing is copied before. */
const large = Symbol('large')

interface SeenRecord {
  readonly format: ClassFormat
  readonly record: Buffer
  readonly hasLinks: boolean
}

/** Reads the parts that are not in the record or too large for one slice. */
function restOf(seen: Buffer | SeenRecord | undefined, object: ObjectRead): Awaitable<Buffer> {
  if (seen === undefined) throw objectNotFound(object.oid)
  if (Buffer.isBuffer(seen)) return seen
  if (!seen.hasLinks) return objectJson(seen.format, object.oid, seen.record, noLinks)
  return readWithLinks(seen, object)
}

async function readWithLinks(
  { format, record }: SeenRecord,
  { snapshot, oid, source, watch }: ObjectRead,
): Promise<Buffer> {
  const { first, hasMore } = await firstLinks(snapshot, format, oid)
  if (!hasMore) return objectJson(format, oid, record, first)
  return source.withMemory(async (memory) => {
    const links = new Map<number, readonly Entry[] | Buffer>()
    const rest = { memory, slice: openTimeSlice(watch) }
    for (const attribute of format.linkAttributes) {
      links.set(attribute.index, await allLinks(snapshot, attribute, oid, first.get(attribute.index) ?? [], rest))
    }
    return objectJson(format, oid, record, links)
  })
}

/** Builds the representation from a record in the format of its class. A long record must not be borrowed, since its text is written in slices. */
export function objectJson(format: ClassFormat, oid: Oid, record: Bytes, links: LinkEntries): Awaitable<Buffer> {
  return (isLongRecord(record) ? longObjectJson : shortObjectJson)(format, oid, record, links)
}

function shortObjectJson(format: ClassFormat, oid: Oid, record: Bytes, links: LinkEntries): Buffer {
  writer.to.reset()
  writeObjectJson(writer, format, oid, record, links)
  return writer.to.copy()
}

async function longObjectJson(format: ClassFormat, oid: Oid, record: Bytes, links: LinkEntries): Promise<Buffer> {
  // Preallocated for values about as large as in the record: a buffer that doubles would be copied repeatedly.
  const json = new JsonWriter(undefined, record.length + roomForNames)
  await runYielding(writeObjectStepwise(json, format, oid, record, links))
  return json.to.written()
}

interface FirstLinks {
  readonly first: ReadonlyMap<number, readonly Entry[]>
  /** At least one attribute has more links. */
  readonly hasMore: boolean
}

async function firstLinks(snapshot: Snapshot, format: ClassFormat, oid: Oid): Promise<FirstLinks> {
  const ranges = format.linkAttributes.map((attribute) => {
    return { ...visibleRange(oid, attribute), limit: linksPerRead }
  })
  const answer = await snapshot.read([], ranges)
  const first = new Map(format.linkAttributes.map(({ index }, position) => [index, answer.ranges[position] ?? []]))
  return { first, hasMore: answer.ranges.some((entries) => entries.length >= linksPerRead) }
}

/** The resources for reading very many links of an object. */
interface LinksWork {
  readonly memory: RequestMemory
  readonly slice: TimeSlice
}

/** `first`: the first entries of the attribute; all of them if fewer than `linksPerRead`. */
async function allLinks(
  snapshot: Snapshot,
  attribute: AttributeFormat,
  oid: Oid,
  first: readonly Entry[],
  work: LinksWork,
): Promise<readonly Entry[] | Buffer> {
  const last = first.at(-1)
  if (first.length < linksPerRead || last === undefined) return first
  const rest = { ...visibleRange(oid, attribute), from: Buffer.concat([last.key, Buffer.from([0])]) }
  // Map keys may be cut, so the entries are held and sorted.
  if (attribute.linkStorage === 'map') return manyLinksJson(attribute, await allEntries(snapshot, rest, first, work))
  const text = new LinksJson(attribute)
  for (const entry of first) text.add(entry)
  let charged = 0
  const add = (key: Bytes, value: Bytes): void => text.add({ key: key as Buffer, value: value as Buffer })
  for await (const _ of snapshot.scan(rest, add, { slice: work.slice })) {
    // Allows for the writer's buffer, which doubles when full, and for the copies into and within the object's text.
    const bytes = 4 * text.bytes
    work.memory.chargeStatement(bytes - charged)
    charged = bytes
  }
  return text.end()
}

async function allEntries(
  snapshot: Snapshot,
  rest: KeyRange,
  first: readonly Entry[],
  { memory, slice }: LinksWork,
): Promise<Entry[]> {
  const all = [...first]
  const copy = (key: Bytes, value: Bytes): Entry => ({ key: Buffer.from(key), value: Buffer.from(value) })
  for await (const batch of snapshot.scan(rest, copy, { slice })) {
    memory.chargeStatement(batch.length * bufferedEntryBytes)
    for (const entry of batch) all.push(entry)
  }
  return all
}

/** The links that `objectJson` expects for an attribute: text if there are very many. */
export function visibleLinks(
  attribute: AttributeFormat,
  entries: readonly Entry[],
): Awaitable<readonly Entry[] | Buffer> {
  return entries.length < linksPerRead ? entries : manyLinksJson(attribute, entries)
}

export function visibleRange(oid: Oid, attribute: AttributeFormat): KeyRange {
  return linkRange(oid, attribute.attribute.number, linkKindOf(attribute))
}

function linkKindOf(attribute: AttributeFormat): number {
  if (attribute.linkStorage === 'list') return linkKind.position
  return attribute.linkStorage === 'set' ? linkKind.target : linkKind.name
}
