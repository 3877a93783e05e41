/** CASE: the value of the first branch that matches (docs/query-language.md, Operators). */
import type { CaseExpression, Expression } from '../language/ast.ts'
import { aTypeName, booleanType } from '../values/value-type.ts'
import { comparison } from './bind-operation.ts'
import { typeOfAll } from './bind-value.ts'
import { type Bound, isConstant } from './bound.ts'
import { alikeValues, coerced } from './coercion.ts'
import type { Binder, Scope } from './scope.ts'

export function bindCase(expression: CaseExpression, scope: Scope, binder: Binder): Bound {
  const { operand } = expression
  if (operand === undefined) {
    return branchesOf(expression, (when) => bindCondition(when, scope, binder), scope, binder)
  }
  const value = binder.bind(operand, scope)
  const isCheap = isConstant(value) || value.kind === 'attribute'
  const slot = isCheap ? undefined : binder.newSlot()
  const compared: Bound =
    slot === undefined ? value : { kind: 'slot', slot, type: value.type, start: value.start, end: value.end }
  const body = branchesOf(
    expression,
    (when) => comparison('equal', compared, binder.bind(when, scope), when, binder),
    scope,
    binder,
  )
  if (slot === undefined) return body
  return { kind: 'once', slot, value, body, type: body.type, start: expression.start, end: expression.end }
}

function bindCondition(when: Expression, scope: Scope, binder: Binder): Bound {
  const condition = coerced(binder.bind(when, scope), booleanType, binder)
  if (condition.type.kind === 'boolean' || condition.type.kind === 'null') return condition
  throw binder.error(when, `WHEN takes true or false, not ${aTypeName(condition.type)}`)
}

function branchesOf(
  { branches, otherwise, start, end }: CaseExpression,
  conditionOf: (when: Expression) => Bound,
  scope: Scope,
  binder: Binder,
): Bound {
  const conditions = branches.map(({ when }) => conditionOf(when))
  const results = [...branches.map(({ value }) => value), ...(otherwise === undefined ? [] : [otherwise])]
  const values = alikeValues(
    results.map((value) => binder.bind(value, scope)),
    binder,
  )
  const type = typeOfAll(values, binder, 'CASE has values')
  return {
    kind: 'case',
    branches: conditions.map((condition, i) => ({ condition, value: values[i] as Bound })),
    otherwise: values[conditions.length],
    type,
    start,
    end,
  }
}
