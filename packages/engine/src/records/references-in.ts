/** Every reference within a value that is kept in a record: alone, in collections and in embedded objects. */
import type { Oid } from '../types/oid.ts'
import { noOid } from '../types/oid.ts'
import type { ClassNumber, ReferenceSpec, TypeSpec } from '../types/type-spec.ts'
import type { FormatSource } from './class-format.ts'
import type { MapPair } from './collection-change.ts'

export type VisitReference = (target: Oid, referencedClass: ClassNumber) => void

export function visitReferences(spec: TypeSpec, value: unknown, formats: FormatSource, visit: VisitReference): void {
  switch (spec.logicalType) {
    case 'reference':
      visitOne(spec, value, visit)
      return
    case 'object': {
      const values = value as readonly unknown[]
      for (const { attribute, index } of formats.byNumber(spec.class).attributes) {
        visitReferences(attribute.spec, values[index], formats, visit)
      }
      return
    }
    case 'list':
    case 'set':
      if (!holdsReferences(spec.element)) return
      for (const element of value as readonly unknown[]) visitReferences(spec.element, element, formats, visit)
      return
    case 'map':
      for (const pair of value as readonly MapPair[]) {
        if (spec.key.logicalType === 'reference') visitOne(spec.key, pair.key, visit)
        visitOne(spec.element, pair.value, visit)
      }
      return
    default:
  }
}

function visitOne(spec: ReferenceSpec, value: unknown, visit: VisitReference): void {
  if (value !== noOid) visit(value as Oid, spec.referencedClass)
}

function holdsReferences(element: TypeSpec): boolean {
  return element.logicalType === 'reference' || element.logicalType === 'object'
}
