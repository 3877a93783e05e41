/** The elements of a collection, and how each becomes the context that an expression sees. */
import type { MapPair } from '../../types/map.ts'
import type { Oid } from '../../types/oid.ts'
import { isReference, type ValueType } from '../values/value-type.ts'
import type { EvaluationContext } from './evaluation-context.ts'
import type { ObjectView } from './object-view.ts'

/** Of a map: its values. */
export function elementsIn(type: ValueType): (held: unknown) => readonly unknown[] {
  if (type.kind !== 'map') return (held) => held as readonly unknown[]
  return (held) => (held as readonly MapPair[]).map(({ value }) => value)
}

/** Elements in the order in which a slot is filled with them; references are announced to the reader first. */
export function slotElements(type: ValueType): (evaluation: EvaluationContext, held: unknown) => readonly unknown[] {
  const elements = elementsIn(type)
  const isFollowed = (type.kind === 'collection' || type.kind === 'map') && isReference(type.element)
  if (!isFollowed) return (_evaluation, held) => elements(held)
  return (evaluation, held) => {
    const references = elements(held)
    evaluation.reader.prefetch(references)
    return references
  }
}

/** A reference becomes the object that it names; anything else stands for itself. */
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
    // Where a row goes on after it was broken off, the object is there still.
    else if ((slots[slot] as ObjectView | undefined)?.oid !== value) slots[slot] = reader.object(value as Oid)
  }
}
