/** Disambiguates DISTINCT and CASE as keywords from attribute names by the tokens that follow. */
import { infixWords } from '../language/operators.ts'
import { isClauseAt } from './statement-words.ts'
import type { Token } from './token.ts'
import type { TokenCursor } from './token-cursor.ts'

/** Words that follow a value and are not infix operators. */
const wordsAfterValue: readonly string[] = ['IS', 'LIKE', 'ILIKE', 'BETWEEN', 'AS', 'ASC', 'DESC', 'FROM']
const wordsAfterNot: readonly string[] = ['IN', 'LIKE', 'ILIKE', 'BETWEEN']
const wordsAfterUnion: readonly string[] = ['ALL', 'DISTINCT', 'FROM', 'SELECT', 'RETURN', 'MATCH']
const prefixes: readonly string[] = ['(', '-', '+', '!', '~']

/** Consumes DISTINCT if an expression follows it. */
export function takeDistinct(cursor: TokenCursor): boolean {
  if (!cursor.isWord('DISTINCT')) return false
  const isDistinctStar = cursor.isSymbol('*', 1) && !beginsExpression(cursor, 2)
  if (!isDistinctStar && !beginsExpression(cursor, 1)) return false
  cursor.next()
  return true
}

/** Whether the token starts a value rather than continuing the one before it. */
function beginsExpression(cursor: TokenCursor, ahead: number): boolean {
  const token = cursor.peek(ahead)
  if (token.kind === 'symbol') return prefixes.includes(token.text)
  if (token.kind !== 'name') return token.kind !== 'end'
  // A path, whatever its first name.
  if (token.isQuoted || cursor.isSymbol('.', ahead + 1)) return true
  const word = token.text.toUpperCase()
  if (word === 'SET' && cursor.isSymbol('{', ahead + 1)) return true
  if (word === 'UNION' && wordsAfterUnion.includes(cursor.wordAt(ahead + 1) ?? '')) return false
  if (word === 'NOT') return !wordsAfterNot.includes(cursor.wordAt(ahead + 1) ?? '')
  return !infixWords.has(word) && !wordsAfterValue.includes(word) && !isClauseAt(cursor, ahead)
}

/** Words that cannot occur before the first WHEN of a CASE. */
const wordsAfterOperand: readonly string[] = ['AS', 'ASC', 'DESC', 'FROM', 'TO', 'THEN', 'ELSE', 'END', 'CASE']

/** Called after CASE: whether WHEN follows, or a value and WHEN. */
export function isCaseAhead(cursor: TokenCursor): boolean {
  if (cursor.isWord('WHEN')) return !isNameOnly(cursor, 0)
  if (!beginsExpression(cursor, 0)) return false
  for (let at = 0; ; at++) {
    const token = cursor.peek(at)
    if (token.kind === 'end') return false
    if (token.kind === 'symbol') {
      if (token.text === '(' || token.text === '[' || token.text === '{') at = cursor.closing(at)
      else if ([',', ';', ')', ']', '}'].includes(token.text)) return false
      continue
    }
    const word = at > 0 && isMember(cursor, at) ? undefined : cursor.wordAt(at)
    if (word === undefined) continue
    if (word === 'WHEN' && at > 0 && endsValue(cursor.peek(at - 1))) return true
    if (at > 0 && (wordsAfterOperand.includes(word) || isClauseAt(cursor, at))) return false
  }
}

/** `case.when` and the like are paths; `CASE WHEN = 3` compares an attribute. */
function isNameOnly(cursor: TokenCursor, ahead: number): boolean {
  const next = cursor.peek(ahead + 1)
  return next.kind === 'end' || (next.kind === 'symbol' && !prefixes.includes(next.text))
}

function isMember(cursor: TokenCursor, at: number): boolean {
  return cursor.isSymbol('.', at - 1) || cursor.isSymbol('::', at - 1)
}

function endsValue(token: Token): boolean {
  if (token.kind === 'symbol') return token.text === ')' || token.text === ']' || token.text === '}'
  if (token.kind !== 'name') return token.kind !== 'end'
  return token.isQuoted || !infixWords.has(token.text.toUpperCase())
}
