/**
 * Validates references to edge objects: the attribute that leads from the edge to its target must fit and remain while it is
 * used (contract 5.1.28).
 */
import type { AttributeNumber, ClassNumber, ReferenceSpec, TypeSpec } from '../types/type-spec.ts'
import { commandError, placeWithin } from './command-error.ts'
import { isRootClass } from './root-class.ts'
import { type ClassDraft, type DraftAttribute, type SchemaBuilder, selfAndAncestors } from './schema-builder.ts'

/** A reference whose targets are edge objects. */
type EdgeSpec = ReferenceSpec & { readonly edgeClass: ClassNumber; readonly edgeAttribute: AttributeNumber }

/** The reference to edge objects in the type of a value or of its elements. */
function edgeSpecIn(spec: TypeSpec | undefined): EdgeSpec | undefined {
  if (spec?.logicalType === 'list' || spec?.logicalType === 'set' || spec?.logicalType === 'map')
    return edgeSpecIn(spec.element)
  if (spec?.logicalType !== 'reference' || spec.edgeClass === undefined || spec.edgeAttribute === undefined) {
    return undefined
  }
  return { ...spec, edgeClass: spec.edgeClass, edgeAttribute: spec.edgeAttribute }
}

/** Throws InvalidDefinition. */
export function checkEdges(builder: SchemaBuilder, owner: ClassDraft): void {
  for (const attribute of owner.attributes.values()) {
    const spec = edgeSpecIn(attribute.spec)
    if (spec === undefined) continue
    const wrong = whatIsWrong(builder, spec)
    if (wrong === undefined) continue
    const steps = attribute.spec?.logicalType === 'reference' ? [] : ['elementSpecification']
    throw commandError(
      'InvalidDefinition',
      `Class ${owner.name}, attribute ${attribute.name}: ${wrong.words}.`,
      placeWithin(attribute.place ?? owner.place, ...steps, wrong.field),
    )
  }
}

function whatIsWrong(
  builder: SchemaBuilder,
  { referencedClass, edgeClass, edgeAttribute }: EdgeSpec,
): { readonly words: string; readonly field: string } | undefined {
  const edge = builder.get(edgeClass)
  const referenced = builder.get(referencedClass)
  const lineage = selfAndAncestors(edge)
  if (!lineage.includes(referenced) && !isRootClass(referenced)) {
    const words = `referencedClass is the edgeClass ${edge.name} or a superclass of it, not ${referenced.name}`
    return { words, field: 'referencedClass' }
  }
  const leading = builder.declared(edgeAttribute)
  if (leading?.attribute.spec?.logicalType === 'reference' && lineage.includes(leading.owner)) return undefined
  const words = `edgeAttribute ${leading?.attribute.name ?? ''} of class ${edge.name} is no single reference`
  return { words, field: 'edgeAttribute' }
}

export interface EdgeUse {
  readonly owner: ClassDraft
  readonly attribute: DraftAttribute
  readonly spec: EdgeSpec
}

/** The first attribute, excluding those `gone`, whose edges need an attribute for which `isNeeded` is true. */
export function edgeUse(
  builder: SchemaBuilder,
  gone: ReadonlySet<AttributeNumber>,
  isNeeded: (spec: EdgeSpec, owner: ClassDraft) => boolean,
): EdgeUse | undefined {
  for (const owner of builder.all()) {
    for (const attribute of owner.attributes.values()) {
      const spec = gone.has(attribute.number) ? undefined : edgeSpecIn(attribute.spec)
      if (spec !== undefined && isNeeded(spec, owner)) return { owner, attribute, spec }
    }
  }
  return undefined
}
