/** Parser of `FROM … UNION [ALL] FROM …`: a statement whose source is the rows of several statements (docs/query-language.md, UNION). */
import type { Expression, MatchStatement, OrderItem, Projections, SelectStatement, Statement } from '../language/ast.ts'
import { syntaxError } from '../language/query-error.ts'
import { nothingReturned, squeezed, unordered } from './parse-clauses.ts'
import type { TokenCursor } from './token-cursor.ts'

type Part = SelectStatement | MatchStatement

/** Each part is planned separately. */
const partsMax = 100

/** Called before UNION. ORDER BY, SKIP and TAKE of the last part apply to all rows. */
export function parseUnion(cursor: TokenCursor, first: Part, parsePart: (cursor: TokenCursor) => Part): Statement {
  const written: Part[] = [first]
  let distinctParts = 0
  while (cursor.takeWord('UNION')) {
    refuseOrder(written.at(-1) as Part, cursor)
    if (written.length === partsMax) throw cursor.mistaken(`UNION has at most ${partsMax} statements`)
    const isAll = cursor.takeWord('ALL')
    if (!isAll) cursor.takeWord('DISTINCT')
    written.push(parsePart(cursor))
    if (!isAll) distinctParts = written.length
  }
  const span = cursor.spanFrom(first.start)
  const { orderBy, skip, take } = written.at(-1) as Part
  const parts = written.map((part, i): Part => ({ ...part, ...unordered, ofUnion: i === 0 ? 'first' : 'other' }))
  const references: Expression = { kind: 'union', parts, distinctParts, ...span }
  return {
    kind: 'select',
    source: { kind: 'references', references, alias: undefined, ...span },
    where: undefined,
    groupBy: [],
    having: undefined,
    orderBy: orderBy.map((item) => asColumn(item, first.projections, cursor.text)),
    skip,
    take,
    ...nothingReturned,
    projections: columnsOf(first.projections),
    ...span,
  }
}

/** Columns by the names of the first statement. */
export function columnsOf(projections: Projections): Projections {
  return projections?.map(({ name, start, end }) => ({
    expression: { kind: 'name', name, start, end },
    name,
    start,
    end,
  }))
}

function refuseOrder({ orderBy, skip, take }: Part, { text }: TokenCursor): void {
  const clause = orderBy[0] ?? skip ?? take
  if (clause === undefined) return
  const rule = 'ORDER BY, SKIP and TAKE stand behind the last statement of a UNION, and are of all rows'
  throw syntaxError(text, clause, `${rule}; those of one statement: FROM (FROM … TAKE 1) RETURN *`)
}

/** An ORDER BY expression equal to one returned by the first statement becomes a reference to its column. */
function asColumn(item: OrderItem, projections: Projections, text: string): OrderItem {
  const { start, end } = item.expression
  const name = squeezed(text.slice(start, end))
  const isColumn = projections?.some((projection) => projection.name === name) === true
  return isColumn ? { ...item, expression: { kind: 'name', name, start, end } } : item
}
