/** What an attribute property is: where it may stand, its normal form, and the values that it refuses (contract 10.1). */
import { type Codec, formatForMessage, ValueError } from '../../types/logical-type.ts'
import type { TypeSpec } from '../../types/type-spec.ts'

/** The attribute that a property is given to, or the elements of one. */
export interface PropertyTarget {
  readonly spec: TypeSpec
  /** Of scalars and of lists of scalars; undefined for types that refer to classes. */
  readonly codec: Codec | undefined
  readonly isElement: boolean
  /** The attribute belongs to an embeddable class. */
  readonly isEmbeddable: boolean
}

/** A rule that values of an attribute satisfy. */
export interface Constraint {
  /** The field of the definition that states it, such as `minLength`. */
  readonly name: string
  /** What a value has to be, to follow the name of the attribute: `has to be at least 3`. */
  readonly requirement: string
  /** `value` is in memory, as its codec reads it, and not null, except for `isRequired`. */
  isSatisfied(value: unknown): boolean
}

/** How the value of a property is written: REST bodies, DO and the OpenAPI document derive their syntax from it. */
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
  /** In the braces of a type in DO; case-insensitive. */
  readonly word: string
  readonly form: PropertyForm
  /** The types that may have it, for messages. */
  readonly types: string
  appliesTo(target: PropertyTarget): boolean
  /** The JSON that the catalog keeps; undefined where it says no more than its absence. Throws ValueError. */
  define(given: unknown, target: PropertyTarget): unknown
  /** `stored`: what `define` returned. */
  constraint?(stored: unknown, target: PropertyTarget): Constraint
  /** Of different ones, as `define` returned them: whether what satisfies the first surely satisfies the second. Without it, nobody knows. */
  isLooser?(before: unknown, after: unknown, target: PropertyTarget): boolean
  /** The stored form with its values of the attribute replaced; without it there are none in it. */
  mapValues?(stored: unknown, map: (value: unknown) => unknown): unknown
}

/** Fields and their values as a definition gives them; null stands for a field that is not given, except for `default`. */
export type GivenProperties = Readonly<Record<string, unknown>>

/** Throws ValueError: `words` say what the field has to be. */
export function invalidProperty(field: string, words: string): ValueError {
  const error = new ValueError('InvalidDefinition', `${field} ${words}`)
  error.path = [field]
  return error
}

/** True or false, also as a string. */
export function defineFlag(field: string, given: unknown): true | undefined {
  if (given === true || given === 'true') return true
  if (given === false || given === 'false') return undefined
  throw invalidProperty(field, `is true or false, not ${formatForMessage(given)}`)
}

/** A whole number from 0 to `countMax`, also as a string. */
export function defineCount(field: string, given: unknown): number {
  const isDigits = typeof given === 'string' && /^\d{1,15}$/.test(given)
  const count = isDigits || typeof given === 'bigint' ? Number(given) : given
  if (typeof count === 'number' && Number.isInteger(count) && count >= 0 && count <= countMax) return count
  throw invalidProperty(field, `is a whole number from 0 to ${countMax}, not ${formatForMessage(given)}`)
}

const countMax = 1_000_000_000

export type CountRelation = 'at least' | 'at most'

export function isLooserCount(relation: CountRelation, before: unknown, after: unknown): boolean {
  return relation === 'at least' ? (after as number) <= (before as number) : (after as number) >= (before as number)
}

/** `1 element`, `2 elements` */
export function counted(count: number, unit: string): string {
  return `${count} ${unit}${count === 1 ? '' : 's'}`
}

/** A value of the attribute, as JSON that `JSON.stringify` can write. Throws ValueError. */
export function defineValue(field: string, given: unknown, { codec }: PropertyTarget): unknown {
  if (codec === undefined || given === null) throw invalidProperty(field, `is not ${formatForMessage(given)}`)
  try {
    return plainJson(codec.toJson(codec.parse(given)))
  } catch (error) {
    if (!(error instanceof ValueError)) throw error
    throw invalidProperty(field, `is a value of the attribute: ${error.message}`)
  }
}

/** Integers beyond 2^53 become strings, which codecs read too. */
export function plainJson(json: unknown): unknown {
  if (typeof json === 'bigint') return Number.isSafeInteger(Number(json)) ? Number(json) : String(json)
  return Array.isArray(json) ? json.map(plainJson) : json
}

export function isScalar({ logicalType }: TypeSpec): boolean {
  return !['reference', 'object', 'list', 'set', 'map'].includes(logicalType)
}

export function isCollection({ logicalType }: TypeSpec): boolean {
  return logicalType === 'list' || logicalType === 'set' || logicalType === 'map'
}
