/** Conversion of values of other types to values of type json. */
import { JsonWriter } from '../../bytes/json-writer.ts'
import { textOf } from '../../requests/json-source.ts'
import type { Catalog } from '../../schema/catalog.ts'
import { compactJson, jsonTextOf, parseJsonText } from '../../types/json-value.ts'
import type { ConvertScalar } from './scalars/scalar-kind.ts'
import { writeValue } from './value-json.ts'
import { isReference, isScalarType, isText, type ValueType } from './value-type.ts'

/** For a single value; a text becomes a JSON string. Undefined for other types. */
export function jsonOfSingle(from: ValueType, catalog: Catalog): ConvertScalar | undefined {
  if (from.kind === 'json') return undefined
  if (isText(from) || isReference(from)) return jsonTextOf
  return isScalarType(from) ? (value) => written(from, value, catalog) : undefined
}

/** For a parameter that is an array or object: its original text, if known. */
export function jsonOfParameter(from: ValueType, catalog: Catalog): ConvertScalar | undefined {
  if (from.kind !== 'record' && from.kind !== 'collection') return undefined
  return (value) => {
    const original = textOf(value as object)?.text
    return original === undefined ? written(from, value, catalog) : compactJson(original)
  }
}

function written(type: ValueType, value: unknown, catalog: Catalog): string {
  const json = new JsonWriter()
  writeValue(json, type, value, catalog)
  return parseJsonText(json.to.written().toString('utf8'))
}
