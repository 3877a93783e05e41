/** Parser of LET, FOR EACH, IF, IMPORT and USE. */
import type { FormatStatement, IfStatement, ImportStatement, LetStatement, Statement } from '../language/ast.ts'
import { parseExpression } from './parse-expression.ts'
import type { TokenCursor } from './token-cursor.ts'

type ParseStatement = (cursor: TokenCursor) => Statement

/** Statements whose rows LET assigns; a value may start with any other word. */
const letStatements = [
  'WITH',
  'FROM',
  'SELECT',
  'RETURN',
  'MATCH',
  'LOOKUP',
  'UPSERT',
  'IMPORT',
  'UPDATE',
  'DELETE',
  'CREATE',
]
/** Symbols that may follow these words at the start of a statement. */
const beginnings = ['*', '(', '-', '+', '!', '~']

/** Called after LET. `$` before the variable is optional. */
export function parseLet(cursor: TokenCursor, start: number, parseStatement: ParseStatement): LetStatement {
  const name = parseVariableName(cursor)
  cursor.expectSymbol('=')
  const word = cursor.wordAt()
  const isStatement = word !== undefined && letStatements.includes(word) && beginsStatement(cursor)
  const value = isStatement ? parseStatement(cursor) : parseExpression(cursor)
  return { kind: 'let', name, value, isStatement, ...cursor.spanFrom(start) }
}

function beginsStatement(cursor: TokenCursor): boolean {
  const token = cursor.peek(1)
  if (token.kind === 'symbol') return beginnings.includes(token.text)
  return token.kind !== 'end'
}

function parseVariableName(cursor: TokenCursor): string {
  if (cursor.peek().kind === 'variable') return cursor.next().text
  return cursor.expectName('a variable').text
}

export function parseForEach(cursor: TokenCursor, start: number, parseStatement: ParseStatement): Statement {
  cursor.expectWord('EACH')
  const name = parseVariableName(cursor)
  cursor.expectWord('IN')
  const importStart = cursor.peek().start
  const isImport = cursor.isWord('IMPORT') && cursor.isWord('CSV', 1)
  if (isImport) cursor.next()
  const elements = isImport ? parseImport(cursor, importStart) : parseExpression(cursor)
  cursor.expectSymbol('=>')
  const body = parseBlock(cursor, parseStatement)
  return { kind: 'forEach', name, elements, body, ...cursor.spanFrom(start) }
}

export function parseIf(cursor: TokenCursor, start: number, parseStatement: ParseStatement): IfStatement {
  const condition = parseExpression(cursor)
  cursor.expectWord('THEN')
  const whenTrue = parseBlock(cursor, parseStatement)
  const whenFalse = cursor.takeWord('ELSE') ? parseBlock(cursor, parseStatement) : []
  return { kind: 'if', condition, whenTrue, whenFalse, ...cursor.spanFrom(start) }
}

/** `( statement, … )`, separated by commas or semicolons. */
function parseBlock(cursor: TokenCursor, parseStatement: ParseStatement): Statement[] {
  cursor.expectSymbol('(')
  const statements: Statement[] = []
  while (!cursor.takeSymbol(')')) {
    statements.push(parseStatement(cursor))
    const isSeparated = cursor.takeSymbol(',') || cursor.takeSymbol(';')
    if (!isSeparated && !cursor.isSymbol(')')) throw cursor.unexpected(["','", "')'"])
  }
  return statements
}

export function parseImport(cursor: TokenCursor, start: number): ImportStatement {
  cursor.expectWord('CSV')
  const file = cursor.expectString('the name of a file, in quotes')
  const hasHeader = cursor.takeWords('USE', 'HEADER')
  const isStepwise = cursor.takeWords('COMMIT', 'EVERY')
  const commitEvery = isStepwise ? cursor.expectCount('a number of rows') : undefined
  return { kind: 'import', file, hasHeader, commitEvery, ...cursor.spanFrom(start) }
}

export function parseUse(cursor: TokenCursor, start: number): FormatStatement {
  const word = cursor.wordAt()
  const type = (['date', 'time', 'datetime'] as const).find((name) => name.toUpperCase() === word)
  if (type === undefined) throw cursor.unexpected(['DATE', 'TIME', 'DATETIME'])
  cursor.next()
  cursor.expectWord('FORMAT')
  const format = cursor.expectString('a format, in quotes')
  return { kind: 'format', type, format, ...cursor.spanFrom(start) }
}
