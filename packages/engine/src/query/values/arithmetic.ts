/** Arithmetic and bit operators, selected by the kinds of their operands (docs/query-language.md, Operators). */
import type { OperatorName } from '../language/operators.ts'
import type { Arithmetic, Total } from './scalars/scalar-kind.ts'
import { scalarKinds } from './scalars/scalar-kinds.ts'
import { isScalarType, type ValueType } from './value-type.ts'

/** Undefined if the operator is not defined for these types. */
export function arithmeticFor(operator: OperatorName, one: ValueType, other: ValueType): Arithmetic | undefined {
  if (!isScalarType(one) || !isScalarType(other)) return undefined
  const arithmetic = scalarKinds[one.kind].arithmetic?.(operator, one, other)
  return arithmetic ?? scalarKinds[other.kind].arithmetic?.(operator, one, other)
}

/** Undefined if values of the type cannot be summed. */
export function totalOf(type: ValueType): Total | undefined {
  return isScalarType(type) ? scalarKinds[type.kind].total : undefined
}
