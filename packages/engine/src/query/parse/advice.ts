/** What somebody who comes from another language may have meant by a token that does not fit. */
import type { Token } from './token.ts'

/** What is asked of the place where the parser is. */
interface Place {
  /** The next token in capitals, if it could be a keyword. */
  wordAt(): string | undefined
  isSymbol(text: string): boolean
  peek(ahead?: number): Token
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
  MERGE: 'an object is created or changed by UPSERT C {a: v} ON (a)',
  DESCRIBE: 'a class is shown by SHOW CLASS C',
  BEGIN: 'the statements of one text are one transaction',
  COMMIT: 'the statements of one text are one transaction',
  FETCH: 'the first rows are asked for by TAKE n',
  ASCENDING: 'an order is ASC or DESC',
  DESCENDING: 'an order is ASC or DESC',
  NULLS: 'nulls are last where the order is ASC, and first where it is DESC',
  SHORTESTPATH: 'a shortest path is written p = ANY SHORTEST (a)-[*]->(b)',
  SELECT: 'behind FROM, columns are asked for by RETURN',
  DELETE: 'objects are deleted by DELETE C WHERE …',
  OVER: 'OVER is followed by parentheses, as in OVER (ORDER BY a)',
}

/** By words before a token that does not fit, where they were taken for names of attributes. */
const wordsBefore: Readonly<Record<string, string>> = {
  TOP: 'the first rows are asked for by TAKE n, behind ORDER BY',
  CASE: 'CASE is followed by WHEN, or by a value and WHEN',
  DATE: "a date is written 2024-02-29, or '2024-02-29'",
  TIME: "a time is written 08:05, or '08:05'",
}

/** Words of clauses that, where a value is missing, are taken for the name of an attribute. */
const wordsBeforeValue: readonly string[] = [
  ...['FROM', 'WHERE', 'RETURN', 'ORDER', 'GROUP', 'TO', 'SET', 'AND', 'OR', 'NOT', 'TAKE', 'SKIP', 'BY'],
]

/** Of the next token, which does not fit; undefined where there is nothing to say. */
export function advice(cursor: Place): string | undefined {
  const word = cursor.wordAt()
  const known = word !== undefined && Object.hasOwn(words, word) ? words[word] : undefined
  if (known !== undefined) return known
  if (word === 'ORDER' || word === 'GROUP') return `${word} is followed by BY`
  const comparison = misspeltComparison(cursor)
  if (comparison !== undefined) return comparison
  const isEdge = (cursor.isSymbol('>') || cursor.isSymbol('(')) && cursor.previous()?.text === '-'
  if (isEdge) return 'an edge is written -->, <-- or -[…]->'
  return adviceOnSymbol(cursor) ?? adviceOnName(cursor)
}

/** Behind the last column. */
export function columnAdvice(cursor: Place): string | undefined {
  const told = advice(cursor)
  const isNamed = cursor.lastName() !== undefined && cursor.wordAt() !== undefined
  return told ?? (isNamed ? 'a column is named by AS' : undefined)
}

/** Where the token before it was taken for the name of an attribute. */
function adviceOnName(cursor: Place): string | undefined {
  const before = cursor.lastName()?.text
  if (before === undefined) return undefined
  const word = before.toUpperCase()
  if (wordsBeforeValue.includes(word)) return `'${before}' before it is read as a name, since a value is missing there`
  return Object.hasOwn(wordsBefore, word) ? wordsBefore[word] : undefined
}

/** Texts and symbols as other languages write them. */
function adviceOnSymbol(cursor: Place): string | undefined {
  const token = cursor.peek()
  const before = cursor.previous()
  const areTexts = isText(token) && before !== undefined && isText(before)
  if (areTexts && before.end === token.start) return "a quote within a text is written \\'"
  const behind = cursor.peek(1)
  if (cursor.isSymbol('-') && behind.kind === 'symbol' && behind.text === '-')
    return 'comments are written // … or /* … */'
  if (!cursor.isSymbol(':')) return undefined
  if (cursor.lastName() !== undefined && behind.text === '{') return 'a shape stands behind its column without a colon'
  return before?.kind === 'symbol' && behind.kind === 'name' ? 'a parameter is written $name' : undefined
}

function isText(token: Token): boolean {
  return token.kind === 'literal' && token.literal.type === 'string'
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
