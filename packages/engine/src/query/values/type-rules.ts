/** Type rules composed from the rules of the scalar kinds: the common type of two types, and which values may be long. */
import type { SchemaClass } from '../../schema/catalog.ts'
import { scalarKinds } from './scalars/scalar-kinds.ts'
import { isReference, isScalarType, type ValueType } from './value-type.ts'

/** A type that holds the values of both, or undefined. */
export function commonType(one: ValueType, other: ValueType): ValueType | undefined {
  if (one.kind === 'null') return other
  if (other.kind === 'null') return one
  if (isScalarType(one) && isScalarType(other)) {
    return scalarKinds[one.kind].commonWith(one, other) ?? scalarKinds[other.kind].commonWith(other, one)
  }
  if (isReference(one) && isReference(other)) return { kind: 'reference', cls: commonClass(one.cls, other.cls) }
  if (one.kind === 'collection' && other.kind === 'collection') {
    const element = commonType(one.element, other.element)
    return element === undefined ? undefined : { kind: 'collection', form: one.form, element }
  }
  if (one.kind === 'embedded' && other.kind === 'embedded') return one.cls === other.cls ? one : undefined
  return one.kind === other.kind ? one : undefined
}

function commonClass(one: SchemaClass | null, other: SchemaClass | null): SchemaClass | null {
  if (one === null || other === null) return null
  let cls: SchemaClass | null = one
  while (cls !== null && !other.isOrInherits(cls.number)) cls = cls.superClass
  return cls
}

/** Whether values may be so long that reading, comparing or copying one takes noticeable time. */
export function isLong(type: ValueType): boolean {
  switch (type.kind) {
    case 'embedded':
    case 'collection':
    case 'map':
      return true
    case 'null':
    case 'reference':
    case 'object':
    case 'record':
    case 'edge':
      return false
    default:
      return scalarKinds[type.kind].isLong
  }
}
