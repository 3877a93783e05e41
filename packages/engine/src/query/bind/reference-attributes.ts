/** The attributes whose references are edges of the object graph. */
import type { Catalog, SchemaClass } from '../../schema/catalog.ts'
import type { Attribute } from '../../schema/class-definition.ts'
import { isRootClass } from '../../schema/root-class.ts'
import type { AttributeNumber, ReferenceSpec, TypeSpec } from '../../types/type-spec.ts'

export interface ReferenceAttribute {
  readonly attribute: Attribute
  readonly declaringClass: SchemaClass
  readonly referencedClass: SchemaClass
  readonly inverse: AttributeNumber | null
  /** Set if the targets are edge objects, which the edge then passes through. */
  readonly edge: EdgeObjects | undefined
}

export interface EdgeObjects {
  readonly cls: SchemaClass
  /** The attribute from an edge object to the object behind it. */
  readonly leading: ReferenceAttribute
}

const cache = new WeakMap<Catalog, readonly ReferenceAttribute[]>()

/** All references of referenceable classes, single or in collections, except inside embedded objects. */
export function referenceAttributesOf(catalog: Catalog): readonly ReferenceAttribute[] {
  let found = cache.get(catalog)
  if (found === undefined) {
    found = withEdges(
      catalog.classes.filter((cls) => cls.isReferenceable).flatMap((cls) => declaredReferences(cls, catalog)),
      catalog,
    )
    cache.set(catalog, found)
  }
  return found
}

/** An edge object may refer to further edge objects; these are then the end of the edge. */
function withEdges(plain: readonly ReferenceAttribute[], catalog: Catalog): readonly ReferenceAttribute[] {
  const byNumber = new Map(plain.map((reference) => [reference.attribute.number, reference]))
  return plain.map((reference) => {
    const spec = referenceSpecIn(reference.attribute.spec)
    const cls = spec?.edgeClass === undefined ? undefined : catalog.classByNumber(spec.edgeClass)
    const leading = spec?.edgeAttribute === undefined ? undefined : byNumber.get(spec.edgeAttribute)
    return cls === undefined || leading === undefined ? reference : { ...reference, edge: { cls, leading } }
  })
}

/** Whether an edge ends at the edge object itself, because the pattern names its class there. `label` is the written class, null = none. */
export function endsAtEdgeObject({ edge }: ReferenceAttribute, label: SchemaClass | null): boolean {
  if (edge === undefined || label === null || isRootClass(label)) return false
  return label.isOrInherits(edge.cls.number) || edge.cls.isOrInherits(label.number)
}

/** The class of an edge's target at a vertex of that label. */
export function headClass(reference: ReferenceAttribute, label: SchemaClass | null): SchemaClass {
  const isThrough = reference.edge !== undefined && !endsAtEdgeObject(reference, label)
  return isThrough ? reference.edge.leading.referencedClass : reference.referencedClass
}

function declaredReferences(declaringClass: SchemaClass, catalog: Catalog): ReferenceAttribute[] {
  return declaringClass.definition.attributes.flatMap((attribute) => {
    const spec = referenceSpecIn(attribute.spec)
    const referencedClass = spec === undefined ? undefined : catalog.classByNumber(spec.referencedClass)
    if (spec === undefined || referencedClass === undefined) return []
    return [{ attribute, declaringClass, referencedClass, inverse: spec.inverseAttribute, edge: undefined }]
  })
}

/** The reference type of an attribute or of the elements of its collection. */
function referenceSpecIn(spec: TypeSpec): ReferenceSpec | undefined {
  const inner =
    spec.logicalType === 'list' || spec.logicalType === 'set' || spec.logicalType === 'map' ? spec.element : spec
  return inner.logicalType === 'reference' ? inner : undefined
}
