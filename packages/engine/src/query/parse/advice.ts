/** Hints for syntax errors: constructs of other languages that the unexpected token may stem from. */
import {
  classTest,
  type Hint,
  hintsAtBeginning,
  hintsInMatch,
  hintsOfWords,
  hintText,
  outerJoin,
  patternAsCondition,
  percentile,
} from './hints.ts'
import type { Token } from './token.ts'

interface Place {
  /** A token in upper case, if it could be a keyword. */
  wordAt(ahead?: number): string | undefined
  isSymbol(text: string, ahead?: number): boolean
  peek(ahead?: number): Token
  /** The token `back` tokens before the next one. */
  previous(back?: number): Token | undefined
  /** The previous token, if it was read as an attribute name. */
  lastName(): Token | undefined
}

/** By words before an unexpected token, if they were read as attribute names. */
const wordsBefore: Readonly<Record<string, string>> = {
  TOP: 'the first rows are asked for by TAKE n, after ORDER BY',
  CASE: 'CASE is followed by WHEN, or by a value and WHEN',
  DATE: "a date is written 2024-02-29, or '2024-02-29'",
  TIME: "a time is written 08:05, or '08:05'",
}

/** Keywords of clauses that are read as attribute names if the value is missing. */
const wordsBeforeValue: readonly string[] = [
  ...['FROM', 'WHERE', 'RETURN', 'ORDER', 'GROUP', 'TO', 'SET', 'AND', 'OR', 'NOT', 'TAKE', 'SKIP', 'BY'],
]

/** A hint for the unexpected next token; undefined if there is none. */
export function advice(cursor: Place): string | undefined {
  const word = cursor.wordAt()
  const hint = hintOfWord(word, cursor) ?? hintOf(hintsOfWords, word)
  if (hint !== undefined) return hintText(hint)
  if ((word === 'ORDER' || word === 'GROUP') && cursor.wordAt(1) !== 'BY') return `${word} is followed by BY`
  const comparison = misspeltComparison(cursor)
  if (comparison !== undefined) return comparison
  if (isPatternInExpression(cursor)) return hintText(patternAsCondition)
  const isEdge = (cursor.isSymbol('>') || cursor.isSymbol('(')) && cursor.previous()?.text === '-'
  if (isEdge) return 'an edge is written -->, <-- or -[…]->'
  return adviceOnSymbol(cursor) ?? adviceOnName(cursor)
}

export function adviceAtBeginning(cursor: Place): string | undefined {
  const hint = hintOf(hintsAtBeginning, cursor.wordAt())
  return hint === undefined ? advice(cursor) : hintText(hint)
}

export function adviceInMatch(cursor: Place): string | undefined {
  const hint = hintOf(hintsInMatch, cursor.wordAt())
  return hint === undefined ? advice(cursor) : hintText(hint)
}

function hintOf(hints: Readonly<Record<string, Hint>>, word: string | undefined): Hint | undefined {
  return word !== undefined && Object.hasOwn(hints, word) ? hints[word] : undefined
}

/** Hints for words that may be names, so the words after them must match, too. */
function hintOfWord(word: string | undefined, cursor: Place): Hint | undefined {
  const next = cursor.wordAt(1)
  switch (word) {
    case 'LEFT':
    case 'RIGHT':
    case 'FULL':
      return next === 'JOIN' || next === 'OUTER' ? outerJoin : undefined
    case 'CROSS':
      return next === 'JOIN' ? hintsOfWords.JOIN : undefined
    case 'OUTER':
      return next === 'JOIN' ? outerJoin : undefined
    case 'WITHIN':
      return next === 'GROUP' ? percentile : undefined
    case 'STARTS':
    case 'ENDS':
      return next === 'WITH' ? [`${word} WITH is a function:`, `FROM C WHERE ${word}_WITH(a, 'x') RETURN a`] : undefined
    case 'EXCEPT':
      if (!['FROM', 'SELECT', 'MATCH', 'ALL', 'DISTINCT'].includes(next ?? '')) return undefined
      return ['for rows that others lack, write', 'FROM C c WHERE NOT EXISTS(FROM D d WHERE d.b = c.a) RETURN c.a']
    case 'INTERSECT':
      if (!['FROM', 'SELECT', 'MATCH', 'ALL', 'DISTINCT'].includes(next ?? '')) return undefined
      return ['for rows that others have too, write', 'FROM C c WHERE EXISTS(FROM D d WHERE d.b = c.a) RETURN c.a']
    case 'FILTER':
      if (cursor.isSymbol('(', 1)) {
        return ['to aggregate some rows only, write', 'FROM C RETURN COUNT(CASE WHEN a > 1 THEN 1 END)']
      }
      return cursor.isSymbol('.', 1) || (next !== undefined && !wordsAfterAlias.includes(next))
        ? ['conditions are written after WHERE:', 'FROM C WHERE a = v RETURN b']
        : undefined
    default:
      return undefined
  }
}

