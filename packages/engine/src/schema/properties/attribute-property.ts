/** The definition of an attribute property: where it is allowed, its normal form and the values that it rejects (contract 10.1). */
import { unreachable } from '../../errors.ts'
import { codecFor } from '../../types/index.ts'
import { type Codec, formatForMessage, type StepwiseWork, ValueError } from '../../types/logical-type.ts'
import type { CollectionSpec, TypeSpec } from '../../types/type-spec.ts'

/** The attribute that has the property, or the elements of its collection. */
export interface PropertyTarget {
  readonly spec: TypeSpec
  /** For scalars and lists of scalars; undefined for types that refer to classes. */
  readonly codec: Codec | undefined
  readonly isElement: boolean
  /** The attribute belongs to an embeddable class. */
  readonly isEmbeddable: boolean
}

/** A rule for the values of an attribute. */
export interface Constraint {
  /** The field of the definition that states it, such as `minLength`. */
  readonly name: string
  /** Follows the name of the attribute in messages: `has to be at least 3`. */
  readonly requirement: string
  /** `value`: in memory, as its codec reads it; null only for `isRequired`. */
  isSatisfied(value: unknown): boolean
  /** `isSatisfied` in pieces, for values that may have very many parts. */
  isSatisfiedStepwise?(value: unknown): StepwiseWork<boolean>
}

/** The syntax of the property's value, from which REST bodies, DO and the OpenAPI document derive theirs. */
export type PropertyForm =
  | 'flag'
  | 'count'
  | 'word'
  | 'value'
  | 'choices'
  | 'text'
  | 'texts'
  | 'checks'
  | 'expression'
  | 'computed'

export interface AttributeProperty {
  /** In definitions of the REST interface. */
  readonly field: string
  /** Case-insensitive, in the braces of a type in DO. */
  readonly word: string
  readonly form: PropertyForm
  /** The types that allow the property, for messages. */
  readonly types: string
  appliesTo(target: PropertyTarget): boolean
  /** Returns the JSON for the catalog; undefined if it is equivalent to absence. Throws ValueError. */
  define(input: unknown, target: PropertyTarget): unknown
  /** `stored`: the result of `define`. */
  constraint?(stored: unknown, target: PropertyTarget): Constraint
  /** For two different results of `define`: whether every value that satisfies the first also satisfies the second. If missing, unknown. */
  isLooser?(before: unknown, after: unknown, target: PropertyTarget): boolean
  /** Replaces the attribute values in the stored form; missing if the form contains none. */
  mapValues?(stored: unknown, map: (value: unknown) => unknown): unknown
}

/** Fields and their values as given in a definition; null means absent, except for `default`. */
export type PropertiesInput = Readonly<Record<string, unknown>>

/** `words`: the requirement that the field violates. */
export function invalidProperty(field: string, words: string): ValueError {
  const error = new ValueError('InvalidDefinition', `${field} ${words}`)
  error.path = [field]
  return error
}

/** Accepts booleans and their string forms. */
export function defineFlag(field: string, input: unknown, name = field): true | undefined {
  if (input === true || input === 'true') return true
  if (input === false || input === 'false') return undefined
  const error = new ValueError('InvalidDefinition', `${name} must be true or false, not ${formatForMessage(input)}`)
  error.path = [field]
  throw error
}

/** Accepts whole numbers from 0 to `countMax` and their string forms. */
export function defineCount(field: string, input: unknown): number {
  const isDigits = typeof input === 'string' && /^\d{1,15}$/.test(input)
  const count = isDigits || typeof input === 'bigint' ? Number(input) : input
  if (typeof count === 'number' && Number.isInteger(count) && count >= 0 && count <= countMax) return count
  throw invalidProperty(field, `must be an integer from 0 to ${countMax}, not ${formatForMessage(input)}`)
}

const countMax = 1_000_000_000

export type CountRelation = 'at least' | 'at most'

export function isLooserCount(relation: CountRelation, before: unknown, after: unknown): boolean {
  return relation === 'at least' ? (after as number) <= (before as number) : (after as number) >= (before as number)
}

/** `1 element`, `2 elements` */
export function withUnit(count: number, unit: string): string {
  return `${count} ${unit}${count === 1 ? '' : 's'}`
}

/** Returns a value of the attribute as JSON that `JSON.stringify` accepts. Throws ValueError. */
export function defineValue(field: string, input: unknown, { codec }: PropertyTarget): unknown {
  const words = `must ${field === 'enumeration' ? 'contain values' : 'be a value'} of the attribute`
  if (codec === undefined || input === null) throw invalidProperty(field, `${words}, not ${formatForMessage(input)}`)
  try {
    return plainJson(codec.toJson(codec.parse(input)))
  } catch (error) {
    if (!(error instanceof ValueError)) throw error
    throw invalidProperty(field, `${words}: ${error.message}`)
  }
}

/** Integers beyond 2^53 become strings, which codecs also read. */
export function plainJson(json: unknown): unknown {
  if (typeof json === 'bigint') return Number.isSafeInteger(Number(json)) ? Number(json) : String(json)
  return Array.isArray(json) ? json.map(plainJson) : json
}

export function isScalar({ logicalType }: TypeSpec): boolean {
  return !['reference', 'object', 'list', 'set', 'map'].includes(logicalType)
}

export function isCollection(spec: TypeSpec): spec is CollectionSpec {
  return spec.logicalType === 'list' || spec.logicalType === 'set' || spec.logicalType === 'map'
}

/** For types whose values refer to no class. */
export function scalarCodec(spec: TypeSpec): Codec | undefined {
  const valueSpec = spec.logicalType === 'list' ? spec.element : spec
  if (!isScalar(valueSpec)) return undefined
  return codecFor(spec, { embedded: () => unreachable('a scalar embeds no object') })
}
