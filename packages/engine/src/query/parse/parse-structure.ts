/** Parser of `LIST{…}`, `SET{…}`, `MAP{…}`, `INTERVAL{…}` and of assignments in braces. */
import type { Assignment, Expression, IntervalUnit, Pair } from '../language/ast.ts'
import type { TokenCursor } from './token-cursor.ts'

type ParseExpression = (cursor: TokenCursor) => Expression

const structureWords: readonly string[] = ['LIST', 'SET', 'MAP', 'INTERVAL']
const units: readonly IntervalUnit[] = ['days', 'hours', 'minutes', 'seconds', 'milliseconds']

export function isStructureWord(word: string): boolean {
  return structureWords.includes(word)
}

/** Called between the word and `{`. */
export function parseStructureWord(
  cursor: TokenCursor,
  word: string,
  start: number,
  parseExpression: ParseExpression,
): Expression {
  if (word === 'INTERVAL') {
    const parts = cursor.braces(() => parseIntervalPart(cursor, parseExpression))
    return { kind: 'interval', parts, ...cursor.spanFrom(start) }
  }
  if (word === 'MAP') {
    const pairs = cursor.braces((): Pair => {
      const key = parseExpression(cursor)
      cursor.expectSymbol(':')
      return { key, value: parseExpression(cursor) }
    })
    return { kind: 'pairs', pairs, ...cursor.spanFrom(start) }
  }
  const elements = cursor.braces(() => parseExpression(cursor))
  return { kind: 'elements', form: word === 'SET' ? 'set' : 'list', elements, ...cursor.spanFrom(start) }
}

function parseIntervalPart(
  cursor: TokenCursor,
  parseExpression: ParseExpression,
): { unit: IntervalUnit; amount: Expression } {
  const word = cursor.wordAt()?.toLowerCase()
  const unit = units.find((candidate) => candidate === word)
  if (unit === undefined) throw cursor.unexpected(units.map((candidate) => candidate.toUpperCase()))
  cursor.next()
  cursor.expectSymbol(':')
  return { unit, amount: parseExpression(cursor) }
}

/** `{target: e, …}`; dots in a target lead into embedded objects. */
export function parseAssignments(cursor: TokenCursor, parseExpression: ParseExpression): Assignment[] {
  return cursor.braces(() => {
    const { start } = cursor.peek()
    const target = [parseStep(cursor)]
    while (cursor.takeSymbol('.')) target.push(parseStep(cursor))
    if (cursor.isSymbol('=')) throw cursor.unexpected(["':', as in {a: v}"])
    cursor.expectSymbol(':')
    return { target, value: parseExpression(cursor), ...cursor.spanFrom(start) }
  })
}

/** `name` or `Base::name`. */
function parseStep(cursor: TokenCursor): string {
  let name = cursor.expectName('an attribute').text
  while (cursor.takeSymbol('::')) name += `::${cursor.expectName('an attribute').text}`
  return name
}
