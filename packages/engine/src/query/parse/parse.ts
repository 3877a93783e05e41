/** Parser of DO; throws QuerySyntaxError with line, column and the expected tokens. */
import { type AshlarError, truncateForMessage } from '../../errors.ts'
import type {
  Clauses,
  ExplainStatement,
  Expression,
  MatchStatement,
  Returned,
  SelectStatement,
  ShowSequencesStatement,
  ShowStatement,
  Source,
  Statement,
} from '../language/ast.ts'
import { excerpt, syntaxError } from '../language/query-error.ts'
import { advice, adviceAtBeginning, columnAdvice, lateClause } from './advice.ts'
import { hintText, noRecursion } from './hints.ts'
import { Lexer, statementTokens } from './lexer.ts'
import { parseCreate, parseDelete, parseUpdate, parseUpsert } from './parse-change.ts'
import {
  nothingReturned,
  parseClauses,
  parseLateClauses,
  parseOtherSources,
  parseReturned,
  parseSource,
  parseWhere,
} from './parse-clauses.ts'
import { parseExpression } from './parse-expression.ts'
import { parseForEach, parseIf, parseImport, parseLet, parseUse } from './parse-flow.ts'
import { parseMatch } from './parse-match.ts'
import { parseListValues } from './parse-property.ts'
import { parseCreateIndex, parseDropIndex, parseSchemaUpdate } from './parse-schema.ts'
import { isSequenceAhead, parseAlterSequence, parseCreateSequence, parseDropSequence } from './parse-sequence.ts'
import { parseUnion } from './parse-union.ts'
import { withRandomOrder } from './random-order.ts'
import { isStatementAt, statementBeginnings } from './statement-words.ts'
import type { Token } from './token.ts'
import { TokenCursor } from './token-cursor.ts'

/** At least one statement, separated by `;`. */
export function parse(text: string, statementTokensMax = Number.POSITIVE_INFINITY): Statement[] {
  return [...statementsOf(text, statementTokensMax)]
}

/** A predicate alone, as after WHERE. `tooMany`: the message of LimitExceeded. Throws QuerySyntaxError and LimitExceeded. */
export function parsePredicate(text: string, tokensMax: number, tooMany?: string): Expression {
  const cursor = new TokenCursor(text, statementTokens(new Lexer(text), text, tokensMax, tooMany), parseStatement)
  const predicate = parseExpression(cursor)
  if (!cursor.isAtEnd()) throw cursor.unexpected(['the end of the text'], advice(cursor))
  return predicate
}

/** The values of a list, `(value, …)`, as JSON. Throws QuerySyntaxError and LimitExceeded. */
export function parseListOfValues(text: string, tokensMax: number): unknown[] {
  const cursor = new TokenCursor(text, statementTokens(new Lexer(text), text, tokensMax), parseStatement)
  const values = parseListValues(cursor)
  if (!cursor.isAtEnd()) throw cursor.unexpected(['the end of the list'])
  return values
}

/** Replaces tokens, and the text from which statements take pieces. */
interface Replacement {
  readonly shape: string
  inPlace(token: Token): Token
}

/** Parses statements lazily, one at a time. Throws QuerySyntaxError, and LimitExceeded for a statement with too many tokens. */
export function* statementsOf(
  text: string,
  statementTokensMax: number,
  replacement?: Replacement,
): Generator<Statement> {
  const lexer = new Lexer(text)
  const next = (): TokenCursor => {
    const tokens = statementTokens(lexer, text, statementTokensMax)
    const cursor =
      replacement === undefined
        ? new TokenCursor(text, tokens, parseStatement)
        : new TokenCursor(replacement.shape, tokens.map(replacement.inPlace), parseStatement)
    while (cursor.takeSymbol(';'));
    return cursor
  }
  let cursor = next()
  do {
    const beginning = cursor.wordAt() ?? ''
    const statement = parseStatement(cursor)
    if (!cursor.isAtEnd() && !cursor.isSymbol(';')) {
      throw cursor.unexpected(["';'", 'the end of the text'], lateClause(cursor, beginning) ?? columnAdvice(cursor))
    }
    yield statement
    cursor = next()
  } while (!cursor.isAtEnd())
}

function parseStatement(cursor: TokenCursor): Statement {
  return cursor.nested(() => {
    const { start } = cursor.peek()
    const word = cursor.wordAt()
    const statement = word === undefined ? undefined : parseWord(cursor, word, start)
    if (statement === undefined) throw cursor.unexpected(statementBeginnings, adviceAtBeginning(cursor))
    return statement
  })
}

function parseWord(cursor: TokenCursor, word: string, start: number): Statement | undefined {
  const parser = parsers[word]
  const isStatement = word !== 'ALTER' || cursor.isWord('SEQUENCE', 1)
  if (parser === undefined || !isStatement) return undefined
  cursor.next()
  const statement = parser(cursor, start)
  if (statement.kind !== 'select' && statement.kind !== 'match') return statement
  return cursor.isWord('UNION') ? parseUnion(cursor, statement, parsePart) : withRandomOrder(statement, cursor.text)
}

