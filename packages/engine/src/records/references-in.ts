/** Finds every reference in a value stored in a record: single, in collections and in embedded objects. */
import type { MapPair } from '../types/map.ts'
import { noOid, type Oid } from '../types/oid.ts'
import type { ClassNumber, MapSpec, ReferenceSpec, TypeSpec } from '../types/type-spec.ts'
import type { FormatSource } from './class-format.ts'
import { unevaluated } from './creation-value.ts'

export interface Reference {
  readonly target: Oid
  readonly referencedClass: ClassNumber
}

function* referencesIn(spec: TypeSpec, value: unknown, formats: FormatSource): Generator<Reference> {
  if (value === unevaluated) return
  switch (spec.logicalType) {
    case 'reference':
      if (value !== noOid) yield referenceTo(spec, value)
      return
    case 'object': {
      const values = value as readonly unknown[]
      for (const { attribute, index } of formats.byNumber(spec.class).attributes) {
        yield* referencesIn(attribute.spec, values[index], formats)
      }
      return
    }
    case 'list':
    case 'set': {
      const { element } = spec
      if (!holdsReferences(element)) return
      if (element.logicalType === 'object' && !formats.byNumber(element.class).holdsReferences) return
      const elements = value as readonly unknown[]
      if (element.logicalType !== 'reference') {
        for (const one of elements) yield* referencesIn(element, one, formats)
        return
      }
      for (const one of elements) if (one !== noOid) yield referenceTo(element, one)
      return
    }
    case 'map':
      for (const pair of value as readonly MapPair[]) {
        if (spec.key.logicalType === 'reference' && pair.key !== noOid) yield referenceTo(spec.key, pair.key)
        if (pair.value !== noOid) yield referenceTo(spec.element, pair.value)
      }
      return
    default:
  }
}

function referenceTo({ referencedClass }: ReferenceSpec, target: unknown): Reference {
  return { target: target as Oid, referencedClass }
}

/** False if no value of the type can contain a reference. */
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
 * Yields the references of `after` that are new compared with `before`. Elements appended to a list are always new; if the list
 * changes otherwise, an element that it had before is not. Yields undefined for every reference that is not new, so that the
 * caller can yield to other requests: there may be hundreds of thousands.
 */
export function* newReferences(
  spec: TypeSpec,
  before: unknown,
  after: unknown,
  formats: FormatSource,
): Generator<Reference | undefined> {
  if (before === unevaluated || after === unevaluated) {
    yield* referencesIn(spec, after, formats)
    return
  }
  if (spec.logicalType === 'reference') {
    if (after !== before) yield* referencesIn(spec, after, formats)
    return
  }
  if (spec.logicalType === 'object') {
    const [old, values] = [before as readonly unknown[], after as readonly unknown[]]
    for (const { attribute, index } of formats.byNumber(spec.class).attributes) {
      yield* newReferences(attribute.spec, old[index], values[index], formats)
    }
    return
  }
  if (spec.logicalType === 'list') {
    const [old, elements] = [before as readonly unknown[], after as readonly unknown[]]
    const isAppended = elements.length > old.length && old.every((element, position) => element === elements[position])
    if (isAppended) {
      yield* referencesIn(spec, elements.slice(old.length), formats)
      return
    }
  }
  if (spec.logicalType === 'map') {
    yield* newPairs(spec, before as readonly MapPair[], after as readonly MapPair[])
    return
  }
  const oldTargets = new Map<ClassNumber, Set<Oid>>()
  for (const { target, referencedClass } of referencesIn(spec, before, formats)) {
    let targets = oldTargets.get(referencedClass)
    if (targets === undefined) {
      targets = new Set()
      oldTargets.set(referencedClass, targets)
    }
    targets.add(target)
    yield undefined
  }
  for (const reference of referencesIn(spec, after, formats)) {
    yield oldTargets.get(reference.referencedClass)?.has(reference.target) === true ? undefined : reference
  }
}

/** A pair is not new if the map had it before. */
function* newPairs(
  spec: MapSpec,
  before: readonly MapPair[],
  after: readonly MapPair[],
): Generator<Reference | undefined> {
  const oldValues = new Map<unknown, unknown>()
  for (const { key, value } of before) {
    oldValues.set(key, value)
    yield undefined
  }
  for (const { key, value } of after) {
    const isNewKey = spec.key.logicalType === 'reference' && key !== noOid && !oldValues.has(key)
    yield isNewKey ? referenceTo(spec.key as ReferenceSpec, key) : undefined
    if (oldValues.get(key) !== value && value !== noOid) yield referenceTo(spec.element, value)
  }
}
