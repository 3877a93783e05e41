/** Finds where the expression of a check counts the elements of collections of references (contract 10.6.21). */
import { type Bound, operandsOf } from '../query/bind/bound.ts'
import { isMany, isReference } from '../query/values/value-type.ts'
import type { AttributeNumber } from '../types/type-spec.ts'

type Fold = Extract<Bound, { kind: 'fold' }>
type LinkCount = Fold & { readonly collection: Extract<Bound, { kind: 'attribute' }> }

/** Whether it is the number of elements of a collection of the object in `slot` that is stored as links. */
export function isLinkCount(bound: Bound, slot: number): bound is LinkCount {
  if (bound.kind !== 'fold' || !bound.countsNulls || bound.collection.kind !== 'attribute') return false
  return bound.collection.slot === slot && bound.collection.attribute.linkStorage !== undefined
}

/** The collections whose links are counted, and the number from which on further links make no difference. */
export function countedLinks(bound: Bound, slot: number): ReadonlyMap<AttributeNumber, number> {
  const counted = new Map<AttributeNumber, number>()
  const find = (part: Bound, max: number): void => {
    if (isLinkCount(part, slot)) {
      const { number } = part.collection.attribute
      counted.set(number, Math.max(counted.get(number) ?? 0, max))
    } else if (part.kind === 'compare') {
      find(part.left, maxComparedWith(part.right))
      find(part.right, maxComparedWith(part.left))
    } else for (const one of operandsOf(part)) find(one, Number.POSITIVE_INFINITY)
  }
  find(bound, Number.POSITIVE_INFINITY)
  return counted
}

/** One more than the constant with which a number of links is compared. */
function maxComparedWith(compared: Bound): number {
  if (compared.kind !== 'constant' || typeof compared.value !== 'number') return Number.POSITIVE_INFINITY
  return Math.max(0, Math.floor(compared.value)) + 1
}

/** Whether it counts any collection of references, however that is stored. */
export function countsReferences(bound: Bound): boolean {
  if (bound.kind === 'fold' && bound.countsNulls) {
    const { type } = bound.collection
    if (isMany(type) && isReference(type.element)) return true
  }
  return operandsOf(bound).some(countsReferences)
}
