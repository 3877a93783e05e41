/** The ways to the objects of a source, and what can be asked of each of them. Plain data; EXPLAIN shows it. */
import type { IndexKeyFormat } from '../../indexes/index-key.ts'
import type { SchemaClass } from '../../schema/catalog.ts'
import type { BoundAttribute } from '../bind/bound.ts'
import type { Evaluate } from '../evaluate/run.ts'

/** A value that is known before the rows, fitting for the key attribute. */
export interface KeyValue {
  readonly evaluate: Evaluate
  /** As written, for EXPLAIN. */
  readonly text: string
}

export interface KeyRangeEnd extends KeyValue {
  readonly isInclusive: boolean
}

export interface IndexAccess {
  readonly kind: 'index'
  readonly format: IndexKeyFormat
  /** For the first key attributes, in order: one value, or any of several (IN). Null means: is null. */
  readonly equal: readonly KeyEquality[]
  readonly lower: KeyRangeEnd | undefined
  readonly upper: KeyRangeEnd | undefined
  /** Some key attributes are texts, which entries hold cut: what is found is checked on the object. */
  readonly isTruncated: boolean
}

export type KeyEquality =
  | { readonly kind: 'value'; readonly value: KeyValue }
  | { readonly kind: 'anyOf'; readonly values: KeyValue }
  | { readonly kind: 'null' }

/** OIDs that are known before the rows: a reference, or a collection of them. */
export interface ObjectsAccess {
  readonly kind: 'objects'
  readonly references: KeyValue
}

/** From objects found by another access back over references: who refers to them by the attribute. */
export interface ReverseAccess {
  readonly kind: 'reverse'
  readonly inner: Access
  /** The class whose objects are found first. */
  readonly cls: SchemaClass
  readonly attribute: BoundAttribute
  readonly way: ReverseWay
}

export type ReverseWay =
  /** The partner attribute of a bidirectional link, on the objects found first. */
  | { readonly kind: 'inverse'; readonly inverse: BoundAttribute }
  /** An index whose first key attribute is the reference. */
  | { readonly kind: 'index'; readonly format: IndexKeyFormat }

export interface UnionAccess {
  readonly kind: 'union'
  readonly parts: readonly Access[]
}

export interface ExtentAccess {
  readonly kind: 'extent'
  readonly classes: readonly SchemaClass[]
}

/** The objects of the rows in the order of an index, which is the one asked for. */
export interface OrderedAccess {
  readonly kind: 'ordered'
  readonly index: IndexAccess
  readonly isReverse: boolean
}

export type Access = IndexAccess | ObjectsAccess | ReverseAccess | UnionAccess | ExtentAccess