function parsePart(cursor: TokenCursor): SelectStatement | MatchStatement {
  const { start } = cursor.peek()
  const word = cursor.wordAt() ?? ''
  if (!rowsWords.includes(word)) throw cursor.unexpected(rowsWords)
  cursor.next()
  return parsers[word]?.(cursor, start) as SelectStatement | MatchStatement
}

/** Parsers of statements by their first word, which has been consumed, as have further words of beginnings such as CREATE INDEX. */
const parsers: Readonly<Record<string, (cursor: TokenCursor, start: number) => Statement>> = {
  WITH: parseWith,
  FROM: parseFrom,
  SELECT: parseReturnFirst,
  RETURN: parseReturnFirst,
  MATCH: parseMatch,
  CREATE: parseCreateWord,
  UPDATE: (cursor, start) => {
    const isSchema = cursor.isWord('SCHEMA') && cursor.isSymbol('{', 1)
    if (!isSchema) return parseUpdate(cursor, start)
    cursor.next()
    return parseSchemaUpdate(cursor, start)
  },
  DELETE: parseDelete,
  UPSERT: parseUpsert,
  LOOKUP: parseLookup,
  LET: (cursor, start) => parseLet(cursor, start, parseStatement),
  SHOW: parseShow,
  FOR: (cursor, start) => parseForEach(cursor, start, parseStatement),
  IF: (cursor, start) => parseIf(cursor, start, parseStatement),
  USE: parseUse,
  IMPORT: parseImport,
  DROP: (cursor, start) => {
    if (cursor.isWord('CLASS') || (cursor.isWord('TABLE') && cursor.isName(1)))
      throw cursor.mistaken('a class is removed by UPDATE SCHEMA { DROP CLASS C }', ['INDEX', 'SEQUENCE'])
    if (cursor.takeWord('SEQUENCE')) return parseDropSequence(cursor, start)
    if (!cursor.takeWord('INDEX')) throw cursor.unexpected(['INDEX', 'SEQUENCE'])
    return parseDropIndex(cursor, start)
  },
  ALTER: parseAlterSequence,
  EXPLAIN: parseExplain,
}

/** Each name is visible to the statements after it. */
function parseWith(cursor: TokenCursor): Statement {
  const { named, namedUses } = cursor
  if (cursor.isWord('RECURSIVE') && cursor.isName(1) && !cursor.isWord('AS', 1))
    throw cursor.mistaken(hintText(noRecursion))
  do {
    const { text } = cursor.expectName('a name')
    cursor.expectWord('AS')
    cursor.expectSymbol('(')
    if (!isStatementAt(cursor, 0)) throw cursor.unexpected(['FROM', 'SELECT', 'MATCH'])
    const usesBefore = cursor.namedUses
    const place = cursor.peek()
    const statement = parseStatement(cursor)
    if (statement.kind !== 'select' && statement.kind !== 'match') {
      throw syntaxError(cursor.text, place, 'WITH names rows: those of FROM, SELECT or MATCH')
    }
    cursor.expectSymbol(')')
    cursor.named = new Map([...cursor.named, [text, { statement, uses: 1 + cursor.namedUses - usesBefore }]])
    cursor.namedUses = usesBefore
  } while (cursor.takeSymbol(','))
  if (!rowsWords.includes(cursor.wordAt() ?? '')) throw cursor.unexpected(rowsWords)
  const statement = parseStatement(cursor)
  cursor.named = named
  cursor.namedUses = Math.max(namedUses, cursor.namedUses)
  return statement
}

const rowsWords: readonly string[] = ['FROM', 'SELECT', 'RETURN', 'MATCH']

function parseFrom(cursor: TokenCursor, start: number): SelectStatement {
  const mayLackReturn = cursor.takeMayLackReturn()
  const source = parseSource(cursor)
  const others = parseOtherSources(cursor, false)
  const where = parseWhere(cursor)
  const clauses = parseClauses(cursor, where, true)
  if (mayLackReturn && cursor.isSymbol(')')) {
    return {
      kind: 'select',
      source,
      others,
      ...clauses,
      ...nothingReturned,
      ...cursor.spanFrom(start),
    }
  }
  if (!cursor.takeWord('RETURN')) throw misplaced(cursor, source, clauses)
  const returned = parseReturned(cursor)
  const all = parseLateClauses(cursor, clauses, true)
  return { kind: 'select', source, others, ...all, ...returned, ...cursor.spanFrom(start) }
}

