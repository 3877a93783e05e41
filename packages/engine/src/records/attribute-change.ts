/** The changes that commands make to attributes, with values in memory, as accepted by the codecs of the attributes. */
import type { MapPair } from '../types/map.ts'
import type { AttributeFormat } from './class-format.ts'

/**
 * For a list whose elements were edited individually: the position of each element in the list that the client edited;
 * undefined for a new element.
 */
export type ElementOrigins = readonly (number | undefined)[]

/** Values come from `Codec.parse` or `Codec.accept` and are not checked again. */
export type ValueChange =
  /** The whole value; for a collection all its elements or pairs. Null for nullable types. */
  | { readonly kind: 'set'; readonly value: unknown; readonly origins?: ElementOrigins }
  /** Appends to a list; adds missing elements to a set. */
  | { readonly kind: 'add'; readonly elements: readonly unknown[] }
  /** Removes every equal element of a list or set. */
  | { readonly kind: 'remove'; readonly elements: readonly unknown[] }
  | { readonly kind: 'putPairs'; readonly pairs: readonly MapPair[] }
  | { readonly kind: 'removeKeys'; readonly keys: readonly unknown[] }
  /** Changes these attributes of an embedded object in this order. */
  | { readonly kind: 'merge'; readonly fields: readonly AttributeChange[] }

export interface AttributeChange {
  /** Of the class of the object or of the embedded one. */
  readonly attribute: AttributeFormat
  /** The name as spelled in the command, for errors. */
  readonly name: string
  readonly change: ValueChange
}
