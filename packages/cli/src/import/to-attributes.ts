/** Converts a record to the attributes of an object, according to the mapping. */
import { type AttributeDefinition, JsonText } from '@ashlar/client'
import { textOf } from '@ashlar/engine'
import { attributeNameOf, ColumnNames } from './column-names.ts'
import { RecordProblem } from './column-values.ts'
import { type Fields, fieldOf } from './file-record.ts'
import type { ColumnMapping, Mapping } from './mapping.ts'
import type { References } from './references.ts'
import { attributeConversions, type Conversions, type ConvertStored, conversionOf } from './stored-values.ts'

/** Throws RecordProblem, or CommandError if two columns map to one attribute. */
export type ToAttributes = (record: Fields) => Record<string, unknown>

export interface Target {
  readonly column: string
  readonly own: ColumnMapping | undefined
  /** The path of the attribute, through embedded objects. */
  readonly path: readonly string[]
}

/** Cached columns: JSON records may have any number of names. */
const cachedColumnsMax = 10_000

/** The columns of a file with their targets, cached. */
export class Columns<T extends Target> {
  private readonly mapping: Mapping
  /** Embedded objects of the class: `home.city` is a column of `home`. */
  private readonly embedded: ReadonlySet<string>
  private readonly complete: (target: Target) => T
  private readonly cached = new Map<string, T | undefined>()
  private names = new ColumnNames()

  constructor(mapping: Mapping, embedded: ReadonlySet<string>, complete: (target: Target) => T) {
    this.mapping = mapping
    this.embedded = embedded
    this.complete = complete
  }

  /** Undefined if the column is skipped. Throws CommandError if another column has the same target. */
  target(column: string): T | undefined {
    const cached = this.cached.get(column)
    if (cached !== undefined || this.cached.has(column)) return cached
    if (this.cached.size >= cachedColumnsMax) {
      this.cached.clear()
      this.names = new ColumnNames()
    }
    const target = this.find(column)
    this.cached.set(column, target)
    return target
  }

  private find(column: string): T | undefined {
    if (column === '__class__' || column === '__identifier__') return undefined
    const own = this.mapping.columns.get(column)
    const name = own === undefined ? this.defaultAttribute(column) : own.attribute
    if (name === null) return undefined
    this.names.add(column, name)
    return this.complete({ column, own, path: name.split('.') })
  }

  private defaultAttribute(column: string): string {
    const [first = '', ...inner] = column.trim().split('.')
    return inner.length > 0 && this.embedded.has(first) ? column.trim() : attributeNameOf(column)
  }
}

interface StoredTarget extends Target {
  readonly convert: ConvertStored
  /** The logical type, for the values of a mapping. */
  readonly type: string | undefined
}

/** `attributes`: of the class, including inherited ones; the server refuses any other. `references`: the objects to which the records refer. */
export function attributesBy(
  mapping: Mapping,
  attributes: readonly AttributeDefinition[],
  references: References | undefined,
  conversions: Conversions,
): ToAttributes {
  const embedded = new Set(attributes.flatMap((one) => (one.logicalType === 'object' ? [one.attributeName] : [])))
  const parts = attributeConversions(attributes, '', conversions)
  const absent = [...parts.values()].filter((part) => part.absent !== undefined)
  const defaults = [...mapping.columns].filter(([, { default: usual }]) => usual !== undefined)
  const columns = new Columns<StoredTarget>(mapping, embedded, (target) => {
    const attribute = attributeAt(attributes, target.path, conversions)
    const convert = conversionOf(attribute ?? {}, target.path.join('.'), conversions)
    return { ...target, convert, type: attribute?.logicalType }
  })
  return (record) => {
    const result: Record<string, unknown> = {}
    let [presentCount, hasInner] = [0, false]
    for (const column of Object.keys(record)) {
      const target = columns.target(column)
      if (target === undefined) continue
      const { own, type, path, convert } = target
      let value = record[column]
      if (own?.reference !== undefined && references !== undefined) value = references.of(column, record)
      else if (own !== undefined) value = own.toValue(value, type)
      if (value === undefined) continue
      if (type === 'json' && value === record[column]) value = exactJson(record, column, value)
      if (path.length === 1) {
        result[path[0] as string] = convert(value)
        presentCount++
      } else {
        setAt(result, path, convert(value))
        hasInner = true
      }
    }
    for (const [column, { attribute, default: usual }] of defaults) {
      const isMissing = (fieldOf(record, column) ?? null) === null
      if (attribute === null || !isMissing) continue
      hasInner ||= attribute.includes('.')
      setAt(result, attribute.split('.'), usual)
    }
    if (!conversions.isUpdate && (hasInner || presentCount < attributes.length)) {
      for (const { name, absent: value } of absent) if (!Object.hasOwn(result, name)) result[name] = value?.()
      if (hasInner)
        for (const name of embedded)
          if (Object.hasOwn(result, name)) result[name] = parts.get(name)?.convert(result[name])
    }
    return result
  }
}

/** Copies the text of a JSON record's value; a CSV cell is JSON if it parses, otherwise a string. */
function exactJson(record: Fields, column: string, value: unknown): unknown {
  const text = textOf(record)?.at(column).text
  if (text !== undefined) return new JsonText(text.toString())
  if (typeof value !== 'string') return value
  try {
    JSON.parse(value)
    return new JsonText(value)
  } catch {
    return value
  }
}

/** Returns undefined if there is no such attribute. */
function attributeAt(
  attributes: readonly AttributeDefinition[],
  [first, ...inner]: readonly string[],
  conversions: Conversions,
): AttributeDefinition | undefined {
  const found = attributes.find(({ attributeName }) => attributeName === first)
  if (inner.length === 0 || found?.class === undefined) return inner.length === 0 ? found : undefined
  return attributeAt(conversions.attributesOf(found.class) ?? [], inner, conversions)
}

/** Sets the attribute of an embedded object, such as `home.city`. */
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
