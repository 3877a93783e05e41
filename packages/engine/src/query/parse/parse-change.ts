/** Parser of statements that change objects: CREATE, UPSERT, UPDATE, DELETE. */
import type { AshlarError } from '../../errors.ts'
import type {
  ChangeAction,
  CreateStatement,
  DeleteStatement,
  Expression,
  OrderClauses,
  Pair,
  SetAction,
  Source,
  UpdateStatement,
  UpsertStatement,
} from '../language/ast.ts'
import { hintText, newObject, upsertBy } from './hints.ts'
import {
  nothingReturned,
  parseClauses,
  parseLateClauses,
  parseOrder,
  parseReturned,
  parseSource,
  parseWhere,
  unordered,
} from './parse-clauses.ts'
import { parseExpression, parsePostfix } from './parse-expression.ts'
import { parseAssignments } from './parse-structure.ts'
import { isClauseAt, isStatementWord } from './statement-words.ts'
import type { TokenCursor } from './token-cursor.ts'

export function parseCreate(cursor: TokenCursor, start: number): CreateStatement {
  if ((cursor.isWord('CLASS') || cursor.isWord('TABLE')) && cursor.isName(1)) {
    throw cursor.mistaken('a class is made by UPDATE SCHEMA { CREATE CLASS C {a: Integer} }')
  }
  if (cursor.isSymbol('(')) throw cursor.unexpected(['a class'], hintText(newObject))
  const className = cursor.expectQualifiedName('a class')
  if (!cursor.isSymbol('{')) throw cursor.unexpected(["'{'"], hintText(newObject))
  const assignments = parseAssignments(cursor, parseExpression)
  return { kind: 'create', className, assignments, ...cursor.spanFrom(start) }
}

export function parseUpsert(cursor: TokenCursor, start: number): UpsertStatement {
  const className = cursor.expectQualifiedName('a class')
  const assignments = parseAssignments(cursor, parseExpression)
  if (!cursor.takeWord('ON')) throw cursor.unexpected(['ON'], hintText(upsertBy))
  cursor.expectSymbol('(')
  const on = cursor.list(() => cursor.expectQualifiedName('an attribute'))
  cursor.expectSymbol(')')
  return { kind: 'upsert', className, assignments, on, ...cursor.spanFrom(start) }
}

export function parseUpdate(cursor: TokenCursor, start: number): UpdateStatement {
  const source = parseSource(cursor)
  const where = parseWhere(cursor)
  const order = parseOrder(cursor, unordered, true)
  const chosen = isPresent(order) ? order : undefined
  const actions: ChangeAction[] = []
  for (;;) {
    const parsed = parseActions(cursor)
    if (parsed === undefined) break
    for (const action of parsed) actions.push(action)
  }
  if (actions.length === 0) throw withoutActions(cursor, source)
  const clauses = parseClauses(cursor, where, false)
  const isReturning = cursor.takeWord('RETURN')
  const returned = isReturning ? parseReturned(cursor) : nothingReturned
  const allClauses = isReturning ? parseLateClauses(cursor, clauses, false) : clauses
  return { kind: 'update', source, chosen, ...allClauses, actions, isReturning, ...returned, ...cursor.spanFrom(start) }
}

function isPresent({ orderBy, skip, take }: OrderClauses): boolean {
  return orderBy.length > 0 || skip !== undefined || take !== undefined
}

function withoutActions(cursor: TokenCursor, source: Source): AshlarError {
  const isSchema = source.kind === 'class' && source.className.text.toUpperCase() === 'SCHEMA'
  const isChange = ['CREATE', 'ALTER', 'RENAME', 'DROP'].includes(cursor.wordAt() ?? '')
  if (isSchema && isChange) return cursor.mistaken('changes of classes stand in braces: UPDATE SCHEMA { … }', ["'{'"])
  return cursor.unexpected(['SET', 'CLEAR', 'ADD', 'REMOVE'])
}

export function parseDelete(cursor: TokenCursor, start: number): DeleteStatement {
  if (cursor.isWord('FROM') && cursor.isName(1) && !isClauseAt(cursor, 1)) {
    throw cursor.mistaken('DELETE is followed by the class, without FROM: DELETE C WHERE …')
  }
  const source = parseSource(cursor)
  const where = parseWhere(cursor)
  const order = parseOrder(cursor, unordered, true)
  const isLimited = order.skip !== undefined || order.take !== undefined
  // Without SKIP and TAKE, ORDER BY sorts the reply only.
  const clauses = isPresent(order)
    ? { ...parseClauses(cursor, where, false), ...(isLimited ? unordered : order) }
    : parseClauses(cursor, where, false)
  const chosen = isLimited ? order : undefined
  const isReturning = cursor.takeWord('RETURN')
  const returned = isReturning ? parseReturned(cursor) : nothingReturned
  const allClauses = isReturning ? parseLateClauses(cursor, clauses, false) : clauses
  return { kind: 'delete', source, chosen, ...allClauses, isReturning, ...returned, ...cursor.spanFrom(start) }
}

