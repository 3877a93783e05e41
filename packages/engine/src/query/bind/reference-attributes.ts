/** The attributes whose values are edges of the graph that the objects are. */
import type { Catalog, SchemaClass } from '../../schema/catalog.ts'
import type { Attribute } from '../../schema/class-definition.ts'
import type { AttributeNumber, ReferenceSpec, TypeSpec } from '../../types/type-spec.ts'

export interface ReferenceAttribute {
  readonly attribute: Attribute
  readonly declaringClass: SchemaClass
  readonly referencedClass: SchemaClass
  readonly inverse: AttributeNumber | null
}

const ofCatalogs = new WeakMap<Catalog, readonly ReferenceAttribute[]>()

/** Of all referenceable classes: single references, and lists, sets and maps of them; not those within embedded objects. */
export function referenceAttributesOf(catalog: Catalog): readonly ReferenceAttribute[] {
  let found = ofCatalogs.get(catalog)
  if (found === undefined) {
    found = catalog.classes.filter((cls) => cls.isReferenceable).flatMap((cls) => ownReferences(cls, catalog))
    ofCatalogs.set(catalog, found)
  }
  return found
}

function ownReferences(declaringClass: SchemaClass, catalog: Catalog): ReferenceAttribute[] {
  return declaringClass.definition.attributes.flatMap((attribute) => {
    const spec = referenceSpecIn(attribute.spec)
    const referencedClass = spec === undefined ? undefined : catalog.classByNumber(spec.referencedClass)
    if (spec === undefined || referencedClass === undefined) return []
    return [{ attribute, declaringClass, referencedClass, inverse: spec.inverseAttribute }]
  })
}

/** What a reference, or the elements of a collection, refer to. */
export function referenceSpecIn(spec: TypeSpec): ReferenceSpec | undefined {
  const inner =
    spec.logicalType === 'list' || spec.logicalType === 'set' || spec.logicalType === 'map' ? spec.element : spec
  return inner.logicalType === 'reference' ? inner : undefined
}
