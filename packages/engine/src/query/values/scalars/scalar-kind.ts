/** What the query language does with values of one scalar kind: order, texts, JSON, keys, CAST and arithmetic. */
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
export type Convert = (value: unknown) => unknown

/** By the kind on the other side; a kind that is not there has nothing to do with this one. */
export type ByKind<T> = { readonly [Kind in ScalarKind]?: T }

/** Values are as the codec reads them, and never null. `type`: says whether reals are single. */
export interface ScalarDefinition {
  /** Of the widest form of the kind. */
  readonly codec: Codec
  /** Its names as a type of CAST, in lower case. */
  readonly words: readonly string[]
  /** A value may be so long that it takes time to read, compare or copy it. */
  readonly isLong: boolean
  /** The type that holds values of `own`, which is of this kind, and of `other`; undefined where this kind knows of none. */
  commonWith(own: ScalarType, other: ScalarType): ScalarType | undefined
  /**
   * The order among values of this kind and of others. Between two kinds it is enough that one of them has it. An index holds values of its
   * own kind only: what is compared with it and is not a number is in `coerceFrom` too.
   */
  readonly compareWith: ByKind<Compare>
  /** The value that a text stands for, where one of this kind is meant. Throws ValueError. */
  ofText(text: string, formats: TextFormats): unknown
  /** What CAST makes a text of. */
  toText(value: unknown, type: ScalarType): string
  /** What CAST makes of values of other kinds, and other kinds of values of this one; null where there is no such value. Texts: above. */
  readonly castFrom: ByKind<Convert>
  readonly castTo: ByKind<Convert>
  /** How values of other kinds are taken where one of this kind is meant, without CAST. Throws ValueError. */
  readonly coerceFrom: ByKind<Convert>
  /** Plain data, in which whole numbers may be bigints. */
  toJson(value: unknown, type: ScalarType): unknown
  /** JSON text, as `toJson` says; what JSON has no number for is null. */
  writeJson(json: JsonWriter, value: unknown, type: ScalarType): void
  /** A part of a key for ORDER BY and GROUP BY: in the order of the values, and equal exactly where they are. */
  writeKey(value: unknown, writer: KeyWriter): void
  /** Of `one` and `other`, of which at least one is of this kind; undefined where the operator does not stand between them. */
  arithmetic?(operator: OperatorName, one: ScalarType, other: ScalarType): Arithmetic | undefined
  /** A minus before it. */
  negate?(value: unknown): unknown
  /** SUM and AVG. */
  readonly total?: Total
}

export interface Arithmetic {
  readonly type: ValueType
  /** Of values that are not null. Undefined = beyond what the type holds. */
  readonly calculate: (one: never, other: never) => unknown
}

export interface Total {
  readonly sumType: ScalarType
  /** Undefined = beyond what the type holds. */
  add(sum: unknown, value: unknown): unknown
  readonly averageType: ScalarType
  /** `mean`: of the values as doubles. */
  average?(mean: number): unknown
  /** Of the total of so many values, instead; undefined = beyond what the type holds. */
  exactAverage?(total: unknown, count: number): unknown
}

/** No order among other kinds, no way to them but over texts, and no arithmetic. */
export const apart = { castFrom: {}, castTo: {}, coerceFrom: {} } as const

/** `commonWith` of kinds that go with none but themselves. */
export function sameKind(own: ScalarType, other: ScalarType): ScalarType | undefined {
  return own.kind === other.kind ? own : undefined
}

/** The codec of a type, with its key: what every scalar type has. */
export function codecOf(spec: ScalarSpec): Codec & { readonly key: KeyCodec } {
  const codec = codecFor(spec, {
    embedded: () => {
      unreachable('scalars embed nothing')
    },
  })
  assert(codec.key !== undefined, 'scalars have an order')
  return codec as Codec & { readonly key: KeyCodec }
}

/** Numbers mix with bigints exactly. */
export function comparePlain(one: unknown, other: unknown): number {
  const [a, b] = [one as number, other as number]
  if (a < b) return -1
  return a > b ? 1 : a <= b ? 0 : Number.NaN
}
