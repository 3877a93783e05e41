/** Writes changes as JSON, with values as in objects. */
import { JsonWriter } from '../bytes/json-writer.ts'
import { mapKeyCodec } from '../links/map-entries.ts'
import type { AttributeFormat, ClassFormat } from '../records/class-format.ts'
import { isFollowing } from '../records/computed.ts'
import { commitIdOf, recordHeaderBytes, shapeNumberOf } from '../records/record-format.ts'
import type { Bytes } from '../store/store.ts'
import type { Matched } from './change-filter.ts'
import type { CatalogChange, LinkEntryChange, RecordChange } from './decode-change.ts'

export interface ChangeHead {
  readonly position: string
  /** Milliseconds since 1970. */
  readonly at: number
}

export type Include = 'values' | 'keys'

export function recordChangeJson(
  head: ChangeHead,
  { oid, format, before, after, changed, only }: RecordChange,
  matched: Matched | 'all',
  include: Include,
): Buffer {
  const change = before === undefined ? 'created' : after === undefined ? 'deleted' : 'updated'
  const revision = Buffer.from(commitIdOf((after ?? before) as Bytes)).toString('hex')
  const json = openedJson(head, { change, class: format.cls.name, oid, revision })
  if (matched !== 'all') field(json, 'matched', matched)
  if (change === 'updated')
    field(
      json,
      'attributes',
      changed.map(({ attribute }) => attribute.outputName),
    )
  if (include === 'values') {
    if (before !== undefined) writeValues(json, 'before', format, before, change === 'updated' ? changed : only)
    if (after !== undefined) writeValues(json, 'after', format, after, change === 'updated' ? changed : only)
  }
  json.ascii('}')
  return json.to.copy()
}

/** `only`: a subset of the attributes; by default all of them. */
function writeValues(
  json: JsonWriter,
  name: 'before' | 'after',
  format: ClassFormat,
  record: Bytes,
  only: readonly AttributeFormat[] | undefined,
): void {
  json.ascii(`,"${name}":{`)
  const shape = shapeNumberOf(record)
  let isFirst = true
  for (const one of only ?? format.attributes) {
    const { attribute, index, linkStorage } = one
    if (linkStorage !== undefined || isFollowing(attribute)) continue
    text(json, `${isFirst ? '' : ','}${JSON.stringify(attribute.outputName)}:`)
    isFirst = false
    format.writeValueJson(json, record, recordHeaderBytes, shape, index)
  }
  json.ascii('}')
}

export function linkChangeJson(head: ChangeHead, { change, attribute, format }: LinkEntryChange): Buffer {
  const { kind, owner, target, key } = change
  const json = openedJson(head, {
    change: kind === 'added' ? 'linked' : 'unlinked',
    class: format.cls.name,
    oid: owner,
    attribute: attribute.attribute.outputName,
  })
  if (target !== undefined) field(json, 'target', target)
  if (attribute.linkStorage === 'map') field(json, 'key', mapKeyCodec(attribute).toJson(key))
  json.ascii('}')
  return json.to.copy()
}

export function schemaChangeJson(head: ChangeHead, parts: readonly CatalogChange[]): Buffer {
  const classes = new Set(parts.flatMap(({ class: cls }) => (cls === undefined || cls.isDeleted ? [] : [cls.name])))
  const deletedClasses = parts.flatMap(({ class: cls }) => (cls?.isDeleted === true ? [cls.name] : []))
  const indexes = parts.flatMap(({ index }) => (index === undefined ? [] : [index.name]))
  const isIndexDeleted = parts.some(({ removedIndex }) => removedIndex !== undefined)
  const sequences = parts.flatMap(({ sequence }) => (sequence === undefined ? [] : [sequence.name]))
  const isSequenceDeleted = parts.some(({ removedSequence }) => removedSequence !== undefined)
  const json = openedJson(head, { change: 'schema', classes: [...classes], deletedClasses, indexes, isIndexDeleted })
  if (sequences.length > 0) field(json, 'sequences', sequences)
  if (isSequenceDeleted) field(json, 'isSequenceDeleted', true)
  json.ascii('}')
  return json.to.copy()
}

function openedJson({ position, at }: ChangeHead, fields: Readonly<Record<string, unknown>>): JsonWriter {
  const json = new JsonWriter()
  const object = JSON.stringify({ position, at: new Date(at).toISOString(), ...fields })
  text(json, object.slice(0, -1))
  return json
}

function field(json: JsonWriter, name: string, value: unknown): void {
  text(json, `,"${name}":${JSON.stringify(value)}`)
}

function text(json: JsonWriter, written: string): void {
  json.raw(Buffer.from(written))
}
