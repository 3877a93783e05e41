/** Parser of predicates after a value: IS NULL, IN (…), BETWEEN, LIKE, and their negations by NOT. */
import type { Expression } from '../language/ast.ts'
import type { OperatorName } from '../language/operators.ts'
import { advice } from './advice.ts'
import { classTest, hintText } from './hints.ts'
import { isStatementAt } from './statement-words.ts'
import type { TokenCursor } from './token-cursor.ts'

interface Parsers {
  expression(cursor: TokenCursor): Expression
  /** Operators of higher precedence than comparisons. */
  operand(cursor: TokenCursor): Expression
}

/** Consumes nothing and returns undefined if no predicate follows. */
export function parseWordPredicate(cursor: TokenCursor, value: Expression, parse: Parsers): Expression | undefined {
  if (cursor.takeWord('IS')) return parseIsNull(cursor, value)
  const isNegated = cursor.isWord('NOT') && negatable.includes(cursor.wordAt(1) ?? '')
  const ahead = isNegated ? 1 : 0
  const word = cursor.wordAt(ahead)
  if (word === undefined || !negatable.includes(word)) return undefined
  const isList = word === 'IN' && cursor.isSymbol('(', ahead + 1) && !isStatementAt(cursor, ahead + 2)
  if (word === 'IN' && !isNegated && !isList) return undefined
  if (isNegated) cursor.next()
  cursor.next()
  const predicate = parseNamed(cursor, word, value, isList, parse)
  return isNegated ? operation('not', [predicate]) : predicate
}

const negatable: readonly string[] = ['IN', 'BETWEEN', 'LIKE', 'ILIKE']

function parseNamed(cursor: TokenCursor, word: string, value: Expression, isList: boolean, parse: Parsers): Expression {
  if (word === 'BETWEEN') {
    const lower = parse.operand(cursor)
    cursor.expectWord('AND')
    return operation('between', [value, lower, parse.operand(cursor)])
  }
  if (word === 'IN') return isList ? parseInList(cursor, value, parse) : operation('in', [value, parse.operand(cursor)])
  return operation(word === 'LIKE' ? 'like' : 'ilike', [value, parse.operand(cursor)])
}

function parseIsNull(cursor: TokenCursor, value: Expression): Expression {
  const isNegated = cursor.takeWord('NOT')
  if (!cursor.isWord('NULL')) {
    const hint = cursor.isName() ? hintText(classTest) : advice(cursor)
    throw cursor.unexpected(isNegated ? ['NULL'] : ['NULL', 'NOT NULL'], hint)
  }
  cursor.next()
  const test: Expression = { kind: 'call', name: 'IS_NULL', operands: [value], ...cursor.spanFrom(value.start) }
  return isNegated ? operation('not', [test], cursor.lastEnd) : test
}

/** Called before `(`. A top-level comma makes it a list of values; `(e)` may be a collection, which is decided in binding. */
function parseInList(cursor: TokenCursor, value: Expression, parse: Parsers): Expression {
  if (cursor.isSymbol(')', 1)) {
    cursor.next()
    throw cursor.unexpected(['a value'], 'the list of IN has at least one value')
  }
  const close = cursor.closing(0)
  if (!hasCommaWithin(cursor, close)) {
    const { end } = cursor.peek(close)
    const operand = parse.operand(cursor)
    return operation(cursor.lastEnd === end ? 'inList' : 'in', [value, operand], cursor.lastEnd)
  }
  cursor.next()
  const elements = cursor.list(() => parse.expression(cursor))
  cursor.expectSymbol(')')
  return operation('inList', [value, ...elements], cursor.lastEnd)
}

/** Whether the brackets that open at the next token and close at `close` contain a comma outside of inner brackets. */
function hasCommaWithin(cursor: TokenCursor, close: number): boolean {
  let open = 0
  for (let at = 1; at < close; at++) {
    const { kind, text } = cursor.peek(at)
    if (kind !== 'symbol') continue
    if (text === '(' || text === '[' || text === '{') open++
    else if (text === ')' || text === ']' || text === '}') open--
    else if (text === ',' && open === 0) return true
  }
  return false
}

function operation(
  operator: OperatorName,
  operands: readonly Expression[],
  end = (operands.at(-1) as Expression).end,
): Expression {
  return { kind: 'operation', operator, operands, start: (operands[0] as Expression).start, end }
}
