/** Converts values of a file for the attributes of a class; a missing value becomes null, unless the class has a default. */

import type { AttributeDefinition } from '@ashlar/client'
import { stringifyExactly } from '../output/exact-json.ts'
import { normalizeCellNumber, parseMoment } from './cell-kinds.ts'
import { attributeNameOf } from './column-names.ts'
import type { ImportLosses } from './losses.ts'
import { parseRecord } from './parse-record.ts'

export type ConvertStored = (value: unknown) => unknown

/** Returns the attributes of a class, including inherited ones; undefined if the class is not known. */
export type AttributesOf = (className: string) => readonly AttributeDefinition[] | undefined

export type TypeOfValue = Partial<Pick<AttributeDefinition, 'logicalType' | 'class' | 'elementSpecification'>>

export interface Conversions {
  readonly attributesOf: AttributesOf
  readonly losses: ImportLosses
  /** Whether existing objects may be updated: attributes missing in the record then keep their values. */
  readonly isUpdate: boolean
}

/** Types whose attributes are null without a value; collections are empty. */
export const scalarTypes: readonly string[] = [
  'boolean',
  'character',
  'integer',
  'real',
  'decimal',
  'string',
  'guid',
  'date',
  'time',
  'datetime',
  'interval',
  'bytes',
  'json',
]

/** `path`: of the attribute, for reports. */
export function conversionOf(type: TypeOfValue, path: string, conversions: Conversions): ConvertStored {
  const { losses } = conversions
  switch (type.logicalType) {
    case 'string':
    case 'character':
      return asString
    case 'integer':
    case 'real':
    case 'decimal':
      return (value) => {
        if (typeof value === 'string') return normalizeCellNumber(value)
        if (typeof value !== 'number' || Number.isFinite(value)) return value
        losses.notFinite(path, value)
        return null
      }
    case 'boolean':
      return (value) => (typeof value === 'string' ? value.trim().toLowerCase() : value)
    case 'date':
    case 'time':
    case 'datetime':
      return (value) => (typeof value === 'string' ? momentText(value, type.logicalType, path, losses) : value)
    case 'guid':
    case 'interval':
    case 'bytes':
    case 'reference':
      return (value) => (typeof value === 'string' ? value.trim() : value)
    case 'object':
      return objectConversion(type.class ?? '', path, conversions)
    case 'list':
    case 'set':
    case 'map':
      return collectionConversion(type, path, conversions)
    default:
      return (value) => value
  }
}

function asString(value: unknown): unknown {
  if (typeof value === 'string' || value === null || value === undefined) return value
  return typeof value === 'object' ? stringifyExactly(value) : String(value)
}

/** Common notations, which the server accepts unchanged. */
const plainMoment = /^\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\d(\.\d{1,4})?(Z|[+-]\d\d:\d\d)?)?$|^\d\d:\d\d:\d\d(\.\d{1,4})?$/

function momentText(raw: string, type: string | undefined, path: string, losses: ImportLosses): string {
  const text = raw.trim()
  const isPlain = plainMoment.test(text) && (type !== 'datetime' || text.length > 'yyyy-mm-dd'.length)
  const moment = isPlain ? undefined : parseMoment(text)
  // Anything else is refused by the server.
  if (moment === undefined) return text
  if (moment.isTruncated) losses.truncated(path, text)
  return type === 'datetime' && !moment.text.includes('T') ? `${moment.text}T00:00:00` : moment.text
}

/** Parses a cell with an object or a collection as JSON, the notation of exports. */
function parsedCell(value: unknown): unknown {
  if (typeof value !== 'string') return value
  try {
    return parseRecord(value)
  } catch {
    return value
  }
}

function collectionConversion(type: TypeOfValue, path: string, conversions: Conversions): ConvertStored {
  // An update replaces the whole list, so its elements are new.
  const element = conversionOf(type.elementSpecification ?? {}, path, { ...conversions, isUpdate: false })
  return (value) => {
    const parsed = parsedCell(value)
    return Array.isArray(parsed) ? parsed.map((one) => (one === null ? null : element(one))) : parsed
  }
}

interface Part {
  readonly name: string
  readonly convert: ConvertStored
  /** The value if a record lacks it; undefined if the attribute is omitted. */
  readonly absent: (() => unknown) | undefined
  /** The value if the embedded object that it is a part of is null; undefined if the attribute is omitted. */
  readonly nothing: (() => unknown) | undefined
}

/** Returns the conversion of each attribute of a class. */
export function attributeConversions(
  attributes: readonly AttributeDefinition[],
  path: string,
  conversions: Conversions,
): ReadonlyMap<string, Part> {
  const parts = attributes.map((attribute): readonly [string, Part] => {
    const name = attribute.attributeName
    const convert = conversionOf(attribute, path === '' ? name : `${path}.${name}`, conversions)
    return [name, { name, convert, absent: absentValue(attribute, convert), nothing: nullValue(attribute, convert) }]
  })
  return new Map(parts)
}

/** What a server gives an attribute that a creation leaves out is only wanted where the class says so; it would be 0 or "" otherwise. */
function absentValue(attribute: AttributeDefinition, convert: ConvertStored): (() => unknown) | undefined {
  if (attribute.logicalType === 'object') return () => convert({})
  return attribute.default === undefined ? nullValue(attribute, convert) : undefined
}

function nullValue(
  { logicalType, computed }: AttributeDefinition,
  convert: ConvertStored,
): (() => unknown) | undefined {
  if (logicalType === 'object') return () => convert(null)
  return scalarTypes.includes(logicalType) && computed === undefined ? () => null : undefined
}

/** An embedded object cannot be null: null becomes an object whose attributes are all null. */
function objectConversion(className: string, path: string, conversions: Conversions): ConvertStored {
  let parts: ReadonlyMap<string, Part> | undefined
  return (value) => {
    parts ??= attributeConversions(conversions.attributesOf(className) ?? [], path, conversions)
    const parsed = parsedCell(value)
    if (parsed === null) return withMissing(Object.create(null) as Record<string, unknown>, parts, 'nothing')
    if (typeof parsed !== 'object' || Array.isArray(parsed)) return parsed
    const result = Object.create(null) as Record<string, unknown>
    for (const [key, one] of Object.entries(parsed as object)) {
      const part = parts.get(key) ?? parts.get(attributeNameOf(key))
      if (one !== undefined) result[part?.name ?? key] = part === undefined ? one : part.convert(one)
    }
    return conversions.isUpdate ? result : withMissing(result, parts, 'absent')
  }
}

function withMissing(
  result: Record<string, unknown>,
  parts: ReadonlyMap<string, Part>,
  kind: 'absent' | 'nothing',
): Record<string, unknown> {
  for (const part of parts.values()) {
    const value = part[kind]
    if (value !== undefined && !Object.hasOwn(result, part.name)) result[part.name] = value()
  }
  return result
}
