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
  'EXPLAIN',
  'WITH',
]

/** `word`: in capitals. */
export function isStatementWord(word: string): boolean {
  return words.includes(word)
}

/** As messages tell what could begin a statement. */
export const statementBeginnings: readonly string[] = words
  .filter((word) => word !== 'IMPORT')
  .map((word) => (word === 'FOR' ? 'FOR EACH' : word === 'DROP' ? 'DROP INDEX' : word))

/** Words with which a parenthesised statement begins. */
const nestedWords: readonly string[] = ['LOOKUP', 'FROM', 'SELECT', 'MATCH', 'CREATE', 'UPSERT', 'WITH']

/** So many tokens ahead. `FROM` could be an attribute's name: a statement it is where a name or a parenthesis follows, not an operator. */
export function isStatementAt(cursor: TokenCursor, ahead: number): boolean {
  const word = cursor.wordAt(ahead)
  if (word === undefined || !nestedWords.includes(word)) return false
  const token = cursor.peek(ahead + 1)
  if (word === 'MATCH' && isSelectionAt(cursor, ahead + 1)) return true
  if (token.kind === 'name') return token.isQuoted || !infixWords.has(token.text.toUpperCase())
  if (token.kind === 'variable' || token.kind === 'literal' || token.kind === 'system') return true
  if (token.kind !== 'symbol') return false
  if (word === 'FROM' && token.text === '(') return isStatementAt(cursor, ahead + 2)
  return (word === 'MATCH' && token.text === '(') || (word === 'SELECT' && token.text === '*')
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
