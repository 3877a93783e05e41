/** Which column of a file is which attribute, and how its texts become values. */
import type { AttributeDefinition } from '@ashlar/client'
import { CommandError } from '../../command-error.ts'
import { parseExactly } from '../../exact-json.ts'
import { exitCodes } from '../../exit-codes.ts'
import type { Fields } from './records.ts'

/** What a mapping file says of a column. */
interface ColumnMapping {
  /** Dots lead into embedded objects; null leaves the column out. */
  readonly attribute: string | null
  /** For records that have nothing there. */
  readonly default: unknown
  /** Texts that stand for null. */
  readonly nulls: ReadonlySet<string>
  /** Texts that stand for other values. */
  readonly values: ReadonlyMap<string, unknown>
}

export interface Mapping {
  readonly columns: ReadonlyMap<string, ColumnMapping>
}

export const noMapping: Mapping = { columns: new Map() }

const fields = new Set(['attribute', 'default', 'nulls', 'values'])

/** `json`: of the mapping file. Throws CommandError. */
export function readMapping(json: unknown): Mapping {
  const { columns, ...others } = objectOf(json, 'The mapping')
  refuse(Object.keys(others)[0], 'The mapping')
  const read = Object.entries(objectOf(columns, "'columns' of the mapping")).map(([column, given]) => {
    const what = `Column ${column} of the mapping`
    if (typeof given === 'string' || given === null) return [column, columnOf({ attribute: given }, column)] as const
    const object = objectOf(given, what)
    refuse(
      Object.keys(object).find((name) => !fields.has(name)),
      what,
    )
    return [column, columnOf(object, column)] as const
  })
  return { columns: new Map(read) }
}

function columnOf({ attribute, default: usual, nulls, values }: Fields, column: string): ColumnMapping {
  const isNamed = attribute === undefined || attribute === null || typeof attribute === 'string'
  const areTexts = nulls === undefined || (Array.isArray(nulls) && nulls.every((one) => typeof one === 'string'))
  if (!isNamed || !areTexts) {
    throw usage(`Column ${column} of the mapping: attribute is a name or null, nulls are texts.`)
  }
  return {
    attribute: attribute === undefined ? attributeNameOf(column) : attribute,
    default: usual,
    nulls: new Set((nulls as string[] | undefined) ?? []),
    values: new Map(Object.entries(values === undefined ? {} : objectOf(values, `Values of column ${column}`))),
  }
}

function objectOf(json: unknown, what: string): Fields {
  if (typeof json === 'object' && json !== null && !Array.isArray(json)) return json as Fields
  throw usage(`${what} is no JSON object.`)
}

function refuse(name: string | undefined, what: string): void {
  if (name !== undefined) throw usage(`${what} has the field ${name}, which it cannot have.`)
}

function usage(message: string): CommandError {
  return new CommandError(exitCodes.usage, message)
}

/** As names of attributes may be: other characters become `_`. */
export function attributeNameOf(column: string): string {
  const name = column.trim().replaceAll(/[^\p{L}\p{N}_]+/gu, '_')
  return /^(\p{N}|__|$)/u.test(name) ? `c${name}` : name
}

/** `home.city` is the column of an embedded object, where the class has one of that name. */
function usualAttribute(column: string, types: ReadonlyMap<string, string>): string {
  const [first = '', ...inner] = column.trim().split('.')
  return inner.length > 0 && types.get(first) === 'object' ? column.trim() : attributeNameOf(column)
}

/** An object's attributes, of a record. */
export type ToAttributes = (record: Fields) => Record<string, unknown>

/** `attributes`: of the class, inherited ones included. What they do not have is left to the server to refuse. */
export function attributesBy(mapping: Mapping, attributes: readonly AttributeDefinition[]): ToAttributes {
  const types = new Map(attributes.map((attribute) => [attribute.attributeName, attribute.logicalType]))
  const defaults = [...mapping.columns].filter(([, { default: usual }]) => usual !== undefined)
  const targets = new Map<string, Target | undefined>()
  const targetOf = (column: string): Target | undefined => {
    if (column === '__class__' || column === '__identifier__') return undefined
    const own = mapping.columns.get(column)
    const name = own === undefined ? usualAttribute(column, types) : own.attribute
    if (name === null) return undefined
    const path = name.split('.')
    return { own, path, type: types.get(path[0] as string), isInner: path.length > 1 }
  }
  return (record) => {
    const result: Record<string, unknown> = {}
    for (const column of Object.keys(record)) {
      let target = targets.get(column)
      if (target === undefined && !targets.has(column)) {
        // Records of JSON may have any names.
        if (targets.size >= columnsKnownMax) targets.clear()
        target = targetOf(column)
        targets.set(column, target)
      }
      if (target === undefined) continue
      const value = mapped(record[column], target.own)
      if (value !== undefined) setAt(result, target.path, valueFor(value, target))
    }
    for (const [column, { attribute, default: usual }] of defaults) {
      if (attribute !== null && (record[column] === undefined || record[column] === null))
        setAt(result, attribute.split('.'), usual)
    }
    return result
  }
}

const columnsKnownMax = 10_000

/** Where the values of a column go, as it is found once. */
interface Target {
  readonly own: ColumnMapping | undefined
  /** Of the attribute, through embedded objects. */
  readonly path: readonly string[]
  /** Of the outermost attribute. */
  readonly type: string | undefined
  readonly isInner: boolean
}

function mapped(given: unknown, own: ColumnMapping | undefined): unknown {
  if (own === undefined || typeof given !== 'string') return given
  if (own.nulls.has(given)) return null
  return own.values.has(given) ? own.values.get(given) : given
}

const containers = new Set(['list', 'set', 'map', 'object'])
const trimmed = new Set(['integer', 'real', 'boolean', 'date', 'time', 'datetime', 'guid', 'interval', 'reference'])

/** A cell is a text: what it stands for, its attribute tells. A list is JSON in it, as an export writes it. */
function valueFor(value: unknown, { type, isInner }: Target): unknown {
  if (typeof value === 'bigint') return value.toString()
  if (typeof value !== 'string' || type === undefined) return value
  if (containers.has(type) && !isInner) {
    try {
      return parseExactly(value)
    } catch {
      return value
    }
  }
  if (type === 'boolean') return value.trim().toLowerCase()
  return trimmed.has(type) ? value.trim() : value
}

/** `home.city`: the attribute of an embedded object. */
function setAt(result: Record<string, unknown>, path: readonly string[], value: unknown): void {
  let at = result
  for (let step = 0; step < path.length - 1; step++) {
    const name = path[step] as string
    at[name] ??= {}
    at = at[name] as Record<string, unknown>
  }
  at[path.at(-1) as string] = value
}
