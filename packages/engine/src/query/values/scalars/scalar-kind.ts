/** Interface of a scalar kind in the query language: order, texts, JSON, keys, CAST and arithmetic. */
import type { JsonWriter } from '../../../bytes/json-writer.ts'
import type { KeyWriter } from '../../../bytes/key-writer.ts'
import { assert, unreachable } from '../../../errors.ts'
import { codecFor } from '../../../types/index.ts'
import type { Codec, KeyCodec } from '../../../types/logical-type.ts'
import type { ScalarSpec } from '../../../types/type-spec.ts'
import type { OperatorName } from '../../language/operators.ts'
import type { TextFormats } from '../text-format.ts'
import type { ScalarKind, ScalarType, ValueType } from '../value-type.ts'

/** Negative, zero or positive. */
export type Compare = (one: unknown, other: unknown) => number
export type ConvertScalar = (value: unknown) => unknown

/** Indexed by the other kind; a missing entry means the two kinds don't combine. */
export type ByKind<T> = { readonly [Kind in ScalarKind]?: T }

/** Values are in the codec's representation and never null. `type` distinguishes single reals. */
export interface ScalarDefinition {
  /** The codec of the widest form of the kind. */
  readonly codec: Codec
  /** Names of the type in CAST, in lower case. */
  readonly words: readonly string[]
  /** Values may be so long that reading, comparing or copying one takes noticeable time. */
  readonly isLong: boolean
  /** The common type of `own`, which is of this kind, and `other`; undefined if this kind defines none. */
  commonWith(own: ScalarType, other: ScalarType): ScalarType | undefined
  /**
   * The order relative to other kinds; one of two kinds has to define it. An index holds values of one kind only, so a kind here that is not
   * numeric must be in `coerceFrom`, too.
   */
  readonly compareWith: ByKind<Compare>
  /** The value denoted by a text where this kind is expected. Throws ValueError. */
  fromText(text: string, formats: TextFormats): unknown
  /** The result of CAST to a text. */
  toText(value: unknown, type: ScalarType): string
  /** CAST from and to other kinds, except texts (above); null if there is no such value. */
  readonly castFrom: ByKind<ConvertScalar>
  readonly castTo: ByKind<ConvertScalar>
  /** Implicit conversions from other kinds. Throws ValueError. */
  readonly coerceFrom: ByKind<ConvertScalar>
  /** Plain data, in which whole numbers may be bigints. */
  toJson(value: unknown, type: ScalarType): unknown
  /** JSON text of the same content; a number that JSON cannot represent is null. */
  writeJson(json: JsonWriter, value: unknown, type: ScalarType): void
  /** A part of a key for ORDER BY and GROUP BY: it preserves order and equality of values. */
  writeKey(value: unknown, writer: KeyWriter): void
  /** At least one operand is of this kind; undefined if the operator is not defined for the types. */
  arithmetic?(operator: OperatorName, one: ScalarType, other: ScalarType): Arithmetic | undefined
  negate?(value: unknown): unknown
  /** Implements SUM and AVG. */
  readonly total?: Total
}

export interface Arithmetic {
  readonly type: ValueType
  /** Called with values that are not null. Undefined on overflow of the type. */
  readonly calculate: (one: never, other: never) => unknown
}

export interface Total {
  readonly sumType: ScalarType
  /** Undefined on overflow of the type. */
  add(sum: unknown, value: unknown): unknown
  readonly averageType: ScalarType
  /** `mean`: the mean of the values as doubles. */
  average?(mean: number): unknown
  /** Used instead of `average`, with the sum and number of the values; undefined on overflow. */
  exactAverage?(total: unknown, count: number): unknown
}

/** No conversions to or from other kinds except texts, and no arithmetic. */
export const apart = { castFrom: {}, castTo: {}, coerceFrom: {} } as const

/** `commonWith` of a kind that combines only with itself. */
export function sameKind(own: ScalarType, other: ScalarType): ScalarType | undefined {
  return own.kind === other.kind ? own : undefined
}

/** The codec of a scalar type, which always has a key. */
export function codecOf(spec: ScalarSpec): Codec & { readonly key: KeyCodec } {
  const codec = codecFor(spec, {
    embedded: () => {
      unreachable('scalars embed nothing')
    },
  })
  assert(codec.key !== undefined, 'scalars have an order')
  return codec as Codec & { readonly key: KeyCodec }
}

export function comparePlain(one: unknown, other: unknown): number {
  const [a, b] = [one as number, other as number]
  if (a < b) return -1
  return a > b ? 1 : a <= b ? 0 : Number.NaN
}