/** The error for a token in place of RETURN or a clause before it. */
function misplaced(cursor: TokenCursor, source: Source, { where, groupBy, orderBy, skip, take }: Clauses): AshlarError {
  const isLimited = skip !== undefined || take !== undefined
  const isOrdered = isLimited || orderBy.length > 0
  const isGrouped = isOrdered || groupBy.length > 0
  if (cursor.isWord('WHERE') && (isGrouped || where !== undefined)) {
    const message =
      where === undefined ? 'WHERE stands before GROUP BY, ORDER BY, SKIP and TAKE' : 'WHERE is specified twice'
    return syntaxError(cursor.text, cursor.peek(), message)
  }
  if (cursor.isWord('ORDER') && isLimited) return cursor.mistaken('ORDER BY stands before SKIP and TAKE')
  const before = [...(isGrouped || where !== undefined ? [] : ['WHERE']), ...(isOrdered ? [] : ['ORDER BY'])]
  return cursor.unexpected(['RETURN', ...before], advice(cursor) ?? adviceOnAlias(source, cursor))
}

/** A misspelt keyword is read as an alias. */
function adviceOnAlias({ alias }: Source, cursor: TokenCursor): string | undefined {
  const isLast = alias !== undefined && alias.end === cursor.lastEnd
  return isLast ? `'${truncateForMessage(alias.name)}' before it is read as the alias of the source` : undefined
}

function parseReturnFirst(cursor: TokenCursor, start: number): SelectStatement {
  const returned = parseReturned(cursor)
  if (!cursor.isWord('FROM')) throw cursor.unexpected(['FROM'], adviceOnMissingSource(returned, cursor))
  cursor.next()
  const source = parseSource(cursor)
  const others = parseOtherSources(cursor, true)
  const where = parseWhere(cursor)
  const clauses = parseClauses(cursor, where, true)
  return { kind: 'select', source, others, ...clauses, ...returned, ...cursor.spanFrom(start) }
}

/** `SELECT Class {a, b}` of EdgeQL, and `SELECT 1`. */
function adviceOnMissingSource({ projections }: Returned, cursor: TokenCursor): string | undefined {
  const [only, ...rest] = projections ?? []
  if (only === undefined || rest.length > 0) return columnAdvice(cursor)
  const { expression } = only
  if (expression.kind === 'shape') {
    const columns = expression.entries.map((entry) => excerpt(cursor.text, entry)).join(', ') || '*'
    const write = `FROM ${excerpt(cursor.text, expression.object)} RETURN ${truncateForMessage(columns)}`
    return `to return attributes of objects, write ${write}`
  }
  const isAtStatementEnd = cursor.isAtEnd() || cursor.isSymbol(';')
  return isAtStatementEnd ? `to show a value, write SHOW ${excerpt(cursor.text, expression)}` : columnAdvice(cursor)
}

function parseCreateWord(cursor: TokenCursor, start: number): Statement {
  const isUnique = cursor.isWord('UNIQUE') && cursor.isWord('INDEX', 1)
  if (isUnique) cursor.next()
  const isIndex = cursor.isWord('INDEX') && !cursor.isSymbol('{', 1) && !cursor.isSymbol('.', 1)
  if (isSequenceAhead(cursor)) return parseCreateSequence(cursor, start)
  if (!isIndex) return parseCreate(cursor, start)
  cursor.next()
  return parseCreateIndex(cursor, start, isUnique)
}

function parseLookup(cursor: TokenCursor, start: number): Statement {
  const source = parseSource(cursor)
  cursor.expectWord('WHERE')
  return { kind: 'lookup', source, where: parseExpression(cursor), ...cursor.spanFrom(start) }
}

function parseShow(cursor: TokenCursor, start: number): ShowStatement | ShowSequencesStatement {
  const isLast = cursor.peek(1).kind === 'end' || cursor.isSymbol(';', 1) || cursor.isSymbol(')', 1)
  const show = { kind: 'show', value: undefined, className: undefined } as const
  if (isLast && cursor.takeWord('PARAMETERS')) return { ...show, what: 'parameters', ...cursor.spanFrom(start) }
  if (isLast && (cursor.takeWord('CLASSES') || cursor.takeWord('SCHEMA'))) {
    return { ...show, what: 'classes', ...cursor.spanFrom(start) }
  }
  if (isLast && cursor.takeWord('SEQUENCES')) return { kind: 'showSequences', ...cursor.spanFrom(start) }
  if (cursor.isWord('CLASS') && cursor.isName(1)) {
    cursor.next()
    const className = cursor.expectQualifiedName('a class')
    return { ...show, what: 'class', className, ...cursor.spanFrom(start) }
  }
  return { ...show, what: 'value', value: parseExpression(cursor), ...cursor.spanFrom(start) }
}

function parseExplain(cursor: TokenCursor, start: number): ExplainStatement {
  const isAnalyze = cursor.takeWord('ANALYZE')
  return { kind: 'explain', isAnalyze, statement: parseStatement(cursor), ...cursor.spanFrom(start) }
}
