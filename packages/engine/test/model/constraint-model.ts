/** A plain model of constraints (contract 10.1): which values a class refuses, and what a creation leaves in it. */

export interface ModelElement {
  readonly logicalType: string
  readonly enumeration?: readonly (string | number)[]
  readonly minimum?: number | string
  readonly maximum?: number | string
  readonly exclusiveMinimum?: number | string
  readonly exclusiveMaximum?: number | string
  readonly minLength?: number
  readonly maxLength?: number
  readonly pattern?: string
}

export interface ModelAttribute extends ModelElement {
  readonly isRequired?: boolean
  readonly default?: unknown
  readonly minItems?: number
  readonly maxItems?: number
  readonly uniqueItems?: boolean
  readonly isReadOnly?: boolean
  readonly elementSpecification?: ModelElement
}

export type ModelClass = Readonly<Record<string, ModelAttribute>>
export type ModelObject = Record<string, unknown>

/** Violations as `attribute constraint`, in any order; those of elements by the attribute that has them. */
export function violationsOf(cls: ModelClass, object: ModelObject, before?: ModelObject): string[] {
  const found = new Set<string>()
  for (const [name, attribute] of Object.entries(cls)) {
    const value = object[name]
    if (before !== undefined && isSame(value, before[name])) continue
    if (attribute.isRequired === true && value === null) found.add(`${name} isRequired`)
    if (before !== undefined && attribute.isReadOnly === true) found.add(`${name} isReadOnly`)
    if (value === null) continue
    for (const broken of brokenBy(attribute, value)) found.add(`${name} ${broken}`)
    if (!Array.isArray(value)) continue
    if (value.length < (attribute.minItems ?? 0)) found.add(`${name} minItems`)
    if (value.length > (attribute.maxItems ?? Number.POSITIVE_INFINITY)) found.add(`${name} maxItems`)
    if (attribute.uniqueItems === true && new Set(value).size < value.length) found.add(`${name} uniqueItems`)
    for (const element of value) {
      // Of an element, the first constraint that it violates is reported.
      const [first] = element === null ? [] : brokenBy(attribute.elementSpecification ?? attribute, element)
      if (first !== undefined) found.add(`${name} ${first}`)
    }
  }
  return [...found].sort()
}

/** Whether the definition is accepted: its lower bounds leave a value below its upper ones, and its enumeration as many as it needs. */
export function isSatisfiable(attribute: ModelAttribute): boolean {
  const { elementSpecification: element, ...own } = attribute
  if ((own.minLength ?? 0) > (own.maxLength ?? Number.POSITIVE_INFINITY)) return false
  if ((own.minItems ?? 0) > (own.maxItems ?? Number.POSITIVE_INFINITY)) return false
  const values = own.enumeration ?? { integer: smallIntegers, date: somedays }[own.logicalType as string]
  if (values !== undefined && countOf(values, own) === 0) return false
  if (element === undefined) return true
  const { enumeration, maxLength } = element
  const different =
    enumeration === undefined ? (maxLength === 0 ? 1 : Number.POSITIVE_INFINITY) : countOf(enumeration, element)
  const isEnough = own.uniqueItems !== true || different >= (own.minItems ?? 0)
  return isEnough && isSatisfiable(element)
}

function countOf(values: readonly (string | number)[], rules: ModelElement): number {
  return values.filter((value) => [...brokenBy(rules, value)].length === 0).length
}

const smallIntegers = Array.from({ length: 11 }, (_, i) => i - 5)
/** Bounds of the tests, and the days beside them. */
const somedays = ['1999-12-31', '2000-01-01', '2024-02-29', '2099-01-01'].flatMap((day) =>
  [-1, 0, 1].map((days) => new Date(Date.parse(day) + days * 86_400_000).toISOString().slice(0, 10)),
)

/** What a creation holds that gives these attributes. */
export function created(cls: ModelClass, given: ModelObject): ModelObject {
  return Object.fromEntries(
    Object.entries(cls).map(([name, attribute]) => [name, name in given ? given[name] : leftOut(attribute)]),
  )
}

function leftOut(attribute: ModelAttribute): unknown {
  if (attribute.logicalType === 'list') return attribute.default ?? []
  const isNone = attribute.default === undefined || (attribute.default === null && attribute.isRequired === true)
  if (!isNone) return attribute.default
  if (attribute.isRequired === true) return null
  const ofType = { integer: 0, string: '', date: null }[attribute.logicalType] as unknown
  return ofType !== null && [...brokenBy(attribute, ofType)].length === 0 ? ofType : null
}

function* brokenBy(rules: ModelElement, value: unknown): Generator<string> {
  if (Array.isArray(value)) return
  // Dates of four-digit years are in the order of their texts.
  const comparable = value as number | string
  if (rules.enumeration !== undefined && !rules.enumeration.includes(comparable)) yield 'enumeration'
  if (rules.minimum !== undefined && comparable < rules.minimum) yield 'minimum'
  if (rules.maximum !== undefined && comparable > rules.maximum) yield 'maximum'
  if (rules.exclusiveMinimum !== undefined && comparable <= rules.exclusiveMinimum) yield 'exclusiveMinimum'
  if (rules.exclusiveMaximum !== undefined && comparable >= rules.exclusiveMaximum) yield 'exclusiveMaximum'
  if (typeof value !== 'string') return
  const length = [...value].length
  if (length < (rules.minLength ?? 0)) yield 'minLength'
  if (length > (rules.maxLength ?? Number.POSITIVE_INFINITY)) yield 'maxLength'
  if (rules.pattern !== undefined && !new RegExp(rules.pattern, 'u').test(value)) yield 'pattern'
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}
