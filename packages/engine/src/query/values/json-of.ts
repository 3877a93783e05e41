/** Values of other types as values of type json. */
import { JsonWriter } from '../../bytes/json-writer.ts'
import { textOf } from '../../requests/given-text.ts'
import type { Catalog } from '../../schema/catalog.ts'
import { compactJson, jsonTextOf, parseJsonText } from '../../types/json-value.ts'
import type { Convert } from './scalars/scalar-kind.ts'
import { writeValue } from './value-json.ts'
import { isReference, isScalar, isText, type ValueType } from './value-type.ts'

/** Of a single value: a text is a string of JSON. Undefined for other types. */
export function jsonOfSingle(from: ValueType, catalog: Catalog): Convert | undefined {
  if (from.kind === 'json') return undefined
  if (isText(from) || isReference(from)) return jsonTextOf
  return isScalar(from) ? (value) => written(from, value, catalog) : undefined
}

/** Of an array or an object that is a parameter: as it was given, where its text is known. */
export function jsonOfParameter(from: ValueType, catalog: Catalog): Convert | undefined {
  if (from.kind !== 'record' && from.kind !== 'collection') return undefined
  return (value) => {
    const given = textOf(value as object)?.text
    return given === undefined ? written(from, value, catalog) : compactJson(given)
  }
}

function written(type: ValueType, value: unknown, catalog: Catalog): string {
  const json = new JsonWriter()
  writeValue(json, type, value, catalog)
  return parseJsonText(json.to.written().toString('utf8'))
}
