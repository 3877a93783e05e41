/** Values as JSON: text for replies, and plain data for the commands of changes. */

import type { JsonWriter } from '../../bytes/json-writer.ts'
import { unreachable } from '../../errors.ts'
import { isFollowing } from '../../records/computed.ts'
import { recordFormats } from '../../records/record-formats.ts'
import type { Catalog, SchemaClass } from '../../schema/catalog.ts'
import { Decimal } from '../../types/decimal-number.ts'
import { decimalToJsonNumber, withHiddenFraction } from '../../types/hidden-fraction.ts'
import type { MapPair } from '../../types/map.ts'
import { type Edge, edgeFields } from './edge.ts'
import { scalarKinds } from './scalars/scalar-kinds.ts'
import { isFraction, isScalarType, typeOfSpec, type ValueType } from './value-type.ts'

/** Plain data, in which whole numbers may be bigints. `catalog` has the types of the attributes of embedded objects. */
export function toJson(type: ValueType, value: unknown, catalog: Catalog): unknown {
  if (value === null || value === undefined) return null
  if (isScalarType(type)) return scalarKinds[type.kind].toJson(value, type)
  switch (type.kind) {
    case 'collection':
      return (value as readonly unknown[]).map((element) => toJson(type.element, element, catalog))
    case 'map':
      return Object.fromEntries(
        (value as readonly MapPair[]).map(({ key, value: item }) => [String(key), toJson(type.element, item, catalog)]),
      )
    case 'embedded': {
      const fields = embeddedFields(type.cls, value as readonly unknown[], catalog)
      return Object.fromEntries(fields.map(([name, field, one]) => [name, toJson(field, one, catalog)]))
    }
    case 'record':
      return Object.fromEntries(
        type.fields.map(({ name, type: field }, i) => [
          name,
          fieldJson(field, (value as readonly unknown[])[i], catalog),
        ]),
      )
    case 'null':
    case 'reference':
    case 'object':
    case 'edge':
      return value
    default:
      unreachable(type satisfies never)
  }
}

/** Record fields are checked against attribute types only when a change applies them, so a fraction that its double lost must be marked. */
function fieldJson(type: ValueType, value: unknown, catalog: Catalog): unknown {
  if (value === null || value === undefined) return null
  if (type.kind === 'collection' && (isFraction(type.element) || type.element.kind === 'decimal')) {
    return (value as readonly unknown[]).map((element) => fieldJson(type.element, element, catalog))
  }
  if (value instanceof Decimal) return decimalToJsonNumber(value)
  const isFractionLost = isFraction(type) && Number.isInteger(value)
  return isFractionLost ? withHiddenFraction(`${BigInt(value as number)}.0`) : toJson(type, value, catalog)
}

function embeddedFields(cls: SchemaClass, values: readonly unknown[], catalog: Catalog): Field[] {
  const format = recordFormats(catalog).of(cls)
  return format.attributes.flatMap((attribute) => {
    const { outputName, spec } = attribute.attribute
    if (isFollowing(attribute.attribute)) return []
    return [[outputName, typeOfSpec(spec, catalog), format.valueAt(values, attribute.index)] as const]
  })
}

/** JSON text in which whole numbers keep all their digits; a number that is not finite is null. */
export function writeValue(json: JsonWriter, type: ValueType, value: unknown, catalog: Catalog): void {
  if (value === null || value === undefined) {
    json.ascii('null')
    return
  }
  if (isScalarType(type)) {
    scalarKinds[type.kind].writeJson(json, value, type)
    return
  }
  switch (type.kind) {
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
    case 'embedded':
      writeFields(json, embeddedFields(type.cls, value as readonly unknown[], catalog), catalog)
      return
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
    case 'null':
    case 'reference':
    case 'object':
      json.string(value as string)
      return
    default:
      unreachable(type satisfies never)
  }
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