const wordsAfterAlias: readonly string[] = [
  ...['WHERE', 'GROUP', 'ORDER', 'SKIP', 'OFFSET', 'TAKE', 'LIMIT', 'RETURN', 'SET', 'CLEAR', 'ADD', 'REMOVE', 'UNION'],
]

/** `(a)-[…`, `(a)-->`, `(a)--(:C)` in place of an expression, and `EXISTS {(…`. */
function isPatternInExpression(cursor: Place): boolean {
  const [previous, second, third] = [cursor.previous(), cursor.previous(2), cursor.previous(3)].map(
    (token) => token?.text,
  )
  if (cursor.isSymbol('[')) return previous === '-' && second === ')'
  if (cursor.isSymbol('>')) return previous === '-' && second === '-' && third === ')'
  if (cursor.isSymbol(':')) return previous === '(' && second === '-'
  return cursor.isSymbol('(') && previous === '{' && second?.toUpperCase() === 'EXISTS'
}

export function columnAdvice(cursor: Place): string | undefined {
  const advised = advice(cursor)
  const isNamed = cursor.lastName() !== undefined && cursor.wordAt() !== undefined
  return advised ?? (isNamed ? 'a column is named by AS' : undefined)
}

/** A hint if the previous token was read as an attribute name. */
function adviceOnName(cursor: Place): string | undefined {
  const previous = cursor.lastName()?.text
  if (previous === undefined) return undefined
  const word = previous.toUpperCase()
  if (wordsBeforeValue.includes(word))
    return `'${previous}' before it is read as a name, since a value is missing there`
  return Object.hasOwn(wordsBefore, word) ? wordsBefore[word] : undefined
}

/** Texts and symbols in the notation of other languages. */
function adviceOnSymbol(cursor: Place): string | undefined {
  const token = cursor.peek()
  const previous = cursor.previous()
  const areBothTexts = isText(token) && previous !== undefined && isText(previous)
  if (areBothTexts && previous.end === token.start) return "a quote within a text is written \\'"
  const next = cursor.peek(1)
  if (cursor.isSymbol('-') && next.kind === 'symbol' && next.text === '-') return 'comments are written // … or /* … */'
  if (cursor.isSymbol('[') && isBeforeValue(previous)) return hintText(['a list is written', 'SHOW LIST{1, 2}'])
  if (cursor.isSymbol('{')) {
    const followsColumnsWord = ['RETURN', 'SELECT'].includes(previous?.text.toUpperCase() ?? '')
    return followsColumnsWord ? hintText(['columns are written without braces:', 'FROM C RETURN a, b']) : undefined
  }
  if (!cursor.isSymbol(':')) return undefined
  if (cursor.lastName() !== undefined && next.text === '{') return 'a shape stands behind its column without a colon'
  if (cursor.lastName() !== undefined && next.kind === 'name') return hintText(classTest)
  return previous?.kind === 'symbol' && next.kind === 'name' ? 'a parameter is written $name' : undefined
}

/** Whether an expression may start after the token. */
function isBeforeValue(previous: Token | undefined): boolean {
  if (previous?.kind === 'symbol') return ![')', ']', '}'].includes(previous.text)
  const word = previous?.text.toUpperCase() ?? ''
  return wordsBeforeValue.includes(word) || ['SELECT', 'SHOW', 'IN'].includes(word)
}

function isText(token: Token): boolean {
  return token.kind === 'literal' && token.literal.type === 'string'
}

/** `=<`, `=>`, `===`. */
function misspeltComparison(cursor: Place): string | undefined {
  const previous = cursor.previous()?.text
  if (cursor.isSymbol('<') && previous === '=') return 'at most is written <='
  if (cursor.isSymbol('=>') && cursor.lastName() !== undefined) return 'at least is written >='
  if (cursor.isSymbol('=') && (previous === '==' || previous === '!='))
    return `there is no ${previous}=: ${previous} compares`
  return undefined
}

const lateWords: readonly string[] = ['WHERE', 'GROUP', 'HAVING', 'ORDER', 'SKIP', 'OFFSET', 'TAKE', 'LIMIT']

/** A hint for a clause after the end of a statement that starts with `beginning`. */
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
