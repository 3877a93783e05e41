/** Every reference within a value that is kept in a record: alone, in collections and in embedded objects. */
import type { Oid } from '../types/oid.ts'
import { noOid } from '../types/oid.ts'
import type { ClassNumber, MapSpec, ReferenceSpec, TypeSpec } from '../types/type-spec.ts'
import type { FormatSource } from './class-format.ts'
import type { MapPair } from './collection-change.ts'

export type VisitReference = (target: Oid, referencedClass: ClassNumber) => void

function visitReferences(spec: TypeSpec, value: unknown, formats: FormatSource, visit: VisitReference): void {
  switch (spec.logicalType) {
    case 'reference':
      visitOne(spec, value, visit)
      return
    case 'object': {
      const values = value as readonly unknown[]
      for (const { attribute, index } of formats.byNumber(spec.class).attributes) {
        visitReferences(attribute.spec, values[index], formats, visit)
      }
      return
    }
    case 'list':
    case 'set':
      if (!holdsReferences(spec.element)) return
      for (const element of value as readonly unknown[]) visitReferences(spec.element, element, formats, visit)
      return
    case 'map':
      for (const pair of value as readonly MapPair[]) {
        if (spec.key.logicalType === 'reference') visitOne(spec.key, pair.key, visit)
        visitOne(spec.element, pair.value, visit)
      }
      return
    default:
  }
}

function visitOne(spec: ReferenceSpec, value: unknown, visit: VisitReference): void {
  if (value !== noOid) visit(value as Oid, spec.referencedClass)
}

/** False where no value of the type can hold a reference. */
export function mayHoldReferences(spec: TypeSpec): boolean {
  switch (spec.logicalType) {
    case 'list':
    case 'set':
      return holdsReferences(spec.element)
    case 'map':
    case 'reference':
    case 'object':
      return true
    default:
      return false
  }
}

function holdsReferences(element: TypeSpec): boolean {
  return element.logicalType === 'reference' || element.logicalType === 'object'
}

/**
 * The references of `after` that `before` did not have in their place: only those are newly set. In a list, whatever is
 * appended is new; where it is changed otherwise, an element that it held before is not.
 */
export function visitNewReferences(
  spec: TypeSpec,
  before: unknown,
  after: unknown,
  formats: FormatSource,
  visit: VisitReference,
): void {
  if (spec.logicalType === 'reference') {
    if (after !== before) visitOne(spec, after, visit)
    return
  }
  if (spec.logicalType === 'object') {
    const [old, values] = [before as readonly unknown[], after as readonly unknown[]]
    for (const { attribute, index } of formats.byNumber(spec.class).attributes) {
      visitNewReferences(attribute.spec, old[index], values[index], formats, visit)
    }
    return
  }
  if (spec.logicalType === 'list') {
    const [old, elements] = [before as readonly unknown[], after as readonly unknown[]]
    const isAppended = elements.length > old.length && old.every((element, position) => element === elements[position])
    if (isAppended) {
      visitReferences(spec, elements.slice(old.length), formats, visit)
      return
    }
  }
  if (spec.logicalType === 'map') {
    visitNewPairs(spec, before as readonly MapPair[], after as readonly MapPair[], visit)
    return
  }
  const known = new Set<string>()
  visitReferences(spec, before, formats, (target, referencedClass) => known.add(`${target} ${referencedClass}`))
  visitReferences(spec, after, formats, (target, referencedClass) => {
    if (!known.has(`${target} ${referencedClass}`)) visit(target, referencedClass)
  })
}

/** What a map had under a key before is not new there. */
function visitNewPairs(
  spec: MapSpec,
  before: readonly MapPair[],
  after: readonly MapPair[],
  visit: VisitReference,
): void {
  const known = new Map(before.map(({ key, value }) => [key, value]))
  for (const { key, value } of after) {
    if (spec.key.logicalType === 'reference' && !known.has(key)) visitOne(spec.key, key, visit)
    if (known.get(key) !== value) visitOne(spec.element, value, visit)
  }
}
