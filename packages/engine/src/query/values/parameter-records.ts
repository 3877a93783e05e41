/** One record type for the objects of a list in a parameter, which may differ in their members and in the order of these (contract 2.2.10). */
import { buildCatalog, emptyCatalogState } from '../../schema/build-catalog.ts'
import type { Catalog } from '../../schema/catalog.ts'
import { jsonOfParameter, jsonOfSingle } from './json-of.ts'
import { commonType } from './type-rules.ts'
import { jsonType, type RecordField, type RecordType, type ValueType } from './value-type.ts'

/** The index of each field by its name; a type and those that extend it share one map, which may have names that the first lacks. */
const indexes = new WeakMap<RecordType, Map<string, number>>()

/**
 * The type of a list whose elements have the two types: records get the fields of both, and a field is json if its values have
 * no common type. Undefined if elements of both types cannot be in one list.
 */
export function commonElementType(one: ValueType, other: ValueType): ValueType | undefined {
  if (one.kind === 'collection' && other.kind === 'collection') {
    const element = commonElementType(one.element, other.element)
    return element && (element === one.element ? one : { ...one, element })
  }
  if (one.kind === 'record' && other.kind === 'record') return commonRecord(one, other)
  return one.kind === 'json' || other.kind === 'json' ? jsonType : commonType(one, other)
}

function commonRecord(one: RecordType, other: RecordType): RecordType {
  let fields: RecordField[] | undefined
  for (const [i, { name, type }] of other.fields.entries()) {
    const at = one.fields[i]?.name === name ? i : (indexIn(one, name) ?? -1)
    const present = one.fields[at]
    const common = present === undefined ? type : (commonElementType(present.type, type) ?? jsonType)
    if (present?.type === common) continue
    fields ??= [...one.fields]
    fields[present === undefined ? fields.length : at] = { name, type: common }
  }
  return fields === undefined ? one : extended(one, fields)
}

function extended(one: RecordType, fields: readonly RecordField[]): RecordType {
  const record: RecordType = { kind: 'record', fields }
  const shared = indexesOf(one)
  for (let i = one.fields.length; i < fields.length; i++) shared.set((fields[i] as RecordField).name, i)
  indexes.set(record, shared)
  return record
}

function indexIn(type: RecordType, name: string): number | undefined {
  const at = indexesOf(type).get(name)
  return at !== undefined && type.fields[at]?.name === name ? at : undefined
}

function indexesOf(type: RecordType): Map<string, number> {
  let found = indexes.get(type)
  if (found === undefined) {
    found = new Map(type.fields.map(({ name }, i) => [name, i]))
    indexes.set(type, found)
  }
  return found
}

/** Whether values of both types have the same form, with fields at the same places; one may lack the last fields of the other. */
export function hasSameLayout(one: ValueType, other: ValueType): boolean {
  if (one.kind === 'collection' && other.kind === 'collection') return hasSameLayout(one.element, other.element)
  if (one.kind !== 'record' || other.kind !== 'record')
    return (one.kind === 'json') === (other.kind === 'json') && commonType(one, other) !== undefined
  const [short, long] = one.fields.length <= other.fields.length ? [one, other] : [other, one]
  return short.fields.every(({ name, type }, i) => {
    const field = long.fields[i]
    return field?.name === name && hasSameLayout(type, field.type)
  })
}

/** The number of places for fields that values lack. */
export interface Gaps {
  count: number
}

/** Gives the value of type `from` the form of `to`, in place: fields are moved, or converted to json. A missing field is undefined. */
export function alignValue(value: unknown, from: ValueType, to: ValueType, gaps: Gaps): unknown {
  if (value === null || value === undefined) return value
  if (to.kind === 'json') return toJsonText(value, from)
  if (!Array.isArray(value)) return value
  if (from.kind === 'collection' && to.kind === 'collection') {
    for (const [i, element] of value.entries()) value[i] = alignValue(element, from.element, to.element, gaps)
  }
  if (from.kind === 'record' && to.kind === 'record') alignRecord(value, from, to, gaps)
  return value
}

function alignRecord(record: unknown[], from: RecordType, to: RecordType, gaps: Gaps): void {
  const values = [...record]
  record.length = 0
  for (const [i, value] of values.entries()) {
    const field = from.fields[i] as RecordField
    const at = indexIn(to, field.name) as number
    while (record.length < at) record.push(undefined)
    record[at] = alignValue(value, field.type, (to.fields[at] as RecordField).type, gaps)
  }
  gaps.count += record.length - values.length
}

let noClasses: Catalog | undefined

function toJsonText(value: unknown, from: ValueType): unknown {
  noClasses ??= buildCatalog(emptyCatalogState(), new Uint8Array())
  const convert = jsonOfParameter(from, noClasses) ?? jsonOfSingle(from, noClasses)
  return convert === undefined ? value : convert(value)
}
