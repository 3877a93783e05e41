/**
 * Entries that tell which objects refer to one by an attribute: kept where a deletion asks for them (contract 10.4) and no inverse tells.
 * They are entries of an index that only its attribute knows (decision 0048).
 */
import { AshlarError } from '../errors.ts'
import type { AttributeNumber, ReferenceSpec, TypeSpec } from '../types/type-spec.ts'
import type { Attribute, CatalogState, ClassDefinition, IndexNumber } from './class-definition.ts'
import type { AttributeProperties, PropertiesOfAttribute } from './properties/index.ts'

/** The references that an attribute holds: its value, its elements, or the values of a map. */
export function heldReference(spec: TypeSpec): ReferenceSpec | undefined {
  const held = 'element' in spec ? spec.element : spec
  return held.logicalType === 'reference' ? held : undefined
}

/** The properties of the references that an attribute holds. */
export function referenceProperties(spec: TypeSpec, properties: PropertiesOfAttribute): AttributeProperties {
  return 'element' in spec ? properties.element : properties.own
}

/** The state with the indexes that its attributes need, and without others. Throws AttributeInUse. */
export function withReferrerIndexes(before: CatalogState, after: CatalogState): CatalogState {
  const known = new Map(before.classes.map((definition) => [definition.number, definition]))
  const present = new Set<AttributeNumber>()
  let { index } = after.counters
  const indexed = (attribute: Attribute, cls: ClassDefinition): Attribute => {
    const isNeeded = needsReferrers(attribute)
    if (isNeeded === (attribute.referrers !== undefined)) return attribute
    const { referrers: _, ...others } = attribute
    if (!isNeeded) return others
    if (present.has(attribute.number)) throw referrersMissing(cls, attribute)
    return { ...others, referrers: index++ as IndexNumber }
  }
  const classes = after.classes.map((cls) => {
    const earlier = known.get(cls.number)
    if (cls === earlier) return cls
    for (const { number } of earlier?.attributes ?? []) present.add(number)
    const attributes = cls.attributes.map((attribute) => indexed(attribute, cls))
    return attributes.every((attribute, i) => attribute === cls.attributes[i]) ? cls : { ...cls, attributes }
  })
  if (classes.every((cls, i) => cls === after.classes[i])) return after
  return { ...after, classes, counters: { ...after.counters, index } }
}

function needsReferrers({ spec, properties }: Attribute): boolean {
  const reference = heldReference(spec)
  if (properties === undefined || reference === undefined || reference.inverseAttribute !== null) return false
  const { onTargetDelete, onSourceDelete } = referenceProperties(spec, properties)
  return onTargetDelete !== undefined || onSourceDelete === 'deleteUnreferenced'
}

/** Those of objects that are there already are not known. */
function referrersMissing({ name: cls }: ClassDefinition, { name }: Attribute): AshlarError {
  const message = `Class ${cls}: attribute ${name} keeps its inverse as long as deletions ask who refers by it (onTargetDelete, onSourceDelete).`
  return new AshlarError('AttributeInUse', message)
}

/** Those that only the earlier state has: their entries are cleared. */
export function referrerIndexesDropped(before: CatalogState, after: CatalogState): IndexNumber[] {
  const same = new Set(after.classes)
  const kept = new Set(after.classes.flatMap(referrerIndexesOf))
  return before.classes.flatMap((cls) => {
    return same.has(cls) ? [] : referrerIndexesOf(cls).filter((number) => !kept.has(number))
  })
}

function referrerIndexesOf({ attributes, isDeleted }: ClassDefinition): IndexNumber[] {
  return isDeleted ? [] : attributes.flatMap(({ referrers }) => referrers ?? [])
}
