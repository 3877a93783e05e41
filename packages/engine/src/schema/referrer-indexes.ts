/**
 * Referrer entries record which objects refer to a target by an attribute. They are maintained if deletions need them (contract
 * 10.4) and no inverse provides this. They belong to an internal index of the attribute (decision 0048).
 */
import type { AttributeNumber, ClassNumber, ReferenceSpec, TypeSpec } from '../types/type-spec.ts'
import type { Attribute, CatalogState, ClassDefinition, IndexNumber } from './class-definition.ts'
import type { AttributeProperties, PropertiesOfAttribute } from './properties/index.ts'

/** The reference in an attribute: its value, its elements, or the values of a map. */
export function referenceInAttribute(spec: TypeSpec): ReferenceSpec | undefined {
  const elementSpec = 'element' in spec ? spec.element : spec
  return elementSpec.logicalType === 'reference' ? elementSpec : undefined
}

/** The properties of the references in an attribute. */
export function referenceProperties(spec: TypeSpec, properties: PropertiesOfAttribute): AttributeProperties {
  return 'element' in spec ? properties.element : properties.own
}

/** The state with exactly the referrer indexes that its attributes need; `unfilledReferrers` returns those to fill. */
export function withReferrerIndexes(before: CatalogState, after: CatalogState): CatalogState {
  const previous = new Set(before.classes)
  let { index } = after.counters
  const indexed = (attribute: Attribute): Attribute => {
    const isNeeded = needsReferrers(attribute)
    if (isNeeded === (attribute.referrers !== undefined)) return attribute
    const { referrers: _, ...others } = attribute
    if (!isNeeded) return others
    return { ...others, referrers: pendingReferrers(before, attribute) ?? (index++ as IndexNumber) }
  }
  const classes = after.classes.map((cls) => {
    if (previous.has(cls)) return cls
    const attributes = cls.attributes.map(indexed)
    return attributes.every((attribute, i) => attribute === cls.attributes[i]) ? cls : { ...cls, attributes }
  })
  if (classes.every((cls, i) => cls === after.classes[i])) return after
  return { ...after, classes, counters: { ...after.counters, index } }
}

/** The index that was built for it before its rule came into force. */
function pendingReferrers({ classes }: CatalogState, { number }: Attribute): IndexNumber | undefined {
  for (const { attributes } of classes) {
    const found = attributes.find((one) => one.number === number)
    if (found !== undefined) return found.becoming?.referrers
  }
  return undefined
}

export function needsReferrers({ spec, properties }: Pick<Attribute, 'spec' | 'properties'>): boolean {
  const reference = referenceInAttribute(spec)
  if (properties === undefined || reference === undefined || reference.inverseAttribute !== null) return false
  const { onTargetDelete, onSourceDelete } = referenceProperties(spec, properties)
  return onTargetDelete !== undefined || onSourceDelete === 'deleteUnreferenced'
}

/** The index whose entries writers maintain, complete or not. */
export function maintainedReferrers({ referrers, becoming }: Attribute): IndexNumber | undefined {
  return referrers ?? becoming?.referrers
}

/** An attribute with a referrer index for which existing objects have no entries. */
export interface UnfilledReferrers {
  /** The class that declares it. */
  readonly cls: ClassNumber
  readonly attribute: AttributeNumber
  readonly index: IndexNumber
}

/** Attributes in both states that have a referrer index only in the later one, unless it was built before. */
export function unfilledReferrers(before: CatalogState, after: CatalogState): UnfilledReferrers[] {
  const same = new Set(before.classes)
  const changed = after.classes.filter((cls) => !same.has(cls) && referrerIndexesOf(cls).length > 0)
  if (changed.length === 0) return []
  const earlier = new Map(before.classes.flatMap(({ attributes }) => attributes.map((one) => [one.number, one])))
  return changed.flatMap(({ number: cls, attributes }) =>
    attributes.flatMap(({ number: attribute, referrers: index }) => {
      const previous = earlier.get(attribute)
      const isUnfilled = index !== undefined && previous !== undefined && maintainedReferrers(previous) !== index
      return isUnfilled ? [{ cls, attribute, index }] : []
    }),
  )
}

/** Referrer indexes only in the earlier state, whose entries must be purged. */
export function referrerIndexesDropped(before: CatalogState, after: CatalogState): IndexNumber[] {
  const same = new Set(after.classes)
  const remaining = new Set(after.classes.flatMap(referrerIndexesOf))
  return before.classes.flatMap((cls) => {
    return same.has(cls) ? [] : referrerIndexesOf(cls).filter((number) => !remaining.has(number))
  })
}

function referrerIndexesOf({ attributes, isDeleted }: ClassDefinition): IndexNumber[] {
  return isDeleted ? [] : attributes.flatMap((attribute) => maintainedReferrers(attribute) ?? [])
}
