/** Statements that change objects: CREATE, UPSERT, UPDATE, DELETE. */
import type {
  Action,
  CreateStatement,
  DeleteStatement,
  Expression,
  Pair,
  UpdateStatement,
  UpsertStatement,
} from '../ast.ts'
import { parseClauses, parseProjections, parseSource, parseWhere } from './parse-clauses.ts'
import { parseExpression, parsePostfix } from './parse-expression.ts'
import { parseAssignments } from './parse-structure.ts'
import type { TokenCursor } from './token-cursor.ts'

/** CREATE is taken. */
export function parseCreate(cursor: TokenCursor, start: number): CreateStatement {
  const className = cursor.expectQualifiedName('a class')
  const assignments = parseAssignments(cursor, parseExpression)
  return { kind: 'create', className, assignments, ...cursor.spanFrom(start) }
}

/** UPSERT is taken. */
export function parseUpsert(cursor: TokenCursor, start: number): UpsertStatement {
  const className = cursor.expectQualifiedName('a class')
  const assignments = parseAssignments(cursor, parseExpression)
  cursor.expectWord('ON')
  cursor.expectSymbol('(')
  const on = cursor.list(() => cursor.expectQualifiedName('an attribute'))
  cursor.expectSymbol(')')
  return { kind: 'upsert', className, assignments, on, ...cursor.spanFrom(start) }
}

/** UPDATE is taken. */
export function parseUpdate(cursor: TokenCursor, start: number): UpdateStatement {
  const source = parseSource(cursor)
  const where = parseWhere(cursor)
  const actions: Action[] = []
  for (;;) {
    const action = parseAction(cursor)
    if (action === undefined) break
    actions.push(action)
  }
  if (actions.length === 0) throw cursor.unexpected(['SET', 'CLEAR', 'ADD', 'REMOVE'])
  const clauses = parseClauses(cursor, where, false)
  const isReturning = cursor.takeWord('RETURN')
  const projections = isReturning ? parseProjections(cursor) : undefined
  return { kind: 'update', source, ...clauses, actions, isReturning, projections, ...cursor.spanFrom(start) }
}

/** DELETE is taken. */
export function parseDelete(cursor: TokenCursor, start: number): DeleteStatement {
  const source = parseSource(cursor)
  const where = parseWhere(cursor)
  const clauses = parseClauses(cursor, where, false)
  const isReturning = cursor.takeWord('RETURN')
  const projections = isReturning ? parseProjections(cursor) : undefined
  return { kind: 'delete', source, ...clauses, isReturning, projections, ...cursor.spanFrom(start) }
}

function parseAction(cursor: TokenCursor): Action | undefined {
  const { start } = cursor.peek()
  if (cursor.takeWord('SET')) {
    const target = parsePostfix(cursor)
    cursor.expectWord('TO')
    const values = cursor.list(() => parseExpression(cursor))
    return { kind: 'set', target, values, ...cursor.spanFrom(start) }
  }
  if (cursor.takeWord('CLEAR')) {
    const targets = cursor.list(() => parsePostfix(cursor))
    return { kind: 'clear', targets, ...cursor.spanFrom(start) }
  }
  if (cursor.takeWord('ADD')) {
    const { elements, pairs } = parseElements(cursor)
    cursor.expectWord('TO')
    return { kind: 'add', elements, pairs, target: parsePostfix(cursor), ...cursor.spanFrom(start) }
  }
  if (cursor.takeWord('REMOVE')) {
    const isKeys = cursor.isWord('KEYS') && cursor.isSymbol('{', 1)
    if (isKeys) cursor.next()
    const { elements, pairs } = parseElements(cursor)
    if (pairs.length > 0) throw cursor.unexpected(['elements', 'KEYS {…}'])
    cursor.expectWord('FROM')
    return { kind: 'remove', elements, isKeys, target: parsePostfix(cursor), ...cursor.spanFrom(start) }
  }
  return undefined
}

/** `e`, `{e, …}` or `{k: v, …}`. */
function parseElements(cursor: TokenCursor): { elements: Expression[]; pairs: Pair[] } {
  if (!cursor.isSymbol('{')) return { elements: [parseExpression(cursor)], pairs: [] }
  const elements: Expression[] = []
  const pairs: Pair[] = []
  cursor.braces(() => {
    const first = parseExpression(cursor)
    const isPair = cursor.isSymbol(':')
    if (isPair ? elements.length > 0 : pairs.length > 0) throw cursor.unexpected([isPair ? "','" : "':'"])
    if (!isPair) return elements.push(first)
    cursor.next()
    return pairs.push({ key: first, value: parseExpression(cursor) })
  })
  return { elements, pairs }
}
