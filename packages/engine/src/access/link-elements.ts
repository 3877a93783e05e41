/** Elements of collections that are stored as links. */
import { readMapEntries } from '../links/map-entries.ts'
import type { AttributeFormat } from '../records/class-format.ts'
import { targetOfKey } from '../records/link-keys.ts'
import type { Entry } from '../store/store.ts'
import type { MapPair } from '../types/map.ts'
import { noOid, type Oid, oidFromBytes } from '../types/oid.ts'

/** A pair, for a map. */
export type Element = Oid | MapPair

/** Elements of a collection, by visibility. */
export interface CollectionParts {
  readonly all: readonly Element[]
  readonly visible: readonly Element[]
  readonly hidden: readonly Element[]
}

export function linkElementsOf(attribute: AttributeFormat, entries: readonly Entry[]): Element[] {
  if (attribute.linkStorage === 'map') {
    return readMapEntries(attribute, entries).map(({ key, target }) => ({ key, value: target }))
  }
  const isSet = attribute.linkStorage === 'set'
  return entries.map(({ key, value }) => (isSet ? targetOfKey(key) : oidFromBytes(value, 0)))
}

/** Order matters for lists only. */
export function areSame(
  { linkStorage }: AttributeFormat,
  left: readonly Element[],
  right: readonly Element[],
): boolean {
  if (left.length !== right.length) return false
  let same = 0
  while (same < left.length && isSame(left[same], right[same])) same++
  if (same === left.length || linkStorage === 'list') return same === left.length
  const byKey = new Map<unknown, unknown>()
  for (let i = same; i < left.length; i++) {
    const element = left[i] as Element
    byKey.set(keyOf(element), targetOf(element))
  }
  for (let i = same; i < right.length; i++) {
    const element = right[i] as Element
    if (byKey.get(keyOf(element)) !== targetOf(element)) return false
  }
  return true
}

function isSame(one: Element | undefined, other: Element | undefined): boolean {
  if (typeof one !== 'object' || typeof other !== 'object') return one === other
  return one.key === other.key && one.value === other.value
}

/** An element of a set is its own key. */
function keyOf(element: Element): unknown {
  return typeof element === 'object' ? element.key : element
}

function targetOf(element: Element): unknown {
  return typeof element === 'object' ? element.value : element
}

/** The objects that elements or pairs refer to. */
export function referencedBy({ attribute: { spec } }: AttributeFormat, elements: readonly Element[]): Oid[] {
  const isByReference = spec.logicalType === 'map' && spec.key.logicalType === 'reference'
  const references: Oid[] = []
  const add = (oid: Oid): void => {
    if (oid !== noOid) references.push(oid)
  }
  for (const element of elements) {
    if (typeof element === 'object') {
      if (isByReference) add(element.key as Oid)
      add(element.value as Oid)
    } else add(element)
  }
  return references
}

/** Whether two sets of pairs share a key; elements of a set have none. */
export function holdsKeyOf(pairs: readonly Element[], otherPairs: readonly Element[]): boolean {
  const keys = new Set<unknown>()
  for (const pair of otherPairs) if (typeof pair === 'object') keys.add(pair.key)
  return pairs.some((pair) => typeof pair === 'object' && keys.has(pair.key))
}
