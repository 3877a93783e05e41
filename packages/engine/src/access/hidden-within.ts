/** Determines which parts of values of a type may be hidden from a caller, by schema and grants alone. */
import { embeddedClassOf } from '../records/attribute-type.ts'
import type { SchemaClass } from '../schema/catalog.ts'
import type { ClassNumber, TypeSpec } from '../types/type-spec.ts'
import { type ClassAccess, referencesOf } from './class-access.ts'

export type HiddenPart =
  /** A reference in a visible attribute to a hidden object. */
  | 'reference'
  /** A reference to an object whose visibility depends on a rule. */
  | 'ruledReference'
  /** An attribute of an embedded object. */
  | 'attribute'

/** Includes embedded objects. */
export function mayHide(spec: TypeSpec, access: ClassAccess, parts: readonly HiddenPart[]): boolean {
  return mayHideIn(spec, access, parts, new Set())
}

/** `mayHide` for the stored objects of a class. */
export function mayHideInClass(cls: SchemaClass, access: ClassAccess, parts: readonly HiddenPart[]): boolean {
  return mayHideInObject(cls, access, parts, new Set())
}

/** `within`: embedded classes being examined, since lists may hold objects of their own class. */
function mayHideIn(
  spec: TypeSpec,
  access: ClassAccess,
  parts: readonly HiddenPart[],
  within: Set<ClassNumber>,
): boolean {
  const references = referencesOf(spec)
  if (references.some(({ referencedClass }) => access.mayNameHidden(referencedClass))) {
    const isRuled = references.some(({ referencedClass }) => access.mayNameRuled(referencedClass))
    return parts.includes('reference') || (parts.includes('ruledReference') && isRuled)
  }
  const embedded = embeddedClassOf(spec)
  const cls = embedded === undefined ? undefined : access.catalog.classByNumber(embedded)
  return cls !== undefined && mayHideInObject(cls, access, parts, within)
}

function mayHideInObject(
  cls: SchemaClass,
  access: ClassAccess,
  parts: readonly HiddenPart[],
  within: Set<ClassNumber>,
): boolean {
  if (within.has(cls.number)) return false
  within.add(cls.number)
  const visible = access.attributesOf(cls)
  if (parts.includes('attribute') && visible.size < cls.attributes.length) return true
  return cls.attributes.some(({ number, spec }) => visible.has(number) && mayHideIn(spec, access, parts, within))
}
