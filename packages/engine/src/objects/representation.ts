/** The representation of an object in replies (contract 4.1.5): flat, in schema order, superclass attributes first. */

import { ByteWriter } from '../bytes/byte-writer.ts'
import { JsonWriter } from '../bytes/json-writer.ts'
import { EncodedText } from '../bytes/prepared-text.ts'
import { unreachable } from '../errors.ts'
import { inKeyOrder, type MapEntry, mapKeyCodec, readMapEntries, readMapEntry } from '../links/map-entries.ts'
import type { AttributeFormat, ClassFormat } from '../records/class-format.ts'
import { linkHeaderBytes } from '../records/link-keys.ts'
import { objectKeyHeaderBytes } from '../records/object-key.ts'
import { recordHeaderBytes, shapeNumberOf } from '../records/record-format.ts'
import type { Bytes, Entry } from '../store/store.ts'
import { inSlices } from '../store/time-slice.ts'
import type { Codec, StepwiseWork } from '../types/logical-type.ts'
import { writeOidJson, writeOidText } from '../types/oid.ts'

/** Link entries in order, by the index of the link attribute in the class; JSON text if there are very many. */
export type LinkEntries = ReadonlyMap<number, readonly Entry[] | Buffer>

const openings = new WeakMap<ClassFormat, EncodedText>()

/** Appends `{"__class__":…,"__identifier__":…, …}`. `oid`: as text. */
export function writeObjectJson(
  json: JsonWriter,
  format: ClassFormat,
  oid: string,
  record: Bytes,
  links: LinkEntries,
): void {
  writeOpening(json, format, oid)
  format.writeAttributesJson(json, record, recordHeaderBytes, shapeNumberOf(record), (attribute) => {
    writeLinksJson(json, attribute, links.get(attribute.index) ?? [])
  })
  json.ascii('}')
}

/** Like `writeObjectJson`, with yields within long values. */
export function* writeObjectStepwise(
  json: JsonWriter,
  format: ClassFormat,
  oid: string,
  record: Bytes,
  links: LinkEntries,
): StepwiseWork<void> {
  writeOpening(json, format, oid)
  const shape = shapeNumberOf(record)
  yield* format.writeAttributesStepwise(json, record, recordHeaderBytes, shape, (attribute) => {
    writeLinksJson(json, attribute, links.get(attribute.index) ?? [])
  })
  json.ascii('}')
}

/** Like `writeObjectJson`, for a class without link attributes. `key`: of the record, contains the OID. */
export function writeRecordJson(json: JsonWriter, format: ClassFormat, key: Bytes, record: Bytes): void {
  json.prepared(openingOf(format))
  writeOidText(json, key, objectKeyHeaderBytes)
  json.byte(quote)
  format.writeAttributesJson(json, record, recordHeaderBytes, shapeNumberOf(record), noLinks)
  json.byte(closing)
}

const quote = 0x22
const closing = 0x7d

function noLinks({ attribute }: AttributeFormat): never {
  return unreachable(`the class of attribute ${attribute.outputName} has no links`)
}

function writeOpening(json: JsonWriter, format: ClassFormat, oid: string): void {
  json.prepared(openingOf(format))
  json.ascii(oid)
  json.ascii('"')
}

function openingOf(format: ClassFormat): EncodedText {
  let opening = openings.get(format)
  if (opening === undefined) {
    opening = new EncodedText(`{"__class__":${JSON.stringify(format.cls.name)},"__identifier__":"`)
    openings.set(format, opening)
  }
  return opening
}

function writeLinksJson(json: JsonWriter, attribute: AttributeFormat, entries: readonly Entry[] | Buffer): void {
  if (Buffer.isBuffer(entries)) {
    json.raw(entries)
    return
  }
  if (attribute.linkStorage === 'map') {
    writeMapJson(json, mapKeyCodec(attribute), readMapEntries(attribute, entries))
    return
  }
  json.ascii('[')
  for (const [position, entry] of entries.entries()) writeElementJson(json, attribute, position, entry)
  json.ascii(']')
}

function writeElementJson(json: JsonWriter, { linkStorage }: AttributeFormat, position: number, entry: Entry): void {
  if (position > 0) json.ascii(',')
  if (linkStorage === 'set') writeOidJson(json, entry.key, linkHeaderBytes)
  else writeOidJson(json, entry.value, 0)
}

/** The JSON text of very many links, written in slices that yield to other requests. */
export async function manyLinksJson(attribute: AttributeFormat, entries: readonly Entry[]): Promise<Buffer> {
  const json = new JsonWriter()
  if (attribute.linkStorage === 'map') {
    const keyCodec = mapKeyCodec(attribute)
    json.ascii('{')
    const inOrder = inKeyOrder(keyCodec, entries)
    await inSlices(inOrder.entries(), ([position, entry]) => {
      writePairJson(json, keyCodec, position, readMapEntry(keyCodec, entry))
    })
    json.ascii('}')
  } else {
    json.ascii('[')
    await inSlices(entries.entries(), ([position, entry]) => writeElementJson(json, attribute, position, entry))
    json.ascii(']')
  }
  return json.to.written()
}

/** Like `manyLinksJson` for a list or set, written while its entries are read so that they are not held together. */
export class LinksJson {
  private readonly attribute: AttributeFormat
  private readonly json = new JsonWriter()
  private position = 0

  constructor(attribute: AttributeFormat) {
    this.attribute = attribute
    this.json.ascii('[')
  }

  add(entry: Entry): void {
    writeElementJson(this.json, this.attribute, this.position++, entry)
  }

  /** The length of the text so far. */
  get bytes(): number {
    return this.json.to.length
  }

  end(): Buffer {
    this.json.ascii(']')
    return this.json.to.written()
  }
}

const keyBytes = new ByteWriter(64)

function writeMapJson(json: JsonWriter, keyCodec: Codec, entries: readonly MapEntry[]): void {
  json.ascii('{')
  for (const [position, pair] of entries.entries()) writePairJson(json, keyCodec, position, pair)
  json.ascii('}')
}

function writePairJson(json: JsonWriter, keyCodec: Codec, position: number, { key, target }: MapEntry): void {
  if (position > 0) json.ascii(',')
  keyBytes.reset()
  keyCodec.write(key, keyBytes)
  keyCodec.writeJson(keyBytes.bytes, 0, keyBytes.length, json)
  json.ascii(`:"${target}"`)
}
