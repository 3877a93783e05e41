/** Validates that both sides of a bidirectional link match (contract 5.1.19). */
import type { ReferenceSpec } from '../types/type-spec.ts'
import { commandError, placeWithin } from './command-error.ts'
import { type ClassDraft, type DraftAttribute, referenceIn, type SchemaBuilder } from './schema-builder.ts'

/**
 * Both sides must name each other and refer to exactly the class that declares the other side. With a superclass, objects
 * without the partner attribute could be linked; with a subclass, the partner could not refer to all objects. Throws
 * InvalidDefinition.
 */
export function checkInverses(builder: SchemaBuilder, owner: ClassDraft): void {
  for (const attribute of owner.attributes.values()) {
    const spec = referenceIn(attribute.spec)
    if (spec === undefined || spec.inverseAttribute === null) continue
    const wrong = whatIsWrong(builder, owner, attribute, { ...spec, inverseAttribute: spec.inverseAttribute })
    if (wrong === undefined) continue
    const steps = attribute.spec?.logicalType === 'reference' ? [] : ['elementSpecification']
    throw commandError(
      'InvalidDefinition',
      `Class ${owner.name}, attribute ${attribute.name}: ${wrong}.`,
      placeWithin(attribute.place ?? owner.place, ...steps, 'inverseAttribute'),
    )
  }
}

type PairedSpec = ReferenceSpec & { readonly inverseAttribute: NonNullable<ReferenceSpec['inverseAttribute']> }

function whatIsWrong(
  builder: SchemaBuilder,
  owner: ClassDraft,
  attribute: DraftAttribute,
  spec: PairedSpec,
): string | undefined {
  if (!owner.isReferenceable) {
    return 'an embeddable class has no bidirectional links, since nothing can refer to its objects'
  }
  const partner = builder.declared(spec.inverseAttribute)
  if (partner === undefined) return 'its inverse is deleted'
  const there = `its inverse, attribute ${partner.attribute.name} of class ${partner.owner.name},`
  const back = referenceIn(partner.attribute.spec)
  if (back === undefined) return `${there} is not a reference, list or set of references`
  if (back.inverseAttribute !== attribute.number) {
    const isGivable = back.inverseAttribute === null && partner.attribute.place === undefined
    const advice = isGivable
      ? `; to give it that inverse, list it in the same request, with the inverse ${attribute.name}`
      : ''
    return `${there} does not name it as inverse in turn${advice}`
  }
  if (spec.referencedClass !== partner.owner.number) {
    return `it refers to ${builder.get(spec.referencedClass).name}, but ${there} is declared by a superclass; the two must be the same class`
  }
  if (back.referencedClass === owner.number) return undefined
  return `${there} refers to ${builder.get(back.referencedClass).name}, not to ${owner.name}`
}
