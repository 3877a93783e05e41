/**
 * Pairing: a reference is given an inverse while other requests go on. Until its links are complete, the catalog has two views: readers know
 * neither the inverse nor that the reference has one; writers keep both sides of each link.
 */
import type { AttributeNumber, ClassNumber, ReferenceSpec, TypeSpec } from '../types/type-spec.ts'
import type { Attribute, CatalogState, ClassDefinition, PendingType } from './class-definition.ts'

/** What is paired: a single reference, with an attribute that is new. */
export interface Pairing {
  readonly attribute: AttributeNumber
  /** The class that declares the reference. */
  readonly owner: ClassNumber
  readonly inverse: Attribute
  readonly inverseOwner: ClassNumber
}

/** The values of other types that change online are not references; the constraints of references may change. */
export function isPairing(pending: PendingType | undefined): pending is PendingType & { readonly spec: ReferenceSpec } {
  return pending?.spec.logicalType === 'reference' && pending.keepsType !== true
}

/** The type by which records hold an attribute: beside a reference that is being paired, there is room for its place in a list. */
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
  // The pending type is left in: it distinguishes links that have not been built from links that are lost.
  const attributes = definition.attributes.map((one) => ({ ...one, spec: storedSpec(one.spec, one.becoming) }))
  return { ...others, attributes: [...attributes, ...arriving] }
}
