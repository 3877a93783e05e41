/** Reads an object as JSON text, from its record and its link entries. */
import { JsonWriter } from '../bytes/json-writer.ts'
import type { AttributeFormat, ClassFormat } from '../records/class-format.ts'
import { linkKind, linkRange } from '../records/link-keys.ts'
import { objectKey } from '../records/object-key.ts'
import { shapeNumberOf } from '../records/record-format.ts'
import { recordFormats } from '../records/record-formats.ts'
import type { Catalog } from '../schema/catalog.ts'
import { mapAwaitable } from '../store/awaitable.ts'
import { withRest } from '../store/read-range.ts'
import type { Awaitable, Bytes, Entry, Snapshot } from '../store/store.ts'
import type { Oid } from '../types/oid.ts'
import { type LinkEntries, manyLinksJson, writeObjectJson } from './representation.ts'
import { objectNotFound } from './update.ts'

/** Links of one attribute read in the first trip; longer collections are scanned, letting other requests in between. */
const linksReadAtOnce = 1_000
const noLinks: LinkEntries = new Map()

/** One writer serves all reads: each fills and empties it without a pause. */
const writer = new JsonWriter()

/** The representation in UTF-8. Throws ObjectNotFound. */
export function readObject(snapshot: Snapshot, catalog: Catalog, oid: Oid): Awaitable<Buffer> {
  const formats = recordFormats(catalog)
  const found = snapshot.view(objectKey(oid), (record) => {
    const format = formats.ofShape(shapeNumberOf(record))
    if (format.linkAttributes.length === 0) return objectJson(format, oid, record, noLinks)
    return { format, record: Buffer.from(record) }
  })
  return mapAwaitable(found, (seen) => {
    if (seen === undefined) throw objectNotFound(oid)
    return Buffer.isBuffer(seen) ? seen : readWithLinks(snapshot, seen.format, oid, seen.record)
  })
}

async function readWithLinks(snapshot: Snapshot, format: ClassFormat, oid: Oid, record: Bytes): Promise<Buffer> {
  return objectJson(format, oid, record, await readLinks(snapshot, format, oid))
}

/** The representation, from a record under the format of its class. */
export function objectJson(format: ClassFormat, oid: Oid, record: Bytes, links: LinkEntries): Buffer {
  writer.to.reset()
  writeObjectJson(writer, format, oid, record, links)
  return writer.to.copy()
}

async function readLinks(snapshot: Snapshot, format: ClassFormat, oid: Oid): Promise<LinkEntries> {
  const ranges = format.linkAttributes.map((attribute) => {
    return { ...linkRange(oid, attribute.attribute.number, shownKind(attribute)), limit: linksReadAtOnce }
  })
  const answer = await snapshot.read([], ranges)
  const links = new Map<number, readonly Entry[] | Buffer>()
  for (const [position, attribute] of format.linkAttributes.entries()) {
    const first = answer.ranges[position] ?? []
    const entries = await withRest(snapshot, ranges[position] ?? {}, first, linksReadAtOnce)
    links.set(attribute.index, await shownLinks(attribute, entries))
  }
  return links
}

/** What `objectJson` takes for a link attribute: of very many entries, their text. */
export function shownLinks(
  attribute: AttributeFormat,
  entries: readonly Entry[],
): Awaitable<readonly Entry[] | Buffer> {
  return entries.length < linksReadAtOnce ? entries : manyLinksJson(attribute, entries)
}

function shownKind(attribute: AttributeFormat): number {
  if (attribute.linkStorage === 'list') return linkKind.position
  return attribute.linkStorage === 'set' ? linkKind.target : linkKind.name
}
