/** What a command does to the attributes of an object: values are in memory, as the codecs of the attributes have taken them. */
import type { MapPair } from '../types/map.ts'
import type { AttributeFormat } from './class-format.ts'

/**
 * Of a list whose elements were edited one by one: at which position of the list, as whoever changes it saw it, each element was; undefined for a new one.
 */
export type ElementOrigins = readonly (number | undefined)[]

/** The values are those that `Codec.parse` or `Codec.accept` returned, so they are not checked again. */
export type ValueChange =
  /** The whole value; of a collection all its elements, or pairs. Null for types that have a null. */
  | { readonly kind: 'set'; readonly value: unknown; readonly origins?: ElementOrigins }
  /** To the end of a list; to a set those that it has not. */
  | { readonly kind: 'add'; readonly elements: readonly unknown[] }
  /** Every equal element of a list or set. */
  | { readonly kind: 'remove'; readonly elements: readonly unknown[] }
  | { readonly kind: 'putPairs'; readonly pairs: readonly MapPair[] }
  | { readonly kind: 'removeKeys'; readonly keys: readonly unknown[] }
  /** Of an embedded object these attributes, in this order; the others stay as they are. */
  | { readonly kind: 'merge'; readonly fields: readonly AttributeChange[] }

export interface AttributeChange {
  /** Of the class of the object, or of the embedded one. */
  readonly attribute: AttributeFormat
  /** The attribute as the command spells it, for errors. */
  readonly name: string
  readonly change: ValueChange
}
