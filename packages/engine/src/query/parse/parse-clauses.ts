/** Parser of the common parts of statements: sources, WHERE to TAKE, and RETURN (docs/query-language.md, Finding). */
import type {
  Alias,
  Clauses,
  Expression,
  LimitClause,
  OrderClauses,
  OrderItem,
  Projection,
  Returned,
  ShapeExpression,
  Source,
} from '../language/ast.ts'
import { syntaxError } from '../language/query-error.ts'
import { advice } from './advice.ts'
import { takeDistinct } from './contextual-words.ts'
import { parseExpression, parsePostfix } from './parse-expression.ts'
import { isClauseAt, isStatementWord } from './statement-words.ts'
import type { TokenCursor } from './token-cursor.ts'

export function parseSource(cursor: TokenCursor): Source {
  const { start } = cursor.peek()
  if (!cursor.isName()) {
    const { kind } = cursor.peek()
    if (kind !== 'variable' && kind !== 'literal' && !cursor.isSymbol('(')) throw cursor.unexpected(['a class'])
    const references = parseExpressionOfSource(cursor)
    const span = cursor.spanFrom(start)
    return { kind: 'references', references, alias: parseAlias(cursor), ...span }
  }
  const isOnly = cursor.isWord('ONLY') && cursor.isName(1) && !isClauseAt(cursor, 1)
  if (isOnly) cursor.next()
  const className = cursor.expectQualifiedName('a class')
  const span = cursor.spanFrom(start)
  const named = isOnly ? undefined : cursor.useNamed(className.text)
  if (named !== undefined) {
    const references: Expression = { kind: 'nested', statement: named, isNamed: true, ...span }
    return { kind: 'references', references, alias: parseAlias(cursor) ?? { name: className.text, ...span }, ...span }
  }
  return { kind: 'class', className, isOnly, alias: parseAlias(cursor), ...span }
}

/** Bounds the join orders that are considered before the first row is read. */
const sourcesMax = 16

/** Called after the first source. `mayEnd`: the statement may end here, so a comma may separate it from the next one, as in the body of FOR EACH. */
export function parseOtherSources(cursor: TokenCursor, mayEnd: boolean): readonly Source[] {
  const sources: Source[] = []
  while (cursor.isSymbol(',') && !(mayEnd && isStatementWord(cursor.wordAt(1) ?? ''))) {
    cursor.next()
    if (sources.length === sourcesMax - 1) throw cursor.mistaken(`FROM has at most ${sourcesMax} sources`)
    sources.push(parseSource(cursor))
  }
  return sources
}

/** In addition to the words of `isClauseAt`: an alias with such a name needs AS or backquotes. */
const wordsNoAlias = [
  'GROUP',
  'ORDER',
  'HAVING',
  'FROM',
  'SELECT',
  'UNION',
  'ON',
  'THEN',
  'ELSE',
  'CREATE',
  'ALTER',
  'RENAME',
  'DROP',
]

/** `[AS] name`, if present. */
function parseAlias(cursor: TokenCursor): Alias | undefined {
  const isWritten = cursor.isWord('AS')
  if (isWritten) cursor.next()
  else if (!cursor.isName() || isClauseAt(cursor, 0) || isNoAlias(cursor)) return undefined
  const { text, start, end } = cursor.expectName('an alias')
  return { name: text, start, end }
}

/** Words that follow a source in other languages are not aliases either, so that errors can give a hint. */
function isNoAlias(cursor: TokenCursor): boolean {
  return wordsNoAlias.includes(cursor.wordAt() ?? '') || advice(cursor) !== undefined
}

/** A variable, an OID or a nested statement, and paths from them; no operators. */
function parseExpressionOfSource(cursor: TokenCursor): Expression {
  const token = cursor.peek()
  if (token.kind === 'literal' && token.literal.type !== 'oid') throw cursor.unexpected(['a class'])
  return parsePostfix(cursor)
}

export function parseWhere(cursor: TokenCursor): Expression | undefined {
  return cursor.takeWord('WHERE') ? parseExpression(cursor) : undefined
}

/** Optional clauses from GROUP BY to TAKE. `isLimited`: SKIP and TAKE are allowed. */
export function parseClauses(cursor: TokenCursor, where: Expression | undefined, isLimited: boolean): Clauses {
  const groupBy = cursor.takeWords('GROUP', 'BY') ? cursor.list(() => parseUnnamed(cursor)) : []
  const having = groupBy.length > 0 && cursor.takeWord('HAVING') ? parseExpression(cursor) : undefined
  const { orderBy, skip, take } = parseOrder(cursor, unordered, isLimited)
  return { where, groupBy, having, orderBy, skip, take }
}

/** An expression of GROUP BY or ORDER BY. */
function parseUnnamed(cursor: TokenCursor): Expression {
  const expression = parseExpression(cursor)
  if (cursor.isWord('AS')) throw cursor.unexpected([], 'columns are named in RETURN or SELECT, as in RETURN e AS o')
  return expression
}

