/** The mapping file of an import: the attributes of columns, and the conversion of their values. */
import { usageError } from '../errors/command-error.ts'
import { attributeNameOf } from './column-names.ts'
import { checkDateFormat, type ToValue, valuesBy } from './column-values.ts'
import type { Definition, Fields } from './file-record.ts'
import { scalarTypes } from './stored-values.ts'

/** References by key: an object with given values in a unique index. */
export interface ReferenceRule {
  readonly index: string
  /** Columns by attribute of the key; undefined if the column itself is the key with one attribute. */
  readonly columns: ReadonlyMap<string, string> | undefined
}

export interface ColumnMapping {
  /** Dots lead into embedded objects; null skips the column. */
  readonly attribute: string | null
  /** The type, for a new class. */
  readonly definition: Definition | undefined
  /** The value for records without a value. */
  readonly default: unknown
  readonly toValue: ToValue
  readonly reference: ReferenceRule | undefined
}

export interface Mapping {
  readonly columns: ReadonlyMap<string, ColumnMapping>
}

export const noMapping: Mapping = { columns: new Map() }

const fields = new Set([
  'attribute',
  'type',
  'default',
  'nulls',
  'values',
  'format',
  'zone',
  'decimal',
  'separator',
  'reference',
])

/** Type names as in requests, case-insensitive. */
const logicalTypes = [...scalarTypes, 'reference', 'object', 'list', 'set', 'map']
/** Aliases: `float` for a real of 32 bits, `instant` for a datetime with an offset. */
const typeAliases = ['float', 'instant']

/** `json`: the content of the mapping file. */
export function readMapping(json: unknown): Mapping {
  const { columns, ...others } = objectOf(json, 'The mapping')
  refuse(Object.keys(others)[0], 'The mapping')
  const read = Object.entries(objectOf(columns, "'columns' of the mapping")).map(([column, rule]) => {
    if (typeof rule === 'string' || rule === null) return [column, columnOf({ attribute: rule }, column)] as const
    const object = objectOf(rule, `Column ${column} of the mapping`)
    refuse(
      Object.keys(object).find((name) => !fields.has(name)),
      `Column ${column} of the mapping`,
    )
    return [column, columnOf(object, column)] as const
  })
  return { columns: new Map(read) }
}

function columnOf(rule: Fields, column: string): ColumnMapping {
  const { attribute, default: usual, nulls = [], values = {}, decimal } = rule
  const what = `Column ${column} of the mapping`
  const isNamed = attribute === undefined || attribute === null || typeof attribute === 'string'
  if (!isNamed || !Array.isArray(nulls) || !nulls.every((one) => typeof one === 'string'))
    throw usageError(`${what}: attribute must be a name or null, and nulls an array of strings.`)
  if (typeof attribute === 'string' && /(^|\.)(__|\.|$)/.test(attribute))
    throw usageError(`${what}: '${attribute}' is not an attribute name.`)
  if (decimal !== undefined && decimal !== ',' && decimal !== '.') throw usageError(`${what}: decimal is ',' or '.'.`)
  const format = stringField(rule, 'format', what)
  const zone = stringField(rule, 'zone', what)
  if (format !== undefined && decimal !== undefined)
    throw usageError(`${what}: format is for dates and decimal for numbers; a column can have only one of them.`)
  try {
    checkDateFormat(format, zone)
  } catch (error) {
    throw usageError(`${what}: ${(error as Error).message}.`)
  }
  return {
    attribute: attribute === undefined ? attributeNameOf(column) : attribute,
    definition: definitionOf(rule.type, what),
    default: usual,
    toValue: valuesBy(
      {
        nulls: new Set(nulls as string[]),
        values: new Map(Object.entries(objectOf(values, `Values of column ${column}`))),
        format,
        zone,
        decimal,
        separator: stringField(rule, 'separator', what),
      },
      column,
    ),
    reference: referenceOf(rule.reference, what),
  }
}

function stringField(rule: Fields, name: string, what: string): string | undefined {
  const value = rule[name]
  if (value === undefined || (typeof value === 'string' && value !== '')) return value as string | undefined
  throw usageError(`${what}: ${name} must be a string.`)
}

/** Parses the name of a logical type, or a definition as in requests. */
function definitionOf(type: unknown, what: string): Definition | undefined {
  if (type === undefined) return undefined
  const definition = typeof type === 'string' ? { logicalType: type } : objectOf(type, `type of ${what}`)
  const { logicalType } = definition
  if (typeof logicalType !== 'string')
    throw usageError(
      `${what}: type is a logical type, as "date", or {"logicalType": …} as requests define an attribute.`,
    )
  // Also check this for an existing class, so that a mistyped name is not ignored.
  if (![...logicalTypes, ...typeAliases].includes(logicalType.toLowerCase()))
    throw usageError(`${what}: type is one of ${logicalTypes.join(', ')}; not '${logicalType.slice(0, 60)}'.`)
  return definition as unknown as Definition
}

function referenceOf(reference: unknown, what: string): ReferenceRule | undefined {
  if (reference === undefined) return undefined
  if (typeof reference === 'string') return { index: reference, columns: undefined }
  const { index, key, ...others } = objectOf(reference, `reference of ${what}`)
  refuse(Object.keys(others)[0], `reference of ${what}`)
  const columns = Object.entries(objectOf(key, `key of the reference of ${what}`))
  if (typeof index !== 'string' || !columns.every(([, column]) => typeof column === 'string'))
    throw usageError(`${what}: reference is the name of a unique index, or {"index": …, "key": {attribute: column}}.`)
  return { index, columns: new Map(columns as [string, string][]) }
}

function objectOf(json: unknown, what: string): Fields {
  if (typeof json === 'object' && json !== null && !Array.isArray(json)) return json as Fields
  throw usageError(`${what} is not a JSON object.`)
}

function refuse(name: string | undefined, what: string): void {
  if (name !== undefined) throw usageError(`${what} has the field ${name}, which does not exist.`)
}
