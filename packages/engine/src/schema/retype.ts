/** Determines the effect of a type change on stored values (contract 5.3.9). */
import { isDeepStrictEqual } from 'node:util'
import { type Conversion, conversionFor } from '../types/conversion.ts'
import type { CollectionSpec, ReferenceSpec, TypeSpec } from '../types/type-spec.ts'
import type { SchemaClass } from './catalog.ts'

export type RetypeWork =
  /** Stored values remain valid. */
  | { readonly kind: 'none' }
  /** Single values, and lists of them, are converted when read. */
  | { readonly kind: 'convert'; readonly conversion: Conversion }
  /** References are unchanged; those to objects of other classes do not fit. */
  | { readonly kind: 'narrow' }
  /** A single reference is unchanged, and its sources are added to the new inverse. */
  | { readonly kind: 'pair' }
  /** The elements move to another storage form; those outside the referenced class do not fit. */
  | { readonly kind: 'move' }
  /** The type is unchanged, and stored values may violate new constraints. */
  | { readonly kind: 'constrain' }
  /** The value of a computed attribute becomes another. `isRedefined`: by its own expression, not only by what that names. */
  | { readonly kind: 'recompute'; readonly isRedefined: boolean }

/** `isSubclass`: whether the first class is the second or inherits from it. Undefined if the change is not possible. */
export function retypeWork(
  from: TypeSpec,
  to: TypeSpec,
  isSubclass: (one: ReferenceSpec['referencedClass'], other: ReferenceSpec['referencedClass']) => boolean,
): RetypeWork | undefined {
  const conversion = conversionFor(from, to)
  if (conversion !== undefined) return { kind: 'convert', conversion }
  if (from.logicalType === 'reference' && to.logicalType === 'reference') {
    return inverseChange(from, to, from, to) ?? classChange(from, to, isSubclass)
  }
  if (!isCollection(from) || !isCollection(to)) return undefined
  const [one, other] = [elementOf(from), elementOf(to)]
  if (one === undefined || other === undefined) return undefined
  const paired = inverseChange(from, to, one, other)
  if (paired !== undefined) return paired
  const change = classChange(one, other, isSubclass)
  if (change === undefined) return undefined
  if (from.logicalType === 'map' || to.logicalType === 'map') return mapChange(from, to, change)
  if (placeOf(from) === placeOf(to)) return change
  return one.inverseAttribute === null ? { kind: 'move' } : undefined
}

/** The change adds or removes an inverse and nothing else; undefined for any other change. `one`, `other`: the references of the types. */
function inverseChange(from: TypeSpec, to: TypeSpec, one: ReferenceSpec, other: ReferenceSpec): RetypeWork | undefined {
  const isAdded = one.inverseAttribute === null && other.inverseAttribute !== null
  const isRemoved = one.inverseAttribute !== null && other.inverseAttribute === null
  if ((!isAdded && !isRemoved) || !isSameButForInverse(from, to)) return undefined
  if (from.logicalType !== 'reference') return { kind: 'move' }
  return isAdded ? { kind: 'pair' } : { kind: 'none' }
}

export function isSameButForInverse(one: TypeSpec | undefined, other: TypeSpec): boolean {
  return one !== undefined && isDeepStrictEqual(withoutInverse(one), withoutInverse(other))
}

function withoutInverse(spec: TypeSpec): TypeSpec {
  if (spec.logicalType === 'reference') return { ...spec, inverseAttribute: null }
  const element = isCollection(spec) ? elementOf(spec) : undefined
  return element === undefined ? spec : ({ ...spec, element: { ...element, inverseAttribute: null } } as TypeSpec)
}

/** Both partners of a link must change together. */
function classChange(
  from: ReferenceSpec,
  to: ReferenceSpec,
  isSubclass: (one: ReferenceSpec['referencedClass'], other: ReferenceSpec['referencedClass']) => boolean,
): RetypeWork | undefined {
  if (from.inverseAttribute !== to.inverseAttribute) return undefined
  return isSubclass(from.referencedClass, to.referencedClass) ? { kind: 'none' } : { kind: 'narrow' }
}

/** The kinds of map differ only in their keys. */
function mapChange(from: CollectionSpec, to: CollectionSpec, change: RetypeWork): RetypeWork | undefined {
  if (from.logicalType !== 'map' || to.logicalType !== 'map') return undefined
  const isSameKey = JSON.stringify(from.key) === JSON.stringify(to.key)
  return isSameKey ? change : undefined
}

function isCollection(spec: TypeSpec): spec is CollectionSpec {
  return spec.logicalType === 'list' || spec.logicalType === 'set' || spec.logicalType === 'map'
}

function elementOf({ element }: CollectionSpec): ReferenceSpec | undefined {
  return element.logicalType === 'reference' ? element : undefined
}

/** Lists by name and sets are link entries of different forms; plain lists are in the record. */
function placeOf(spec: CollectionSpec): string {
  if (spec.logicalType !== 'list') return spec.logicalType
  return spec.collectionTypeName === 'TreeListOfReferences' || elementOf(spec)?.inverseAttribute !== null
    ? 'list'
    : 'record'
}

/** The bytes of keys are unchanged, so indexes need no new entries. */
export function keepsKeys(from: TypeSpec, to: TypeSpec): boolean {
  const alike = ['integer', 'real', 'decimal', 'string', 'character', 'reference']
  return from.logicalType === to.logicalType && alike.includes(from.logicalType)
}

/** The referenceable classes whose objects contain the attribute: the class, its subclasses, and all that embed it. */
export function classesHolding(cls: SchemaClass, classes: readonly SchemaClass[]): SchemaClass[] {
  const holding = new Set<SchemaClass>([cls, ...cls.subclasses])
  for (let size = -1; size !== holding.size; ) {
    size = holding.size
    const numbers = new Set([...holding].map(({ number }) => number))
    for (const candidate of classes) {
      if (candidate.attributes.some(({ spec }) => embedsOne(spec, numbers))) holding.add(candidate)
    }
  }
  return classes.filter((candidate) => candidate.isReferenceable && holding.has(candidate))
}

function embedsOne(spec: TypeSpec, classes: ReadonlySet<number>): boolean {
  const valueSpec = spec.logicalType === 'list' ? spec.element : spec
  return valueSpec.logicalType === 'object' && classes.has(valueSpec.class)
}

/** The type of a reference, or of the elements of a list, set or map. */
export function referenceSpecOf(spec: TypeSpec): ReferenceSpec | undefined {
  if (spec.logicalType === 'reference') return spec
  return isCollection(spec) ? elementOf(spec) : undefined
}
