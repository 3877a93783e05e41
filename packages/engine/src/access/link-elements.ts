/** The elements of collections that are kept as links; each look at all of them yields now and then. */
import { readMapEntries } from '../links/map-entries.ts'
import type { AttributeFormat } from '../records/class-format.ts'
import { targetOfKey } from '../records/link-keys.ts'
import type { Entry } from '../store/store.ts'
import type { Pieces } from '../types/logical-type.ts'
import type { MapPair } from '../types/map.ts'
import { noOid, type Oid, oidFromBytes } from '../types/oid.ts'
import { stepsAtOnce } from './value-references.ts'

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
export function* areSame(
  { linkStorage }: AttributeFormat,
  some: readonly Element[],
  others: readonly Element[],
): Pieces<boolean> {
  if (some.length !== others.length) return false
  let same = 0
  while (same < some.length && isSame(some[same], others[same])) if (++same % stepsAtOnce === 0) yield
  if (same === some.length || linkStorage === 'list') return same === some.length
  const byKey = new Map<unknown, unknown>()
  for (let i = same; i < some.length; i++) {
    if (i % stepsAtOnce === 0) yield
    const element = some[i] as Element
    byKey.set(keyOf(element), targetOf(element))
  }
  for (let i = same; i < others.length; i++) {
    if (i % stepsAtOnce === 0) yield
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
export function* namedBy({ attribute: { spec } }: AttributeFormat, elements: readonly Element[]): Pieces<Oid[]> {
  const isByReference = spec.logicalType === 'map' && spec.key.logicalType === 'reference'
  const named: Oid[] = []
  const add = (oid: Oid): void => {
    if (oid !== noOid) named.push(oid)
  }
  let steps = 0
  for (const element of elements) {
    if (++steps % stepsAtOnce === 0) yield
    if (typeof element === 'object') {
      if (isByReference) add(element.key as Oid)
      add(element.value as Oid)
    } else add(element)
  }
  return named
}

/** Of pairs; elements of a set have no key. */
export function* holdsKeyOf(pairs: readonly Element[], others: readonly Element[]): Pieces<boolean> {
  const keys = new Set<unknown>()
  let steps = 0
  for (const pair of others) {
    if (++steps % stepsAtOnce === 0) yield
    if (typeof pair === 'object') keys.add(pair.key)
  }
  for (const pair of pairs) {
    if (++steps % stepsAtOnce === 0) yield
    if (typeof pair === 'object' && keys.has(pair.key)) return true
  }
  return false
}

export function* filtered<T>(all: readonly T[], isKept: (one: T) => boolean): Pieces<T[]> {
  const kept: T[] = []
  let steps = 0
  for (const one of all) {
    if (++steps % stepsAtOnce === 0) yield
    if (isKept(one)) kept.push(one)
  }
  return kept
}

/** For looks at them by what they are. */
export function* setOf<T, K>(all: readonly T[], keyIn: (one: T) => K): Pieces<Set<K>> {
  const keys = new Set<K>()
  let steps = 0
  for (const one of all) {
    if (++steps % stepsAtOnce === 0) yield
    keys.add(keyIn(one))
  }
  return keys
}
