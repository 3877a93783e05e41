/** Window functions: a value for each row computed from related rows (docs/query-language.md, Window functions). */
import { truncateForMessage } from '../../errors.ts'
import type { Expression, WindowExpression } from '../language/ast.ts'
import { commonType } from '../values/type-rules.ts'
import { aTypeName, integerType, isMany, type ValueType } from '../values/value-type.ts'
import { aggregateNames, aggregateType, bindFraction, checkedOperand, windowNames } from './bind-call.ts'
import { bindOrderItem, bindPartitionKey } from './bind-keys.ts'
import { type AggregateName, type Bound, type BoundWindow, isConstant, type WindowName } from './bound.ts'
import { hint } from './class-names.ts'
import { requireKey } from './require-key.ts'
import type { Binder, Scope } from './scope.ts'

export const windowRule =
  'what is OVER (…) stands in RETURN and ORDER BY only: it is worked out after WHERE, GROUP BY and HAVING'

export function bindWindow(expression: WindowExpression, scope: Scope, binder: Binder): Bound {
  const { call, start, end, over } = expression
  if (scope.windows === undefined) throw binder.error(expression, windowRule)
  const name = nameOf(expression, binder)
  const inner: Scope = { ...scope, windows: undefined, aliases: undefined }
  const partitionBy = expression.partitionBy.map((key) => bindPartitionKey(key, inner, binder))
  const orderBy = expression.orderBy.map((item) => bindOrderItem(item.expression, item.isDescending, inner, binder))
  const isSelected = name === 'MEDIAN' || name === 'PERCENTILE'
  if (isSelected && orderBy.length > 0) {
    throw binder.error(expression, `${name} OVER is about all rows of a partition: it takes no ORDER BY`)
  }
  const rows = { partitionBy, orderBy, over: binder.text.slice(over.start, over.end) }
  const operands = isRanking(name) ? ranking(expression, binder) : operandsOf(name, expression, inner, binder)
  const window: BoundWindow = { function: name, ...operands, ...rows, start, end }
  const index = scope.windows.push(window) - 1
  return { kind: 'window', index, type: operands.type, start: call.start, end }
}

function nameOf({ call }: WindowExpression, binder: Binder): WindowName {
  const functionNames = [...windowNames, ...aggregateNames]
  if (functionNames.includes(call.name)) return call.name as WindowName
  const advice = hint(call.name, functionNames)
  throw binder.error(call, `${truncateForMessage(call.name)} is not a window function${advice}`)
}

function isRanking(name: WindowName): boolean {
  return name === 'ROW_NUMBER' || name === 'RANK' || name === 'DENSE_RANK'
}

type AccessRequest = Pick<BoundWindow, 'operand' | 'isDistinct' | 'fraction' | 'distance' | 'otherwise' | 'type'>

const noOperands = {
  operand: undefined,
  isDistinct: false,
  fraction: undefined,
  distance: undefined,
  otherwise: undefined,
} as const

function ranking({ call }: WindowExpression, binder: Binder): AccessRequest {
  if (call.operands.length > 0) throw binder.error(call, `${call.name} takes 0 operands, not ${call.operands.length}`)
  return { ...noOperands, type: integerType }
}

function operandsOf(name: WindowName, { call }: WindowExpression, scope: Scope, binder: Binder): AccessRequest {
  const { operands, isDistinct = false } = call
  const most = name === 'LAG' || name === 'LEAD' ? 3 : name === 'PERCENTILE' ? 2 : 1
  const [first, second, third] = operands
  if (operands.length > most || (first === undefined && name !== 'COUNT')) {
    throw binder.error(
      call,
      `${name} takes ${most === 1 ? '1 operand' : `1 to ${most} operands`}, not ${operands.length}`,
    )
  }
  const operand = first && binder.bind(first, scope)
  if (operand !== undefined && isDistinct) requireKey(operand.type, operand, `${name}(DISTINCT …) takes`, binder)
  const type = operand?.type ?? integerType
  const plain = { ...noOperands, operand, isDistinct }
  if (name === 'FIRST_VALUE' || name === 'LAST_VALUE') return { ...plain, type }
  if (name === 'LAG' || name === 'LEAD') return { ...plain, ...neighbour(name, type, second, third, scope, binder) }
  if (operand !== undefined && isMany(operand.type)) {
    throw binder.error(operand, `${name} OVER takes single values of the rows, not ${aTypeName(operand.type)}`)
  }
  const fraction = name === 'PERCENTILE' ? bindFraction(call, scope, binder) : undefined
  return { ...plain, fraction, type: aggregateType(name as AggregateName, operand, call, binder) }
}

function neighbour(
  name: string,
  type: ValueType,
  second: Expression | undefined,
  third: Expression | undefined,
  scope: Scope,
  binder: Binder,
): Pick<AccessRequest, 'distance' | 'otherwise' | 'type'> {
  const distance = second && checkedOperand(binder.bind(second, scope), 'integer', name, binder)
  if (distance !== undefined && !isConstant(distance)) {
    throw binder.error(distance, `how many rows away ${name} looks is the same for all rows`)
  }
  const otherwise = third && binder.bind(third, scope)
  const common = otherwise === undefined ? type : commonType(type, otherwise.type)
  if (common !== undefined) return { distance, otherwise, type: common }
  const types = `${aTypeName(type)} and ${aTypeName((otherwise as Bound).type)}`
  throw binder.error(otherwise as Bound, `${name} takes values of one type, not ${types}`)
}
