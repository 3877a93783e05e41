/** Order and equality of values that are not null (docs/query-language.md, Operators). */
import { compareDecimals, Decimal } from '../../types/decimal-number.ts'
import { compareOids, noOid } from '../../types/oid.ts'
import { type Compare, comparePlain } from './scalars/scalar-kind.ts'
import { scalarKinds } from './scalars/scalar-kinds.ts'
import { isReference, isScalarType, type ValueType } from './value-type.ts'

export type Equals = (one: unknown, other: unknown) => boolean

/** Undefined if values of the two types cannot be ordered. */
export function compareFor(one: ValueType, other: ValueType): Compare | undefined {
  if (isReference(one) && isReference(other)) return compareOids as unknown as Compare
  if (!isScalarType(one) || !isScalarType(other)) return undefined
  const compare = scalarKinds[one.kind].compareWith[other.kind]
  if (compare !== undefined) return compare
  const reverse = scalarKinds[other.kind].compareWith[one.kind]
  return reverse && ((a, b) => -reverse(b, a))
}

/** Undefined if the two types cannot be compared. */
export function equalsFor(one: ValueType, other: ValueType): Equals | undefined {
  if (isReference(one) && isReference(other)) return Object.is
  if (one.kind === 'collection' && other.kind === 'collection') {
    const equals = equalsFor(one.element, other.element)
    return equals === undefined ? undefined : (a, b) => haveEqualElements(a as unknown[], b as unknown[], equals)
  }
  if (one.kind === 'embedded' && other.kind === 'embedded') return one.cls === other.cls ? isDeepEqual : undefined
  const compare = compareFor(one, other)
  return compare === undefined ? undefined : (a, b) => compare(a, b) === 0
}

/** What an expression gives an embedded object, undefined until it is evaluated, follows from its other values. */
function haveEqualElements(one: readonly unknown[], other: readonly unknown[], equals: Equals): boolean {
  if (one.length !== other.length) return false
  return one.every((value, i) => {
    const opposite = other[i]
    if (value === undefined || opposite === undefined) return true
    return value === null || opposite === null ? value === opposite : equals(value, opposite)
  })
}

/** Equality of embedded values of one class; their offset datetimes are equal by instant. */
function isDeepEqual(one: unknown, other: unknown): boolean {
  if (Array.isArray(one) && Array.isArray(other)) return haveEqualElements(one, other, isDeepEqual)
  if (one instanceof Decimal && other instanceof Decimal) return compareDecimals(one, other) === 0
  if (typeof one === 'object' && typeof other === 'object' && one !== null && other !== null) {
    if ('ticks' in one && 'ticks' in other) return one.ticks === other.ticks
    const [a, b] = [Object.values(one), Object.values(other)]
    return haveEqualElements(a, b, isDeepEqual)
  }
  return comparePlain(one, other) === 0
}

/** Whether a value is null or, for references, 0-0-0-0; a string `0-0-0-0` is not null. */
export function isNullOf(type: ValueType, value: unknown): boolean {
  return value === null || value === undefined || (isReference(type) && value === noOid)
}

/** Whether a reference is null or 0-0-0-0. */
export function isNothing(value: unknown): boolean {
  return value === null || value === undefined || value === '0-0-0-0'
}
