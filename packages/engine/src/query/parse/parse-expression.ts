/** Parser of expressions: operators by precedence, paths, calls and structures (docs/query-language.md, Operators). */
import type {
  CallExpression,
  CaseExpression,
  Expression,
  NameExpression,
  OperationExpression,
  Span,
} from '../language/ast.ts'
import {
  callableOperators,
  type InfixOperator,
  infixSymbols,
  infixWords,
  type OperatorName,
  precedence,
  prefixSymbols,
} from '../language/operators.ts'
import { isCaseAhead, takeDistinct } from './contextual-words.ts'
import { hintText, orderInAggregate } from './hints.ts'
import { isStructureWord, parseAssignments, parseStructureWord } from './parse-structure.ts'
import { parseType } from './parse-type.ts'
import { parseWindow } from './parse-window.ts'
import { parseWordPredicate } from './parse-word-predicate.ts'
import { isStatementAt } from './statement-words.ts'
import type { TokenCursor } from './token-cursor.ts'

export function parseExpression(cursor: TokenCursor): Expression {
  return parseInfix(cursor, 0)
}

/** Operators of at least the precedence `least`. */
function parseInfix(cursor: TokenCursor, least: number): Expression {
  return cursor.nested(() => {
    let left = parsePrefix(cursor)
    for (let links = 0; ; links++) {
      cursor.checkChain(links)
      const predicate = least <= precedence.relational ? parseWordPredicate(cursor, left, parsers) : undefined
      if (predicate !== undefined) {
        left = predicate
        continue
      }
      const operator = infixAhead(cursor)
      if (operator === undefined || operator.precedence < least) return left
      if (operator.name === 'and' || operator.name === 'or') {
        left = parseJunction(cursor, left, operator)
        continue
      }
      cursor.next()
      const right = parseInfix(cursor, operator.precedence + 1)
      left = operation(operator.name, [left, right])
    }
  })
}

const parsers = {
  expression: parseExpression,
  operand: (cursor: TokenCursor): Expression => parseInfix(cursor, precedence.relational + 1),
}

/** `a AND b AND c` as one operation with any number of operands. */
function parseJunction(cursor: TokenCursor, first: Expression, operator: InfixOperator): OperationExpression {
  const operands = [first]
  do {
    cursor.next()
    operands.push(parseInfix(cursor, operator.precedence + 1))
  } while (infixAhead(cursor)?.name === operator.name)
  return operation(operator.name, operands)
}

function infixAhead(cursor: TokenCursor): InfixOperator | undefined {
  const token = cursor.peek()
  if (token.kind === 'symbol') return infixSymbols.get(token.text)
  const word = cursor.wordAt()
  return word === undefined ? undefined : infixWords.get(word)
}

function operation(operator: OperatorName, operands: readonly Expression[]): OperationExpression {
  const first = operands[0] as Expression
  const last = operands.at(-1) as Expression
  return { kind: 'operation', operator, operands, start: first.start, end: last.end }
}

function parsePrefix(cursor: TokenCursor): Expression {
  const token = cursor.peek()
  if (token.kind === 'symbol') {
    const operator = prefixSymbols.get(token.text)
    if (operator !== undefined) {
      cursor.next()
      return prefixed(operator, token.start, parseInfix(cursor, precedence.unary))
    }
  }
  const isNot = cursor.isWord('NOT') && !cursor.isSymbol('.', 1) && !cursor.isSymbol('=', 1)
  if (isNot) {
    cursor.next()
    return prefixed('not', token.start, parseInfix(cursor, precedence.notWord))
  }
  return parsePostfix(cursor)
}

/** Negated, a greater number exceeds the range of integers, and so is a real like any number with too many digits. */
const negatableMax = 2n ** 63n

function prefixed(operator: OperatorName, start: number, operand: Expression): Expression {
  if (operator === 'negate' && operand.kind === 'literal') {
    const { literal } = operand
    const span = { start, end: operand.end }
    if (literal.type === 'integer' && literal.value <= negatableMax) {
      const value = typeof literal.value === 'number' ? 0 - literal.value : -literal.value
      return { kind: 'literal', literal: { type: 'integer', value }, ...span }
    }
    if (literal.type === 'real') {
      const digits = literal.digits.startsWith('-') ? literal.digits.slice(1) : `-${literal.digits}`
      return { kind: 'literal', literal: { ...literal, value: -literal.value, digits }, ...span }
    }
    if (literal.type === 'integer') {
      return {
        kind: 'literal',
        literal: { type: 'real', value: -Number(literal.value), digits: `-${literal.value}` },
        ...span,
      }
    }
  }
  return { kind: 'operation', operator, operands: [operand], start, end: operand.end }
}

/** A value with `.name`, `::name` and `[…]`; also the targets of SET, CLEAR and TO. */
export function parsePostfix(cursor: TokenCursor): Expression {
  return cursor.nested(() => {
    let object = parsePrimary(cursor)
    for (let links = 0; ; links++) {
      cursor.checkChain(links)
      const follower = parseFollower(cursor, object)
      if (follower === undefined) return object
      object = follower
    }
  })
}

