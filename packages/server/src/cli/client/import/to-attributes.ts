/** An object's attributes, made of a record as a mapping says. */
import type { AttributeDefinition } from '@ashlar/client'
import { parseExactly } from '../../exact-json.ts'
import { RecordProblem } from './column-values.ts'
import { type Fields, fieldOf } from './file-record.ts'
import { attributeNameOf, type ColumnMapping, type Mapping } from './mapping.ts'
import type { References } from './references.ts'

/** Throws RecordProblem. */
export type ToAttributes = (record: Fields) => Record<string, unknown>

/** `home.city` is the column of an embedded object, where the class has one of that name. */
function usualAttribute(column: string, types: ReadonlyMap<string, string>): string {
  const [first = '', ...inner] = column.trim().split('.')
  return inner.length > 0 && types.get(first) === 'object' ? column.trim() : attributeNameOf(column)
}

/**
 * `attributes`: of the class, inherited ones included. What they do not have is left to the server to refuse. `references` know the objects that the
 * records refer to; without them a reference is the text of its key.
 */
export function attributesBy(
  mapping: Mapping,
  attributes: readonly AttributeDefinition[],
  references?: References,
): ToAttributes {
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
      const { own, type, isInner } = target
      let value = record[column]
      if (own?.reference !== undefined && references !== undefined) value = references.of(column, record)
      else if (own !== undefined) value = own.toValue(value, isInner ? undefined : type)
      if (value !== undefined) setAt(result, target.path, valueFor(value, target))
    }
    for (const [column, { attribute, default: usual }] of defaults) {
      const isMissing = (fieldOf(record, column) ?? null) === null
      if (attribute !== null && isMissing) setAt(result, attribute.split('.'), usual)
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

const containers = new Set(['list', 'set', 'map', 'object'])
const trimmed = new Set(['integer', 'real', 'boolean', 'date', 'time', 'datetime', 'guid', 'interval', 'reference'])

/** A cell is a text: what it stands for, its attribute tells. A list is JSON in it, as an export writes it. */
function valueFor(value: unknown, { type, isInner }: Target): unknown {
  if (type === undefined || isInner) return value
  // JSON may have numbers where others of its records have texts.
  if (type === 'string' && ['number', 'bigint', 'boolean'].includes(typeof value)) return String(value)
  if (typeof value !== 'string') return value
  if (containers.has(type)) {
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
    const inner = at[name]
    if (typeof inner !== 'object' || inner === null || Array.isArray(inner))
      throw new RecordProblem(`${path.join('.')}: ${path.slice(0, step + 1).join('.')} is no embedded object.`)
    at = inner as Record<string, unknown>
  }
  at[path.at(-1) as string] = value
}
