/** What of the values of a type may be hidden from a caller, by the schema and its grants alone: which objects there are makes no difference. */
import { embeddedClassOf } from '../records/class-format.ts'
import type { SchemaClass } from '../schema/catalog.ts'
import type { ClassNumber, TypeSpec } from '../types/type-spec.ts'
import { type ClassAccess, referencesOf } from './class-access.ts'

export type HiddenPart =
  /** A reference, of an attribute that is seen, which names a hidden object. */
  | 'reference'
  /** A reference to an object of which a rule decides whether it is hidden. */
  | 'ruledReference'
  /** An attribute of an embedded object. */
  | 'attribute'

/** Embedded objects included. */
export function mayHide(spec: TypeSpec, access: ClassAccess, parts: readonly HiddenPart[]): boolean {
  return mayHideIn(spec, access, parts, new Set())
}

/** The same of the objects of a class, as they are stored. */
export function mayHideInClass(cls: SchemaClass, access: ClassAccess, parts: readonly HiddenPart[]): boolean {
  return mayHideInObject(cls, access, parts, new Set())
}

/** `within`: embedded classes that are being looked at, as lists may hold objects of their own class. */
function mayHideIn(
  spec: TypeSpec,
  access: ClassAccess,
  parts: readonly HiddenPart[],
  within: Set<ClassNumber>,
): boolean {
  const named = referencesOf(spec)
  if (named.some(({ referencedClass }) => access.mayNameHidden(referencedClass))) {
    const isRuled = named.some(({ referencedClass }) => access.mayNameRuled(referencedClass))
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
  const shown = access.attributesOf(cls)
  if (parts.includes('attribute') && shown.size < cls.attributes.length) return true
  return cls.attributes.some(({ number, spec }) => shown.has(number) && mayHideIn(spec, access, parts, within))
}