function parseFollower(cursor: TokenCursor, object: Expression): Expression | undefined {
  const { start } = object
  if (cursor.isSymbol('.')) {
    cursor.next()
    const name = cursor.expectName('a name')
    return { kind: 'member', object, name: name.text, nameSpan: name, ...cursor.spanFrom(start) }
  }
  if (cursor.isSymbol('::')) return parseQualified(cursor, object)
  if (cursor.takeSymbol('[')) return parseSubscript(cursor, object)
  if (cursor.isSymbol('{')) {
    const className = classNameIn(object)
    const isEmbedded = className !== undefined && (!cursor.allowsShapes || beginsAssignments(cursor))
    if (!isEmbedded) return undefined
    if (cursor.isName(1) && (cursor.isSymbol(',', 2) || cursor.isSymbol('}', 2))) {
      throw cursor.mistaken('a shape stands where a column does: RETURN orders{number}')
    }
    const assignments = parseAssignments(cursor, parseExpression)
    const { text, start: from, end: to } = className
    return { kind: 'structure', className: { text, start: from, end: to }, assignments, ...cursor.spanFrom(start) }
  }
  return undefined
}

/** `{}`, `{a: …` or `{a.b: …` is an embedded value. Anything else after `{` is a shape, where one is allowed. */
function beginsAssignments(cursor: TokenCursor): boolean {
  if (cursor.isSymbol('}', 1)) return true
  let ahead = 1
  while (cursor.isName(ahead) && (cursor.isSymbol('.', ahead + 1) || cursor.isSymbol('::', ahead + 1))) ahead += 2
  return cursor.isName(ahead) && cursor.isSymbol(':', ahead + 1)
}

/** `Base::name` or `Namespace.Base::name`; after anything but names, the last name is qualified. */
function parseQualified(cursor: TokenCursor, object: Expression): Expression {
  const className = classNameIn(object)
  if (className === undefined && object.kind !== 'member') throw cursor.unexpected(['an operator'])
  cursor.next()
  const name = cursor.expectName('a name')
  const span = cursor.spanFrom(object.start)
  // Not resolved here: `F.P::d.F.E1::c` may be an attribute of an embedded object within another one.
  if (className !== undefined) return { kind: 'name', name: `${className.written}::${name.text}`, ...span }
  if (object.kind !== 'member') return object
  const nameSpan = { start: object.nameSpan.start, end: name.end }
  return { ...object, name: `${object.name}::${name.text}`, nameSpan, ...span }
}

/** The text of `a` or `a.b.c`, if the expression is nothing else; `written` retains `::`. */
function classNameIn(expression: Expression): (Span & { text: string; written: string }) | undefined {
  const { start, end } = expression
  if (expression.kind === 'name') {
    return { text: expression.name.replaceAll('::', '.'), written: expression.name, start, end }
  }
  if (expression.kind !== 'member') return undefined
  const outer = classNameIn(expression.object)
  if (outer === undefined) return undefined
  return { text: `${outer.text}.${expression.name}`, written: `${outer.written}.${expression.name}`, start, end }
}

function parseSubscript(cursor: TokenCursor, object: Expression): Expression {
  const { start } = object
  const from = cursor.isSymbol(':') ? undefined : parseExpression(cursor)
  if (cursor.takeSymbol(':')) {
    const to = cursor.isSymbol(']') ? undefined : parseExpression(cursor)
    cursor.expectSymbol(']')
    return { kind: 'slice', object, from, to, ...cursor.spanFrom(start) }
  }
  if (from === undefined) throw cursor.unexpected(['an index, a key or a predicate'])
  cursor.expectSymbol(']')
  return { kind: 'subscript', object, subscript: from, ...cursor.spanFrom(start) }
}

function parsePrimary(cursor: TokenCursor): Expression {
  const token = cursor.peek()
  switch (token.kind) {
    case 'literal':
      cursor.next()
      return { kind: 'literal', literal: token.literal, start: token.start, end: token.end }
    case 'variable':
      cursor.next()
      return { kind: 'variable', name: token.text, start: token.start, end: token.end }
    case 'system': {
      const systemName = (['NOW', 'ID', 'THIS_REFERENCE', 'USER'] as const).find((name) => name === token.text)
      if (systemName === undefined) throw cursor.unexpected(['$$NOW', '$$ID', '$$THIS_REFERENCE', '$$USER'])
      cursor.next()
      return { kind: 'system', name: systemName, start: token.start, end: token.end }
    }
    case 'symbol':
      if (token.text === '(') return parseParenthesised(cursor)
      throw cursor.unexpected(['a value'])
    case 'name':
      return parseNamed(cursor)
    case 'end':
      throw cursor.unexpected(['a value'])
  }
}

