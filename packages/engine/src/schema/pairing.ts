/**
 * Pairing: a reference is given an inverse concurrently with other requests. Until its links are complete, the catalog has two
 * views: readers see neither the inverse nor that the reference has one; writers maintain both sides of each link.
 */
import type { AttributeNumber, ClassNumber, ReferenceSpec, TypeSpec } from '../types/type-spec.ts'
import type { Attribute, CatalogState, ClassDefinition, PendingType } from './class-definition.ts'

/** A single reference and its new inverse attribute. */
export interface Pairing {
  readonly attribute: AttributeNumber
  /** The class that declares the reference. */
  readonly owner: ClassNumber
  readonly inverse: Attribute
  readonly inverseOwner: ClassNumber
}

/** Online type changes of other values never have a reference as new type; the constraints of references may change. */
export function isPairing(pending: PendingType | undefined): pending is PendingType & { readonly spec: ReferenceSpec } {
  return pending?.spec.logicalType === 'reference' && pending.keepsType !== true
}

/** The type by which records store an attribute: a reference that is being paired has room for its position in a list. */
export function storedSpec<Spec extends TypeSpec | undefined>(
  spec: Spec,
  pending: PendingType | undefined,
): Spec | ReferenceSpec {
  return isPairing(pending) ? pending.spec : spec
}

/** The writers' view of a state. */
export function pairedState(state: CatalogState): CatalogState {
  return { ...state, classes: state.classes.map(pairedClass) }
}

function pairedClass(definition: ClassDefinition): ClassDefinition {
  const { arriving = [], ...others } = definition
  const isPaired = arriving.length > 0 || definition.attributes.some(({ becoming }) => isPairing(becoming))
  if (!isPaired) return definition
  // The pending type remains: it distinguishes links that have not been built from links that are lost.
  const attributes = definition.attributes.map((one) => ({ ...one, spec: storedSpec(one.spec, one.becoming) }))
  return { ...others, attributes: [...attributes, ...arriving] }
}
