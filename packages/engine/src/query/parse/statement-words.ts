/** The words with which statements begin. */
import { infixWords } from '../language/operators.ts'
import type { TokenCursor } from './token-cursor.ts'

const words: readonly string[] = [
  'FROM',
  'SELECT',
  'RETURN',
  'MATCH',
  'CREATE',
  'UPDATE',
  'DELETE',
  'UPSERT',
  'LOOKUP',
  'LET',
  'SHOW',
  'FOR',
  'IF',
  'USE',
  'IMPORT',
  'DROP',
  'ALTER',
  'EXPLAIN',
  'WITH',
]

/** `word`: in capitals. */
export function isStatementWord(word: string): boolean {
  return words.includes(word)
}

const wholeBeginnings: Readonly<Record<string, readonly string[]>> = {
  FOR: ['FOR EACH'],
  DROP: ['DROP INDEX', 'DROP SEQUENCE'],
  ALTER: ['ALTER SEQUENCE'],
}

/** As messages tell what could begin a statement. */
export const statementBeginnings: readonly string[] = words
  .filter((word) => word !== 'IMPORT')
  .flatMap((word) => wholeBeginnings[word] ?? [word])

/** Words with which a parenthesised statement begins. */
const nestedWords: readonly string[] = ['LOOKUP', 'FROM', 'SELECT', 'RETURN', 'MATCH', 'CREATE', 'UPSERT', 'WITH']

/** So many tokens ahead. `FROM` could be an attribute's name: a statement it is where a name, a value or a parenthesis follows, not an operator. */
export function isStatementAt(cursor: TokenCursor, ahead: number): boolean {
  const word = cursor.wordAt(ahead)
  if (word === undefined || !nestedWords.includes(word)) return false
  const token = cursor.peek(ahead + 1)
  if (word === 'MATCH' && isSelectionAt(cursor, ahead + 1)) return true
  if (token.kind === 'name')
    return token.isQuoted || !(infixWords.has(token.text.toUpperCase()) || isWordPredicateAt(cursor, ahead + 1))
  if (token.kind === 'variable' || token.kind === 'literal' || token.kind === 'system') return true
  if (token.kind !== 'symbol') return false
  // No function has the name of one of them.
  if (token.text === '(') return ['FROM', 'LOOKUP', 'MATCH', 'SELECT', 'RETURN'].includes(word)
  return token.text === '*' && (word === 'SELECT' || word === 'RETURN')
}

/** `from IS NULL`, `from LIKE 'a'`, `from NOT IN (1, 2)`: a class of such a name is followed by something else. */
function isWordPredicateAt(cursor: TokenCursor, ahead: number): boolean {
  const word = cursor.wordAt(ahead) ?? ''
  const next = cursor.wordAt(ahead + 1)
  if (word === 'IS') return next === 'NULL' || next === 'NOT'
  if (word === 'NOT') return ['IN', 'LIKE', 'ILIKE', 'BETWEEN'].includes(next ?? '')
  const { kind } = cursor.peek(ahead + 1)
  return ['LIKE', 'ILIKE', 'BETWEEN'].includes(word) && (kind === 'literal' || kind === 'variable')
}

/** ANY or ALL of a pattern, and not `match ANY (predicate)` of an attribute of that name. */
function isSelectionAt(cursor: TokenCursor, ahead: number): boolean {
  if (!cursor.isWord('ANY', ahead) && !cursor.isWord('ALL', ahead)) return false
  if (cursor.peek(ahead + 1).kind === 'name') return true
  if (!cursor.isSymbol('(', ahead + 1)) return false
  const behind = cursor.closing(ahead + 1) + 1
  return cursor.isSymbol('-', behind) || cursor.isSymbol('<', behind)
}

/** Words that follow a source: a class called `Only` is one that they follow. */
const wordsAfterSource = ['WHERE', 'SKIP', 'TAKE', 'LIMIT', 'OFFSET', 'RETURN', 'SET', 'ADD', 'REMOVE', 'CLEAR', 'AS']
const groupingWords = ['GROUP', 'ORDER']

export function isClauseAt(cursor: TokenCursor, ahead: number): boolean {
  const word = cursor.wordAt(ahead) ?? ''
  return wordsAfterSource.includes(word) || (groupingWords.includes(word) && cursor.isWord('BY', ahead + 1))
}