export const unordered: OrderClauses = { orderBy: [], skip: undefined, take: undefined }

/** After RETURN: ORDER BY, SKIP and TAKE, unless they were before it. */
export function parseLateClauses(cursor: TokenCursor, clauses: Clauses, isLimited: boolean): Clauses {
  return { ...clauses, ...parseOrder(cursor, clauses, isLimited) }
}

/** Optional clauses. `before`: clauses already parsed. `isLimited`: SKIP and TAKE are allowed. */
export function parseOrder(cursor: TokenCursor, before: OrderClauses, isLimited: boolean): OrderClauses {
  let { orderBy, skip, take } = before
  if (cursor.isWord('ORDER') && cursor.isWord('BY', 1)) {
    if (orderBy.length > 0) throw cursor.mistaken('ORDER BY is specified twice')
    if (skip !== undefined || take !== undefined) throw cursor.mistaken('ORDER BY stands before SKIP and TAKE')
    cursor.takeWords('ORDER', 'BY')
    orderBy = cursor.list(() => parseOrderItem(cursor))
  }
  while (isLimited) {
    const { start } = cursor.peek()
    const isSkip = cursor.isWord('SKIP') || cursor.isWord('OFFSET')
    if (!isSkip && !cursor.isWord('TAKE') && !cursor.isWord('LIMIT')) break
    const word = cursor.next()
    if ((isSkip ? skip : take) !== undefined) {
      throw syntaxError(cursor.text, word, `${word.text.toUpperCase()} is specified twice`)
    }
    const kind = cursor.takeWord('WHILE') ? 'while' : 'count'
    const limit: LimitClause = { kind, expression: parseExpression(cursor), ...cursor.spanFrom(start) }
    if (isSkip) skip = limit
    else take = limit
  }
  return { orderBy, skip, take }
}

function parseOrderItem(cursor: TokenCursor): OrderItem {
  const expression = parseUnnamed(cursor)
  const isDescending = cursor.takeWord('DESC')
  if (!isDescending) cursor.takeWord('ASC')
  return { expression, isDescending, ...cursor.spanFrom(expression.start) }
}

/** Called after RETURN or SELECT: `*`, or expressions with optional names. */
export function parseReturned(cursor: TokenCursor): Returned {
  const isDistinct = takeDistinct(cursor)
  const isWithAll = cursor.isSymbol('*') && cursor.isSymbol(',', 1)
  if (isWithAll) {
    cursor.next()
    cursor.next()
  }
  const projections = cursor.takeSymbol('*') ? undefined : cursor.list(() => parseProjection(cursor))
  return { projections, isDistinct, isWithAll }
}

export const nothingReturned: Returned = { projections: undefined, isDistinct: false, isWithAll: false }

function parseProjection(cursor: TokenCursor): Projection {
  const allowsShapes = cursor.allowsShapes
  cursor.allowsShapes = true
  const object = parseExpression(cursor)
  const { start } = object
  // The default name of a shape is that of its object.
  const written = squeezed(cursor.text.slice(start, cursor.lastEnd))
  const expression = cursor.isSymbol('{') ? parseShape(cursor, object) : object
  cursor.allowsShapes = allowsShapes
  if (!cursor.takeWord('AS')) return { expression, name: written, ...cursor.spanFrom(start) }
  const name = cursor.isName() ? cursor.next().text : cursor.expectString('a name')
  return { expression, name, ...cursor.spanFrom(start) }
}

/** Called before `{`. */
function parseShape(cursor: TokenCursor, object: Expression): ShapeExpression {
  return cursor.nested(() => {
    cursor.expectSymbol('{')
    const hasWildcard = cursor.takeSymbol('*')
    const entries = hasWildcard && !cursor.takeSymbol(',') ? [] : cursor.list(() => parseProjection(cursor))
    cursor.allowsShapes = false
    const where = parseWhere(cursor)
    const { orderBy, skip, take } = parseOrder(cursor, unordered, true)
    for (const limit of [skip, take])
      if (limit?.kind === 'while') {
        throw syntaxError(cursor.text, limit, 'SKIP and TAKE within a shape are numbers of elements')
      }
    if (!cursor.isSymbol('}')) {
      throw cursor.unexpected(["','", "'}'", 'WHERE', 'ORDER BY', 'SKIP', 'TAKE'], advice(cursor))
    }
    cursor.next()
    return { kind: 'shape', object, hasWildcard, entries, where, orderBy, skip, take, ...cursor.spanFrom(object.start) }
  })
}

const textOrBlank = /'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|(?:\s+|\/\/[^\n]*|\/\*[\s\S]*?\*\/)+/g

/** Collapses blanks and comments outside of texts to single blanks. */
export function squeezed(written: string): string {
  return written.replace(textOrBlank, (piece) => (piece[0] === "'" || piece[0] === '"' ? piece : ' ')).trim()
}
