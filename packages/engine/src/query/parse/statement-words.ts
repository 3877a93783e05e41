/** First words of statements. */
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

/** `word` is in upper case. */
export function isStatementWord(word: string): boolean {
  return words.includes(word)
}

const fullBeginnings: Readonly<Record<string, readonly string[]>> = {
  FOR: ['FOR EACH'],
  DROP: ['DROP INDEX', 'DROP SEQUENCE'],
  ALTER: ['ALTER SEQUENCE'],
}

export const statementBeginnings: readonly string[] = words
  .filter((word) => word !== 'IMPORT')
  .flatMap((word) => fullBeginnings[word] ?? [word])

/** First words of a parenthesised statement. */
const nestedWords: readonly string[] = ['LOOKUP', 'FROM', 'SELECT', 'RETURN', 'MATCH', 'CREATE', 'UPSERT', 'WITH']

/** Whether a statement starts at the token. `FROM` could be an attribute name: it starts a statement before a name, value or parenthesis. */
export function isStatementAt(cursor: TokenCursor, ahead: number): boolean {
  const word = cursor.wordAt(ahead)
  if (word === undefined || !nestedWords.includes(word)) return false
  const token = cursor.peek(ahead + 1)
  if (word === 'MATCH' && isSelectionAt(cursor, ahead + 1)) return true
  if (token.kind === 'name')
    return token.isQuoted || !(infixWords.has(token.text.toUpperCase()) || isWordPredicateAt(cursor, ahead + 1))
  if (token.kind === 'variable' || token.kind === 'literal' || token.kind === 'system') return true
  if (token.kind !== 'symbol') return false
  // No function has such a name.
  if (token.text === '(') return ['FROM', 'LOOKUP', 'MATCH', 'SELECT', 'RETURN'].includes(word)
  return token.text === '*' && (word === 'SELECT' || word === 'RETURN')
}

/** `from IS NULL`, `from LIKE 'a'`, `from NOT IN (1, 2)`: a class with such a name is never followed by these words. */
function isWordPredicateAt(cursor: TokenCursor, ahead: number): boolean {
  const word = cursor.wordAt(ahead) ?? ''
  const next = cursor.wordAt(ahead + 1)
  if (word === 'IS') return next === 'NULL' || next === 'NOT'
  if (word === 'NOT') return ['IN', 'LIKE', 'ILIKE', 'BETWEEN'].includes(next ?? '')
  const { kind } = cursor.peek(ahead + 1)
  return ['LIKE', 'ILIKE', 'BETWEEN'].includes(word) && (kind === 'literal' || kind === 'variable')
}

/** ANY or ALL of a pattern, and not `match ANY (predicate)` of an attribute with that name. */
function isSelectionAt(cursor: TokenCursor, ahead: number): boolean {
  if (!cursor.isWord('ANY', ahead) && !cursor.isWord('ALL', ahead)) return false
  if (cursor.peek(ahead + 1).kind === 'name') return true
  if (!cursor.isSymbol('(', ahead + 1)) return false
  const behind = cursor.closing(ahead + 1) + 1
  return cursor.isSymbol('-', behind) || cursor.isSymbol('<', behind)
}

/** Words that follow a source; after ONLY they show that `Only` is the name of a class. */
const wordsAfterSource = ['WHERE', 'SKIP', 'TAKE', 'LIMIT', 'OFFSET', 'RETURN', 'SET', 'ADD', 'REMOVE', 'CLEAR', 'AS']
const groupingWords = ['GROUP', 'ORDER']

export function isClauseAt(cursor: TokenCursor, ahead: number): boolean {
  const word = cursor.wordAt(ahead) ?? ''
  return wordsAfterSource.includes(word) || (groupingWords.includes(word) && cursor.isWord('BY', ahead + 1))
}