/** The actions of one SET, CLEAR, ADD or REMOVE; undefined if none follows. */
function parseActions(cursor: TokenCursor): ChangeAction[] | undefined {
  const { start } = cursor.peek()
  if (cursor.takeWord('SET')) return parseSet(cursor)
  if (cursor.takeWord('CLEAR')) {
    const targets = cursor.list(() => parsePostfix(cursor))
    return [{ kind: 'clear', targets, ...cursor.spanFrom(start) }]
  }
  if (cursor.takeWord('ADD')) {
    const { elements, pairs } = parseElements(cursor)
    cursor.expectWord('TO')
    return [{ kind: 'add', elements, pairs, target: parsePostfix(cursor), ...cursor.spanFrom(start) }]
  }
  if (cursor.takeWord('REMOVE')) {
    const isKeys = cursor.isWord('KEYS') && cursor.isSymbol('{', 1)
    if (isKeys) cursor.next()
    const { elements, pairs } = parseElements(cursor)
    if (pairs.length > 0) throw cursor.unexpected(['elements', 'KEYS {…}'])
    cursor.expectWord('FROM')
    return [{ kind: 'remove', elements, isKeys, target: parsePostfix(cursor), ...cursor.spanFrom(start) }]
  }
  return undefined
}

/** Called after SET: `target TO e`, separated by commas. A comma before a statement separates statements and is not consumed. */
function parseSet(cursor: TokenCursor): SetAction[] {
  const assignments = [parseAssignment(cursor)]
  while (cursor.isSymbol(',')) {
    if (!isAssignmentAt(cursor, 1)) {
      const word = cursor.wordAt(1)
      if (word !== undefined && isStatementWord(word)) return assignments
      cursor.next()
      throw notAnAssignment(cursor)
    }
    cursor.next()
    assignments.push(parseAssignment(cursor))
  }
  return assignments
}

function parseAssignment(cursor: TokenCursor): SetAction {
  const { start } = cursor.peek()
  const target = parsePostfix(cursor)
  if (cursor.isSymbol('=')) throw cursor.mistaken('SET takes TO in the place of =', ['TO'])
  cursor.expectWord('TO')
  return { kind: 'set', target, value: parseExpression(cursor), ...cursor.spanFrom(start) }
}

/** The error for what follows a comma of SET in place of a target and TO. */
function notAnAssignment(cursor: TokenCursor): AshlarError {
  if (cursor.isWord('SET')) {
    return cursor.mistaken('after a comma SET is not written again: SET a TO 1, b TO 2, or SET a TO 1 SET b TO 2')
  }
  return cursor.mistaken('SET gives each target one value: a list of several is written LIST{…}', ['a target and TO'])
}

/** Whether a target and TO follow: a value with member accesses and subscripts, and TO. */
function isAssignmentAt(cursor: TokenCursor, ahead: number): boolean {
  let at = ahead
  if (cursor.isSymbol('(', at)) at = cursor.closing(at) + 1
  else if (cursor.peek(at).kind === 'symbol' || cursor.peek(at).kind === 'end') return false
  else at++
  for (;;) {
    if ((cursor.isSymbol('.', at) || cursor.isSymbol('::', at)) && cursor.isName(at + 1)) at += 2
    else if (cursor.isSymbol('[', at) || cursor.isSymbol('(', at)) at = cursor.closing(at) + 1
    else return cursor.isWord('TO', at)
  }
}

/** `e`, `{e, …}` or `{k: v, …}`. */
function parseElements(cursor: TokenCursor): { elements: Expression[]; pairs: Pair[] } {
  if (!cursor.isSymbol('{')) return { elements: [parseExpression(cursor)], pairs: [] }
  const items = cursor.braces<Expression | Pair>(([before]) => {
    const first = parseExpression(cursor)
    const isPair = cursor.isSymbol(':')
    if (before !== undefined && isPair !== isPairNode(before)) throw cursor.unexpected([isPair ? "','" : "':'"])
    if (!isPair) return first
    cursor.next()
    return { key: first, value: parseExpression(cursor) }
  })
  const elements = items.filter((one): one is Expression => !isPairNode(one))
  return { elements, pairs: items.filter(isPairNode) }
}

function isPairNode(item: Expression | Pair): item is Pair {
  return 'key' in item
}
