/** Elements of a collection, and how each of them fills a slot. */
import type { MapPair } from '../../types/map.ts'
import type { Oid } from '../../types/oid.ts'
import { isReference, type ValueType } from '../values/value-type.ts'
import type { EvaluationContext } from './evaluation-context.ts'
import type { ObjectView } from './object-view.ts'

/** The values, for a map. */
export function elementsIn(type: ValueType): (collection: unknown) => readonly unknown[] {
  if (type.kind !== 'map') return (collection) => collection as readonly unknown[]
  return (collection) => (collection as readonly MapPair[]).map(({ value }) => value)
}

/** Elements in the order in which they fill the slot; references are prefetched. */
export function slotElements(
  type: ValueType,
): (evaluation: EvaluationContext, collection: unknown) => readonly unknown[] {
  const elements = elementsIn(type)
  const isFollowed = (type.kind === 'collection' || type.kind === 'map') && isReference(type.element)
  if (!isFollowed) return (_evaluation, collection) => elements(collection)
  return (evaluation, collection) => {
    const references = elements(collection)
    evaluation.reader.prefetch(references)
    return references
  }
}

/** A reference fills the slot with its object, any other element with its value. */
export function slotFiller(
  collection: ValueType,
  slot: number,
): (evaluation: EvaluationContext, element: unknown) => void {
  const element = collection.kind === 'collection' || collection.kind === 'map' ? collection.element : collection
  if (!isReference(element)) {
    return ({ slots }, value) => {
      slots[slot] = value
    }
  }
  return ({ slots, reader }, value) => {
    if (value === null || value === undefined) slots[slot] = undefined
    // When a row is evaluated again, the object is still in the slot.
    else if ((slots[slot] as ObjectView | undefined)?.oid !== value) slots[slot] = reader.object(value as Oid)
  }
}
