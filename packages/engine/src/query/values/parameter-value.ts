/** Typed values from outside of a text: JSON parameters and fields of a file. */
import { AshlarError } from '../../errors.ts'
import { parameterFieldsMax, parameterGapsMax } from '../../limits.ts'
import { type JsonSource, noteTextOf } from '../../requests/json-source.ts'
import { parseDecimal } from '../../types/decimal-number.ts'
import { nearestDouble } from '../../types/hidden-fraction.ts'
import { formatForMessage, ValueError } from '../../types/logical-type.ts'
import { alignValue, commonElementType, hasSameLayout } from './parameter-records.ts'
import {
  booleanType,
  fractionType,
  integerType,
  isFraction,
  isWritten,
  nullType,
  realType,
  stringType,
  type ValueType,
  writtenType,
} from './value-type.ts'

export interface TypedValue {
  readonly type: ValueType
  readonly value: unknown
}

const valuesPerYield = 1_024

/** Number of object fields in the type of a parameter so far. */
interface FieldCount {
  fields: number
}

export function tooManyFields(what: string): AshlarError {
  const message = `${what} has more than ${parameterFieldsMax} ${what === 'The query' ? 'parameters' : 'fields'}; a list may have more elements.`
  return new AshlarError('LimitExceeded', message, [{ place: ['parameters'], message: 'has too many fields' }])
}

/** Converts arrays to lists and objects to records, in yielding steps. Throws QueryError for an array of several types, and LimitExceeded. */
export function* parameterValue(
  name: string,
  json: unknown,
  text?: JsonSource,
  counted: FieldCount = { fields: 0 },
): Generator<undefined, TypedValue> {
  const scalar = scalarValue(json)
  if (scalar !== undefined) return scalar
  if (Array.isArray(json)) return yield* listValue(name, json, text, counted)
  const types: { name: string; type: ValueType }[] = []
  const values: unknown[] = []
  const object = json as Readonly<Record<string, unknown>>
  for (const field in object) {
    if (++counted.fields > parameterFieldsMax) throw tooManyFields(`Parameter ${name.slice(0, 60)}`)
    const value = object[field]
    const fieldValue =
      scalarValue(value) ?? (yield* parameterValue(`${name}.${field}`, value, text?.at(field), counted))
    types.push({ name: field, type: fieldValue.type })
    values.push(fieldValue.value)
    if (values.length % valuesPerYield === 0) yield
  }
  yield
  if (text !== undefined) noteTextOf(values, text)
  return { type: { kind: 'record', fields: types }, value: values }
}

/** Undefined for an array or an object. */
export function scalarValue(json: unknown): TypedValue | undefined {
  if (json === null || json === undefined) return { type: nullType, value: null }
  switch (typeof json) {
    case 'string':
      return { type: stringType, value: json }
    case 'boolean':
      return { type: booleanType, value: json }
    case 'bigint':
      return { type: integerType, value: json }
    case 'number':
      return isIntegerJson(json) ? { type: integerType, value: exactInteger(json) } : { type: realType, value: json }
    case 'symbol':
      return fractionValue(json)
    default:
      return undefined
  }
}

/** Exact, unless it has more digits than a decimal may have. */
function fractionValue(number: symbol): TypedValue {
  try {
    return { type: writtenType, value: parseDecimal(number.description ?? '') }
  } catch (error) {
    if (error instanceof ValueError) return { type: fractionType, value: nearestDouble(number) }
    throw error
  }
}

/** 1e300 is a whole number in JSON, but exceeds every integer type. */
function isIntegerJson(number: number): boolean {
  return Number.isInteger(number) && Math.abs(number) < 2 ** 64
}

function exactInteger(number: number): number | bigint {
  return Number.isSafeInteger(number) ? number : BigInt(number)
}

function* listValue(
  name: string,
  json: readonly unknown[],
  text: JsonSource | undefined,
  counted: FieldCount,
): Generator<undefined, TypedValue> {
  const before = counted.fields
  let element: ValueType = nullType
  const values: unknown[] = []
  // The types of the elements from the first one whose fields have other places, and the type of all before it.
  let first: ValueType = nullType
  const types: ValueType[] = []
  for (const [i, one] of json.entries()) {
    // Elements share one type, so their fields are not added up.
    counted.fields = before
    const { type, value } = scalarValue(one) ?? (yield* parameterValue(`${name}[${i}]`, one, text?.at(i), counted))
    const common = commonElementType(element, type)
    if (common === undefined) {
      throw new AshlarError(
        'QueryError',
        `Parameter ${name.slice(0, 60)}: the elements of a list are of one type; ${formatForMessage(one)} is not like those before it.`,
        [{ place: ['parameters'], message: 'has elements of several types' }],
      )
    }
    if (common.kind === 'record' && common.fields.length > parameterFieldsMax)
      throw tooManyFields(`Parameter ${name.slice(0, 60)}`)
    if (types.length > 0 || !hasSameLayout(element, type)) types.push(type)
    else first = common
    element = common
    values.push(value)
    if (values.length % valuesPerYield === 0) yield
  }
  if (types.length > 0) yield* alignFields(name, values, { first, types, element })
  yield
  if (text !== undefined) noteTextOf(values, text)
  return { type: { kind: 'collection', form: 'list', element }, value: values }
}

interface ElementTypes {
  /** Of all elements before those of `types`. */
  readonly first: ValueType
  /** Of the last elements. */
  readonly types: readonly ValueType[]
  readonly element: ValueType
}

/** Gives the fields of all elements the places that they have in `element`. Throws LimitExceeded. */
function* alignFields(
  name: string,
  values: unknown[],
  { first, types, element }: ElementTypes,
): Generator<undefined, void> {
  const gaps = { count: 0 }
  const start = values.length - types.length
  for (const [i, value] of values.entries()) {
    values[i] = alignValue(value, i < start ? first : (types[i - start] as ValueType), element, gaps)
    if (gaps.count > parameterGapsMax) {
      const message = `Parameter ${name.slice(0, 60)}: the objects of the list lack more than ${parameterGapsMax} fields that others have; send them in several lists.`
      throw new AshlarError('LimitExceeded', message, [
        { place: ['parameters'], message: 'has too many different objects' },
      ])
    }
    if (i % valuesPerYield === 0) yield
  }
}

/** Equal for types that can share a plan. */
export function typeSignature(type: ValueType): string {
  switch (type.kind) {
    case 'reference':
    case 'object':
    case 'embedded':
      return `${type.kind} ${type.cls?.number ?? ''}`
    case 'collection':
      return `${type.form}<${typeSignature(type.element)}>`
    case 'map':
      return `map<${typeSignature(type.key)},${typeSignature(type.element)}>`
    case 'record':
      return `{${type.fields.map(({ name, type: field }) => `${name}:${typeSignature(field)}`).join()}}`
    default:
      if (isFraction(type)) return 'fraction'
      if (isWritten(type)) return 'written'
      return 'isSingle' in type && type.isSingle === true ? 'single' : type.kind
  }
}
