/** Values as JSON: text for replies, and plain data for what a change gives to an object. */

import type { JsonWriter } from '../../bytes/json-writer.ts'
import { unreachable } from '../../errors.ts'
import type { MapPair } from '../../records/attribute-change.ts'
import type { Catalog, SchemaClass } from '../../schema/catalog.ts'
import { withHiddenFraction } from '../../types/hidden-fraction.ts'
import { codecFor } from '../../types/index.ts'
import type { Codec, CodecContext } from '../../types/logical-type.ts'
import { type Edge, edgeFields } from './edge.ts'
import { isFraction, type ScalarKind, type ScalarType, specOfKind, typeOfSpec, type ValueType } from './value-type.ts'

const noContext: CodecContext = {
  embedded: () => {
    unreachable('scalars embed nothing')
  },
}
const codecs = new Map<string, Codec>()

/** The codec of the widest form of a scalar type. */
export function scalarCodec(type: ScalarType): Codec {
  const name = type.isSingle === true ? 'single' : type.kind
  let codec = codecs.get(name)
  if (codec === undefined) {
    const spec = type.isSingle === true ? ({ logicalType: 'real', storage: 'b32' } as const) : specOfKind(type.kind)
    codec = codecFor(spec, noContext)
    codecs.set(name, codec)
  }
  return codec
}

const asText: readonly ScalarKind[] = ['date', 'time', 'datetime', 'datetimeoffset', 'interval']

/** Plain data, in which whole numbers may be bigints. `catalog`: for the attributes of embedded objects. */
export function toJson(type: ValueType, value: unknown, catalog: Catalog): unknown {
  if (value === null || value === undefined) return null
  switch (type.kind) {
    case 'real':
      return Number.isFinite(value) && type.isSingle === true ? scalarCodec(type).toJson(value) : value
    case 'date':
    case 'time':
    case 'datetime':
    case 'datetimeoffset':
    case 'interval':
      return scalarCodec(type).toJson(value)
    case 'collection':
      return (value as readonly unknown[]).map((element) => toJson(type.element, element, catalog))
    case 'map':
      return Object.fromEntries(
        (value as readonly MapPair[]).map(({ key, value: held }) => [String(key), toJson(type.element, held, catalog)]),
      )
    case 'embedded':
      return embeddedToJson(type.cls, value as readonly unknown[], catalog)
    case 'record':
      return Object.fromEntries(
        type.fields.map(({ name, type: field }, i) => [
          name,
          fieldJson(field, (value as readonly unknown[])[i], catalog),
        ]),
      )
    default:
      return value
  }
}

/** Fields of a record are held against the types of attributes only where these are changed: what is no integer does not look like one. */
function fieldJson(type: ValueType, value: unknown, catalog: Catalog): unknown {
  if (value === null || value === undefined) return null
  if (type.kind === 'collection' && isFraction(type.element)) {
    return (value as readonly unknown[]).map((element) => fieldJson(type.element, element, catalog))
  }
  const isLost = isFraction(type) && Number.isInteger(value)
  return isLost ? withHiddenFraction(`${BigInt(value as number)}.0`) : toJson(type, value, catalog)
}

function embeddedToJson(cls: SchemaClass, values: readonly unknown[], catalog: Catalog): unknown {
  return Object.fromEntries(
    cls.attributes.map(({ outputName, spec }, i) => [
      outputName,
      toJson(typeOfSpec(spec, catalog), values[i], catalog),
    ]),
  )
}

/** JSON text in which whole numbers keep all their digits; a number that is none shows as null. */
export function writeValue(json: JsonWriter, type: ValueType, value: unknown, catalog: Catalog): void {
  if (value === null || value === undefined) {
    json.ascii('null')
    return
  }
  switch (type.kind) {
    case 'boolean':
      json.ascii(value === true ? 'true' : 'false')
      return
    case 'integer':
      json.ascii(String(value))
      return
    case 'real':
      writeReal(json, type, value as number)
      return
    case 'collection':
      writeArray(json, value as readonly unknown[], (element) => writeValue(json, type.element, element, catalog))
      return
    case 'map':
      writeFields(
        json,
        (value as readonly MapPair[]).map((pair) => [String(pair.key), type.element, pair.value]),
        catalog,
      )
      return
    case 'embedded': {
      const values = value as readonly unknown[]
      const fields = type.cls.attributes.map(
        ({ outputName, spec }, i) => [outputName, typeOfSpec(spec, catalog), values[i]] as const,
      )
      writeFields(json, fields, catalog)
      return
    }
    case 'record':
      writeFields(
        json,
        type.fields.map((field, i) => [field.name, field.type, (value as readonly unknown[])[i]] as const),
        catalog,
      )
      return
    case 'edge':
      writeEdge(json, value as Edge)
      return
    default:
      if (asText.includes(type.kind as ScalarKind)) json.ascii(`"${scalarCodec(type as ScalarType).toJson(value)}"`)
      else json.string(value as string)
  }
}

function writeReal(json: JsonWriter, type: ScalarType, value: number): void {
  if (!Number.isFinite(value)) json.ascii('null')
  else
    json.ascii(String(type.isSingle === true ? scalarCodec(type).toJson(value) : Object.is(value, -0) ? '-0' : value))
}

function writeArray(json: JsonWriter, elements: readonly unknown[], write: (element: unknown) => void): void {
  json.ascii('[')
  for (let i = 0; i < elements.length; i++) {
    if (i > 0) json.ascii(',')
    write(elements[i])
  }
  json.ascii(']')
}

type Field = readonly [name: string, type: ValueType, value: unknown]

function writeFields(json: JsonWriter, fields: readonly Field[], catalog: Catalog): void {
  json.ascii('{')
  for (const [i, [name, type, value]] of fields.entries()) {
    if (i > 0) json.ascii(',')
    json.string(name)
    json.ascii(':')
    writeValue(json, type, value, catalog)
  }
  json.ascii('}')
}

function writeEdge(json: JsonWriter, edge: Edge): void {
  json.ascii('{')
  for (const [i, name] of edgeFields.entries()) {
    const value = edge[name]
    if (value === undefined) continue
    if (i > 0) json.ascii(',')
    json.ascii(`"${name}":`)
    json.string(value)
  }
  json.ascii('}')
}
