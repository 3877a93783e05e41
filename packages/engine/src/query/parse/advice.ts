/** What somebody who comes from another language may have meant by a token that does not fit. */
import type { Token } from './token.ts'

/** What is asked of the place where the parser is. */
interface Place {
  /** The next token in capitals, if it could be a keyword. */
  wordAt(): string | undefined
  isSymbol(text: string): boolean
  /** The token before the next one. */
  previous(): Token | undefined
  /** The same where it was taken for the name of an attribute. */
  lastName(): Token | undefined
}

/** By words that do not fit where they stand. */
const words: Readonly<Record<string, string>> = {
  INSERT: 'a new object is written CREATE C {a: v}',
  ALTER: 'classes are changed by UPDATE SCHEMA { ALTER CLASS C {ADD a: Integer} }',
  HAVING: 'HAVING follows GROUP BY',
  JOIN: 'objects that belong together are reached by paths, as in client.name, or by MATCH',
  INNER: 'objects that belong together are reached by paths, as in client.name, or by MATCH',
  LEFT: 'objects that belong together are reached by paths, as in client.name, or by MATCH',
  EXTENDS: 'a superclass is written CREATE CLASS C SUPERCLASS B {…}',
  RENAME: 'classes are renamed by UPDATE SCHEMA { RENAME CLASS C TO D }',
}

/** Words of clauses that, where a value is missing, are taken for the name of an attribute. */
const wordsBeforeValue: readonly string[] = ['FROM', 'WHERE', 'RETURN', 'ORDER', 'GROUP', 'TO', 'SET']

/** Of the next token, which does not fit; undefined where there is nothing to say. */
export function advice(cursor: Place): string | undefined {
  const word = cursor.wordAt()
  const known = word !== undefined && Object.hasOwn(words, word) ? words[word] : undefined
  if (known !== undefined) return known
  const comparison = misspeltComparison(cursor)
  if (comparison !== undefined) return comparison
  const isEdge = (cursor.isSymbol('>') || cursor.isSymbol('(')) && cursor.previous()?.text === '-'
  if (isEdge) return 'an edge is written -->, <-- or -[…]->'
  const before = cursor.lastName()?.text
  if (before === undefined || !wordsBeforeValue.includes(before.toUpperCase())) return undefined
  return `'${before}' before it is read as a name, since a value is missing there`
}

/** `=<`, `=>`, `===`. */
function misspeltComparison(cursor: Place): string | undefined {
  const before = cursor.previous()?.text
  if (cursor.isSymbol('<') && before === '=') return 'at most is written <='
  if (cursor.isSymbol('=>') && cursor.lastName() !== undefined) return 'at least is written >='
  if (cursor.isSymbol('=') && (before === '==' || before === '!=')) return `there is no ${before}=: ${before} compares`
  return undefined
}

const lateWords: readonly string[] = ['WHERE', 'GROUP', 'HAVING', 'ORDER', 'SKIP', 'OFFSET', 'TAKE', 'LIMIT']

/** Of a clause that stands behind the end of a statement that begins with `beginning`. */
export function lateClause(cursor: Place, beginning: string): string | undefined {
  const word = cursor.wordAt()
  if (word === undefined || !lateWords.includes(word)) return undefined
  const clause = word === 'GROUP' || word === 'ORDER' ? `${word} BY` : word
  const isSelection = beginning === 'FROM' || beginning === 'MATCH'
  if (isSelection && (word === 'WHERE' || word === 'GROUP' || word === 'HAVING'))
    return `${clause} stands before RETURN`
  if (beginning === 'SELECT' || beginning === 'RETURN') {
    return 'clauses stand in the order WHERE, GROUP BY, HAVING, ORDER BY, SKIP and TAKE'
  }
  if (beginning === 'UPDATE' && word === 'WHERE') return 'WHERE stands before SET, CLEAR, ADD and REMOVE'
  return undefined
}
