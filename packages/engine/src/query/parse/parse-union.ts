/** Parser of `FROM … UNION [ALL] FROM …`: a statement whose source is the rows of several statements (docs/query-language.md, UNION). */
import type {
  Expression,
  MatchStatement,
  OrderClauses,
  OrderItem,
  Projection,
  Projections,
  SelectStatement,
  Statement,
} from '../language/ast.ts'
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
  const parts = written.map((part, i): Part => ({ ...part, ...unordered, unionPart: i === 0 ? 'first' : 'other' }))
  const references: Expression = { kind: 'union', parts, distinctParts, ...span }
  const order = { orderBy: orderBy.map((item) => asColumn(item, first.projections, cursor.text)), skip, take }
  return selectRows(references, order, first.projections)
}

/** A statement that sorts and limits the rows of `references`, which have the columns of `projections`. */
export function selectRows(references: Expression, order: OrderClauses, projections: Projections): SelectStatement {
  const span = { start: references.start, end: references.end }
  const columns = projections?.map(({ name, start, end }): Projection => {
    return { expression: { kind: 'name', name, start, end }, name, start, end }
  })
  return {
    kind: 'select',
    source: { kind: 'references', references, alias: undefined, ...span },
    where: undefined,
    groupBy: [],
    having: undefined,
    ...order,
    ...nothingReturned,
    projections: columns,
    ...span,
  }
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
