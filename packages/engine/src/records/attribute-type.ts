/** What the type of an attribute says about its values in records. */
import type { AttributeNumber, ClassNumber, TypeSpec } from '../types/type-spec.ts'

/** The class of objects embedded by values of the type, singly or as elements of a list. */
export function embeddedClassOf(spec: TypeSpec): ClassNumber | undefined {
  const elementSpec = spec.logicalType === 'list' ? spec.element : spec
  return elementSpec.logicalType === 'object' ? elementSpec.class : undefined
}

/** Every to-one side of a bidirectional link has room for its position in the partner's list. */
export function hasPosition(spec: TypeSpec): boolean {
  return inverseIn(spec) !== null
}

export function inverseIn(spec: TypeSpec | undefined): AttributeNumber | null {
  return spec?.logicalType === 'reference' ? spec.inverseAttribute : null
}
