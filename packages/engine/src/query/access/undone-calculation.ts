/** Rewrites a comparison of a calculation, such as `a + 1 < 32`, to a comparison of the attribute: `a < 31`. */
import { type Bound, isConstant } from '../bind/bound.ts'
import { calculateInteger, type Integer } from '../values/whole-number.ts'
import { noKeyValue } from './no-key-value.ts'

export interface UndoneCalculation {
  readonly side: Bound
  /** `noKeyValue` if the calculation may fail for some object: then all objects are examined. */
  readonly value: Bound
  readonly isReversed: boolean
}

/** Beyond it, the sum of many such values with a 32-bit attribute could overflow an integer, which is an error. */
const addedMax = 2n ** 48n

/** The maximum number of operations undone per attribute, since each adds to the plan. */
const undoneMax = 16

/** Only for whole numbers, which are exact; otherwise undefined. */
export function undoneCalculation(side: Bound, value: Bound, most = undoneMax): UndoneCalculation | undefined {
  const undone = most === 0 ? undefined : undoneOnce(side, value)
  if (undone === undefined || isSmallAttribute(undone.side)) return undone
  const further = undoneCalculation(undone.side, undone.value, most - 1)
  return further && { ...further, isReversed: further.isReversed !== undone.isReversed }
}

function undoneOnce(side: Bound, value: Bound): UndoneCalculation | undefined {
  if (side.kind !== 'arithmetic' || side.type.kind !== 'integer' || value.type.kind !== 'integer') return undefined
  const { operator, left, right } = side
  if (operator !== 'plus' && operator !== 'minus') return undefined
  const isRightOperand = isConstant(left)
  const [attribute, added] = isRightOperand ? [right, left] : [left, right]
  if (!isConstant(added) || added.type.kind !== 'integer') return undefined
  // `c - a`: reverses the comparison.
  const isReversed = isRightOperand && operator === 'minus'
  const undo = operator === 'plus' || isReversed ? 'minus' : 'plus'
  const calculate = (one: Integer, other: Integer): unknown => {
    if ((one as unknown) === noKeyValue || BigInt(other) > addedMax || BigInt(other) < -addedMax) return noKeyValue
    return (isReversed ? calculateInteger(undo, other, one) : calculateInteger(undo, one, other)) ?? noKeyValue
  }
  const undone: Bound = { ...side, left: value, right: added, calculate }
  return { side: attribute, value: undone, isReversed }
}

/** The attribute is small enough that the calculation does not overflow an integer. */
function isSmallAttribute(bound: Bound): boolean {
  if (bound.kind !== 'attribute' && bound.kind !== 'follow') return false
  const { spec } = bound.attribute
  return spec.logicalType === 'integer' && spec.storage !== 'b64'
}
