/** An object as replies show it (REST interface, section 4): flat, in schema order, superclass attributes first. */

import { ByteWriter } from '../bytes/byte-writer.ts'
import type { JsonWriter } from '../bytes/json-writer.ts'
import { linkHeaderBytes } from '../links/link-keys.ts'
import type { MapEntry } from '../links/map-entries.ts'
import { mapKeyCodec, readMapEntries } from '../links/map-entries.ts'
import type { AttributeFormat, ClassFormat } from '../records/class-format.ts'
import { recordHeaderBytes, shapeNumberOf } from '../records/record-format.ts'
import type { Bytes, Entry } from '../store/store.ts'
import type { Codec } from '../types/logical-type.ts'
import { writeOidJson } from '../types/oid.ts'

/** The link entries of each link attribute, in order, by the attribute's position in the class. */
export type LinkEntries = ReadonlyMap<number, readonly Entry[]>

const openings = new WeakMap<ClassFormat, Buffer>()

/** Appends `{"__class__":…,"__identifier__":…, …}`. `oid`: text. */
export function writeObjectJson(
  json: JsonWriter,
  format: ClassFormat,
  oid: string,
  record: Bytes,
  links: LinkEntries,
): void {
  json.raw(openingOf(format))
  json.ascii(oid)
  json.ascii('"')
  format.writeAttributesJson(json, record, recordHeaderBytes, shapeNumberOf(record), (attribute) => {
    writeLinksJson(json, attribute, links.get(attribute.index) ?? [])
  })
  json.ascii('}')
}

function openingOf(format: ClassFormat): Buffer {
  let opening = openings.get(format)
  if (opening === undefined) {
    opening = Buffer.from(`{"__class__":${JSON.stringify(format.cls.name)},"__identifier__":"`)
    openings.set(format, opening)
  }
  return opening
}

function writeLinksJson(json: JsonWriter, attribute: AttributeFormat, entries: readonly Entry[]): void {
  if (attribute.linkForm === 'map') {
    writeMapJson(json, mapKeyCodec(attribute), readMapEntries(attribute, entries))
    return
  }
  json.ascii('[')
  for (const [position, { key, value }] of entries.entries()) {
    if (position > 0) json.ascii(',')
    if (attribute.linkForm === 'set') writeOidJson(json, key, linkHeaderBytes)
    else writeOidJson(json, value, 0)
  }
  json.ascii(']')
}

const keyBytes = new ByteWriter(64)

function writeMapJson(json: JsonWriter, keyCodec: Codec, entries: readonly MapEntry[]): void {
  json.ascii('{')
  for (const [position, { key, target }] of entries.entries()) {
    if (position > 0) json.ascii(',')
    keyBytes.reset()
    keyCodec.write(key, keyBytes)
    keyCodec.writeJson(keyBytes.bytes, 0, keyBytes.length, json)
    json.ascii(`:"${target}"`)
  }
  json.ascii('}')
}
