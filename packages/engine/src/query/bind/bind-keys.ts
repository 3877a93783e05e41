/** The keys of ORDER BY, GROUP BY and PARTITION BY. */
import { AshlarError, truncateForMessage } from '../../errors.ts'
import type { Expression, Projection } from '../language/ast.ts'
import { excerpt } from '../language/query-error.ts'
import { compareFor } from '../values/compare.ts'
import { aTypeName, isText } from '../values/value-type.ts'
import { tryBind } from './bind-path.ts'
import { type Bound, type BoundOrderItem, isConstant } from './bound.ts'
import { requireKey } from './require-key.ts'
import type { Binder, Scope } from './scope.ts'

/** `columns`: the columns of the rows, for the message. */
export function bindOrderItem(
  expression: Expression,
  isDescending: boolean,
  scope: Scope,
  binder: Binder,
  columns: readonly Projection[] = [],
): BoundOrderItem {
  const bound = binder.bind(expression, scope)
  refuseConstant('ORDER BY', expression, bound, columns, binder)
  const { type } = bound
  if (type.kind !== 'null' && compareFor(type, type) === undefined) {
    throw binder.error(expression, `${aTypeName(type)} has no order`)
  }
  return { expression: bound, type, isDescending }
}

export function bindGroupKey(
  expression: Expression,
  scope: Scope,
  binder: Binder,
  columns: readonly Projection[] = [],
): Bound {
  const key = tryBind(expression, scope, binder)
  if (key instanceof AshlarError) throw columnAsGroupKey(expression, columns, binder) ?? key
  refuseConstant('GROUP BY', expression, key, columns, binder)
  requireKey(key.type, expression, 'groups are made by', binder)
  return key
}

/** Columns cannot be group keys, because grouping precedes projection. */
function columnAsGroupKey(key: Expression, columns: readonly Projection[], binder: Binder): AshlarError | undefined {
  const column = key.kind === 'name' ? columns.find(({ name }) => name === key.name) : undefined
  if (column === undefined) return undefined
  const written = excerpt(binder.text, column.expression)
  return binder.error(key, `GROUP BY takes an expression, not a column's name: GROUP BY ${written}`)
}

export function bindPartitionKey(expression: Expression, scope: Scope, binder: Binder): Bound {
  const key = binder.bind(expression, scope)
  refuseConstant('PARTITION BY', expression, key, [], binder)
  requireKey(key.type, expression, 'PARTITION BY takes', binder)
  return key
}

type Clause = 'ORDER BY' | 'GROUP BY' | 'PARTITION BY'

/** Rejects constants, which order or group nothing and are usually a mistake, such as a parameter for a column name. Throws QueryError. */
function refuseConstant(
  clause: Clause,
  written: Expression,
  key: Bound,
  columns: readonly Projection[],
  binder: Binder,
): void {
  // Columns may be constant, because programs order by any column of a statement.
  if (!isConstant(key) || key.isColumn === true) return
  const expected = clause === 'ORDER BY' ? "a column's name or an expression" : 'an expression'
  throw binder.error(written, `${clause} takes ${expected}, ${whyNot(clause, written, key, columns, binder)}`)
}

function whyNot(
  clause: Clause,
  written: Expression,
  { kind, type }: Bound,
  columns: readonly Projection[],
  { text }: Binder,
): string {
  if (written.kind === 'literal' && written.literal.type === 'integer') {
    const column = columns[Number(written.literal.value) - 1]
    if (column !== undefined) {
      const advice = clause === 'ORDER BY' ? '' : `: ${clause} ${excerpt(text, column.expression)}`
      return `not a column's number: column ${written.literal.value} is '${truncateForMessage(column.name)}'${advice}`
    }
  }
  if (written.kind === 'literal' && written.literal.type === 'string') {
    return 'which a constant is not: names stand without quotes'
  }
  if (kind !== 'variable') return 'which a constant is not'
  const parameter = excerpt(text, written)
  const isSame = `and ${parameter} is the same for all rows`
  if (!isText(type) || written.kind !== 'variable') return isSame
  const column = columns.find(({ expression }) => expression.kind === 'name')
  const name = column === undefined ? 'name' : excerpt(text, column.expression)
  const choice = `CASE ${parameter} WHEN '${name.replaceAll('`', '')}' THEN ${name} END`
  return `${isSame}: write the name into the statement, or choose it by ${choice}`
}
