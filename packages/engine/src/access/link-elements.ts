/** The elements of collections that are kept as links. */
import { readMapEntries } from '../links/map-entries.ts'
import type { AttributeFormat } from '../records/class-format.ts'
import { targetOfKey } from '../records/link-keys.ts'
import type { Entry } from '../store/store.ts'
import type { MapPair } from '../types/map.ts'
import { noOid, type Oid, oidFromBytes } from '../types/oid.ts'

/** Of a map, a pair. */
export type Element = Oid | MapPair

/** What a collection holds: references, or the pairs of a map. */
export interface Held {
  readonly all: readonly Element[]
  readonly seen: readonly Element[]
  readonly hidden: readonly Element[]
}

export function elementsOf(attribute: AttributeFormat, entries: readonly Entry[]): Element[] {
  if (attribute.linkStorage === 'map') {
    return readMapEntries(attribute, entries).map(({ key, target }) => ({ key, value: target }))
  }
  const isSet = attribute.linkStorage === 'set'
  return entries.map(({ key, value }) => (isSet ? targetOfKey(key) : oidFromBytes(value, 0)))
}

/** Of lists in the same order. */
export function areSame(
  { linkStorage }: AttributeFormat,
  some: readonly Element[],
  others: readonly Element[],
): boolean {
  if (some.length !== others.length) return false
  let same = 0
  while (same < some.length && isSame(some[same], others[same])) same++
  if (same === some.length || linkStorage === 'list') return same === some.length
  const byKey = new Map<unknown, unknown>()
  for (let i = same; i < some.length; i++) {
    const element = some[i] as Element
    byKey.set(keyOf(element), targetOf(element))
  }
  for (let i = same; i < others.length; i++) {
    const element = others[i] as Element
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

/** The objects that elements or pairs name. */
export function namedBy({ attribute: { spec } }: AttributeFormat, elements: readonly Element[]): Oid[] {
  const isByReference = spec.logicalType === 'map' && spec.key.logicalType === 'reference'
  const named: Oid[] = []
  const add = (oid: Oid): void => {
    if (oid !== noOid) named.push(oid)
  }
  for (const element of elements) {
    if (typeof element === 'object') {
      if (isByReference) add(element.key as Oid)
      add(element.value as Oid)
    } else add(element)
  }
  return named
}

/** Of pairs; elements of a set have no key. */
export function holdsKeyOf(pairs: readonly Element[], others: readonly Element[]): boolean {
  const keys = new Set<unknown>()
  for (const pair of others) if (typeof pair === 'object') keys.add(pair.key)
  return pairs.some((pair) => typeof pair === 'object' && keys.has(pair.key))
}