function parseParenthesised(cursor: TokenCursor): Expression {
  const { start } = cursor.next()
  if (isStatementAt(cursor, 0)) {
    const statement = cursor.parseNested(cursor)
    cursor.expectSymbol(')')
    return { kind: 'nested', statement, ...cursor.spanFrom(start) }
  }
  const inner = parseExpression(cursor)
  if (cursor.isSymbol(',')) throw cursor.unexpected(["')'"], 'several values are written LIST{…}')
  cursor.expectSymbol(')')
  return { ...inner, ...cursor.spanFrom(start) }
}

function parseNamed(cursor: TokenCursor): Expression {
  const token = cursor.next()
  const span = { start: token.start, end: token.end }
  const name: NameExpression = { kind: 'name', name: token.text, ...span }
  if (token.kind === 'name' && token.isQuoted) return name
  const word = token.text.toUpperCase()
  if (word === 'CASE' && isCaseAhead(cursor)) return parseCase(cursor, token.start)
  if (cursor.isSymbol('(')) return word === 'CAST' ? parseCast(cursor, token.start) : parseCall(cursor, word, token)
  if (cursor.isSymbol('{') && isStructureWord(word)) {
    return parseStructureWord(cursor, word, token.start, parseExpression)
  }
  if (word === 'TRUE' || word === 'FALSE') {
    return { kind: 'literal', literal: { type: 'boolean', value: word === 'TRUE' }, ...span }
  }
  if (word === 'NULL') return { kind: 'literal', literal: { type: 'null', value: null }, ...span }
  if (word === 'CREATE' && cursor.isName() && createsObject(cursor)) {
    const className = cursor.expectQualifiedName('a class')
    const assignments = parseAssignments(cursor, parseExpression)
    const fullSpan = cursor.spanFrom(token.start)
    return { kind: 'nested', statement: { kind: 'create', className, assignments, ...fullSpan }, ...fullSpan }
  }
  cursor.markName()
  return name
}

/** `CREATE Class {` without parentheses, called after CREATE. */
function createsObject(cursor: TokenCursor): boolean {
  let ahead = 1
  while ((cursor.isSymbol('.', ahead) || cursor.isSymbol('::', ahead)) && cursor.isName(ahead + 1)) ahead += 2
  return cursor.isSymbol('{', ahead)
}

/** Called after CASE. */
function parseCase(cursor: TokenCursor, start: number): Expression {
  const operand = cursor.isWord('WHEN') ? undefined : parseExpression(cursor)
  const branches: CaseExpression['branches'][number][] = []
  do {
    cursor.expectWord('WHEN')
    const when = parseExpression(cursor)
    cursor.expectWord('THEN')
    branches.push({ when, value: parseExpression(cursor) })
  } while (cursor.isWord('WHEN'))
  const otherwise = cursor.takeWord('ELSE') ? parseExpression(cursor) : undefined
  cursor.expectWord('END')
  return { kind: 'case', operand, branches, otherwise, ...cursor.spanFrom(start) }
}

function parseCast(cursor: TokenCursor, start: number): Expression {
  cursor.expectSymbol('(')
  const operand = parseExpression(cursor)
  cursor.expectWord('AS')
  const type = parseType(cursor)
  cursor.expectSymbol(')')
  return { kind: 'cast', operand, type, ...cursor.spanFrom(start) }
}

const wordsBeforeDistinct: readonly string[] = ['COUNT', 'SUM', 'AVG', 'COLLECT']

function parseOperands(cursor: TokenCursor, word: string): Expression[] {
  if (cursor.isSymbol(')')) return []
  if (word !== 'EXISTS') return cursor.list(() => parseExpression(cursor))
  const { start } = cursor.peek()
  cursor.mayLackReturn = true
  const statement = isStatementAt(cursor, 0) ? cursor.parseNested(cursor) : undefined
  if (statement === undefined) cursor.mayLackReturn = false
  return statement === undefined
    ? cursor.list(() => parseExpression(cursor))
    : [{ kind: 'nested', statement, ...cursor.spanFrom(start) }]
}

function parseCall(cursor: TokenCursor, word: string, name: Span): Expression {
  cursor.expectSymbol('(')
  const isStarCount = word === 'COUNT' && cursor.isSymbol('*') && cursor.isSymbol(')', 1)
  if (isStarCount) cursor.next()
  const isDistinct = wordsBeforeDistinct.includes(word) && takeDistinct(cursor)
  const operands = parseOperands(cursor, word)
  if (cursor.isWord('ORDER') && cursor.isWord('BY', 1)) throw cursor.unexpected(["')'"], hintText(orderInAggregate))
  cursor.expectSymbol(')')
  const span = cursor.spanFrom(name.start)
  const operator = callableOperators.get(word)
  if (operator !== undefined && operands.length === operator.operands) {
    return { kind: 'operation', operator: operator.name, operands, ...span }
  }
  const isJunction = (word === 'AND' || word === 'OR') && operands.length > 2
  if (isJunction) return { kind: 'operation', operator: word === 'AND' ? 'and' : 'or', operands, ...span }
  const call: CallExpression = { kind: 'call', name: word, operands, ...span }
  return parseWindow(cursor, isDistinct ? { ...call, isDistinct } : call, parseExpression)
}
