/** What statements share: sources, WHERE to TAKE, and what RETURN asks for (docs/query-language.md, Finding). */
import type { Clauses, Expression, LimitClause, OrderItem, Projection, Projections, Source } from '../language/ast.ts'
import { syntaxError } from '../language/query-error.ts'
import { parseExpression, parsePostfix } from './parse-expression.ts'
import type { TokenCursor } from './token-cursor.ts'

export function parseSource(cursor: TokenCursor): Source {
  const { start } = cursor.peek()
  if (!cursor.isName()) {
    const { kind } = cursor.peek()
    if (kind !== 'variable' && kind !== 'literal' && !cursor.isSymbol('(')) throw cursor.unexpected(['a class'])
    const references = parseExpressionOfSource(cursor)
    return { kind: 'references', references, ...cursor.spanFrom(start) }
  }
  const isOnly = cursor.isWord('ONLY') && cursor.isName(1) && !isClause(cursor, 1)
  if (isOnly) cursor.next()
  const className = cursor.expectQualifiedName('a class')
  return { kind: 'class', className, isOnly, ...cursor.spanFrom(start) }
}

/** Words that follow a source: a class called `Only` is one that they follow. */
const wordsAfterSource = ['WHERE', 'SKIP', 'TAKE', 'LIMIT', 'OFFSET', 'RETURN', 'SET', 'ADD', 'REMOVE', 'CLEAR']
const groupingWords = ['GROUP', 'ORDER']

export function isClause(cursor: TokenCursor, ahead: number): boolean {
  const word = cursor.wordAt(ahead) ?? ''
  return wordsAfterSource.includes(word) || (groupingWords.includes(word) && cursor.isWord('BY', ahead + 1))
}

/** A variable, an OID, or a statement in parentheses, and paths from them; no operators. */
function parseExpressionOfSource(cursor: TokenCursor): Expression {
  const token = cursor.peek()
  if (token.kind === 'literal' && token.literal.type !== 'oid') throw cursor.unexpected(['a class'])
  return parsePostfix(cursor)
}

export function parseWhere(cursor: TokenCursor): Expression | undefined {
  return cursor.takeWord('WHERE') ? parseExpression(cursor) : undefined
}

/** GROUP BY to TAKE, each where it is given. `isLimited`: SKIP and TAKE belong to the statement. */
export function parseClauses(cursor: TokenCursor, where: Expression | undefined, isLimited: boolean): Clauses {
  const groupBy = cursor.takeWords('GROUP', 'BY') ? cursor.list(() => parseExpression(cursor)) : []
  const having = groupBy.length > 0 && cursor.takeWord('HAVING') ? parseExpression(cursor) : undefined
  const orderBy = cursor.takeWords('ORDER', 'BY') ? cursor.list(() => parseOrderItem(cursor)) : []
  let skip: LimitClause | undefined
  let take: LimitClause | undefined
  while (isLimited) {
    const { start } = cursor.peek()
    const isSkip = cursor.isWord('SKIP') || cursor.isWord('OFFSET')
    if (!isSkip && !cursor.isWord('TAKE') && !cursor.isWord('LIMIT')) break
    const word = cursor.next()
    if ((isSkip ? skip : take) !== undefined) {
      throw syntaxError(cursor.text, word, `${word.text.toUpperCase()} is given twice`)
    }
    const kind = cursor.takeWord('WHILE') ? 'while' : 'count'
    const limit: LimitClause = { kind, expression: parseExpression(cursor), ...cursor.spanFrom(start) }
    if (isSkip) skip = limit
    else take = limit
  }
  return { where, groupBy, having, orderBy, skip, take }
}

function parseOrderItem(cursor: TokenCursor): OrderItem {
  const expression = parseExpression(cursor)
  const isDescending = cursor.takeWord('DESC')
  if (!isDescending) cursor.takeWord('ASC')
  return { expression, isDescending, ...cursor.spanFrom(expression.start) }
}

/** After RETURN or SELECT: `*`, or expressions with or without a name. */
export function parseProjections(cursor: TokenCursor): Projections {
  if (cursor.takeSymbol('*')) return undefined
  return cursor.list(() => parseProjection(cursor))
}

function parseProjection(cursor: TokenCursor): Projection {
  const expression = parseExpression(cursor)
  const { start } = expression
  const written = squeezed(cursor.text.slice(start, cursor.lastEnd))
  if (!cursor.takeWord('AS')) return { expression, name: written, ...cursor.spanFrom(start) }
  const name = cursor.isName() ? cursor.next().text : cursor.expectString('a name')
  return { expression, name, ...cursor.spanFrom(start) }
}

const textOrBlank = /'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|(?:\s+|\/\/[^\n]*|\/\*[\s\S]*?\*\/)+/g

/** Each run of blanks and comments outside of texts as one blank. */
function squeezed(written: string): string {
  return written.replace(textOrBlank, (piece) => (piece[0] === "'" || piece[0] === '"' ? piece : ' ')).trim()
}
