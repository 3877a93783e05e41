/** `RETURN RAND() AS r ORDER BY r`: evaluates a random column once per row, and sorts by the returned value. */
import type { Expression, MatchStatement, OrderItem, SelectStatement } from '../language/ast.ts'
import { syntaxError } from '../language/query-error.ts'
import { squeezed, unordered } from './parse-clauses.ts'
import { selectRows } from './parse-union.ts'

type Rows = SelectStatement | MatchStatement

/** The statement itself, or one that sorts its rows. Throws QuerySyntaxError. */
export function withRandomOrder(statement: Rows, text: string): Rows {
  const { projections = [], orderBy, skip, take } = statement
  const random = new Set(projections.filter(({ expression }) => isRandom(expression)).map(({ name }) => name))
  if (random.size === 0 || !orderBy.some(({ expression }) => random.has(nameOf(expression, text)))) return statement
  const columns = new Set(projections.map(({ name }) => name))
  const missing = orderBy.find(({ expression }) => !columns.has(nameOf(expression, text)))
  if (statement.isWithAll || missing !== undefined) {
    const rule = 'beside a random column, all that is ordered by has to be returned under a name'
    throw syntaxError(text, missing?.expression ?? orderBy[0]?.expression ?? statement, rule)
  }
  const { start, end } = statement
  const references: Expression = { kind: 'nested', statement: { ...statement, ...unordered }, start, end }
  const byColumn = ({ expression, ...item }: OrderItem): OrderItem => {
    const place = { start: expression.start, end: expression.end }
    return { ...item, expression: { kind: 'name', name: nameOf(expression, text), ...place } }
  }
  return selectRows(references, { orderBy: orderBy.map(byColumn), skip, take }, statement.projections)
}

function nameOf({ start, end }: Expression, text: string): string {
  return squeezed(text.slice(start, end)).replaceAll('`', '')
}

/** Whether RAND occurs anywhere within. */
function isRandom(part: unknown): boolean {
  if (typeof part !== 'object' || part === null) return false
  const { kind, name } = part as { readonly kind?: unknown; readonly name?: unknown }
  return (kind === 'call' && name === 'RAND') || Object.values(part).some(isRandom)
}
