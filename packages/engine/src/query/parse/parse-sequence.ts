/** Parser of CREATE, ALTER and DROP SEQUENCE. */
import type { AlterSequenceStatement, CreateSequenceStatement, DropSequenceStatement } from '../language/ast.ts'
import { parseIndexName } from './parse-schema.ts'
import type { TokenCursor } from './token-cursor.ts'

/** Called after CREATE: in the creation of an object of a class `Sequence`, `{` or the rest of the class name follows. */
export function isSequenceAhead(cursor: TokenCursor): boolean {
  return cursor.isWord('SEQUENCE') && !['{', '.', '::'].some((symbol) => cursor.isSymbol(symbol, 1))
}

export function parseCreateSequence(cursor: TokenCursor, start: number): CreateSequenceStatement {
  cursor.expectWord('SEQUENCE')
  const name = parseIndexName(cursor, 'a sequence')
  const first = cursor.takeWord('START') ? parseInteger(cursor) : undefined
  const step = cursor.takeWord('STEP') ? parseInteger(cursor) : undefined
  return { kind: 'createSequence', name, first, step, ...cursor.spanFrom(start) }
}

export function parseAlterSequence(cursor: TokenCursor, start: number): AlterSequenceStatement {
  cursor.expectWord('SEQUENCE')
  const name = parseIndexName(cursor, 'a sequence')
  cursor.expectWord('RESTART')
  return { kind: 'alterSequence', name, restart: parseInteger(cursor), ...cursor.spanFrom(start) }
}

export function parseDropSequence(cursor: TokenCursor, start: number): DropSequenceStatement {
  return { kind: 'dropSequence', name: parseIndexName(cursor, 'a sequence'), ...cursor.spanFrom(start) }
}

/** With an optional sign. */
function parseInteger(cursor: TokenCursor): bigint {
  const isNegative = cursor.takeSymbol('-')
  if (!isNegative) cursor.takeSymbol('+')
  const token = cursor.peek()
  if (token.kind !== 'literal' || token.literal.type !== 'integer') throw cursor.unexpected(['an integer'])
  cursor.next()
  const magnitude = BigInt(token.literal.value)
  return isNegative ? -magnitude : magnitude
}
