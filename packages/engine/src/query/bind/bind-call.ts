/** Functions, aggregates, and operations on collections (docs/query-language.md, Operators). */
import { assert, truncateForMessage } from '../../errors.ts'
import { ticksPerDay, ticksPerSecond } from '../../types/calendar.ts'
import type { OffsetDateTime } from '../../types/datetime.ts'
import { parseJsonText } from '../../types/json-value.ts'
import { ValueError } from '../../types/logical-type.ts'
import { castFor } from '../functions/cast.ts'
import { truncateDay, truncateMoment, truncationUnits } from '../functions/date-functions.ts'
import type { FunctionDefinition, OperandKind } from '../functions/function-definition.ts'
import { fitsOperand, functions, operandReader } from '../functions/function-table.ts'
import type {
  CallExpression,
  Expression,
  LookupStatement,
  MatchStatement,
  SelectStatement,
  Span,
  Statement,
} from '../language/ast.ts'
import { totalOf } from '../values/arithmetic.ts'
import { compareFor } from '../values/compare.ts'
import { commonType } from '../values/type-rules.ts'
import {
  aTypeName,
  booleanType,
  integerType,
  isMany,
  isNumeric,
  isReference,
  isText,
  jsonType,
  realType,
  type ScalarType,
  stringType,
  type ValueType,
  wordOfType,
} from '../values/value-type.ts'
import { equalQuantifier, predicateQuantifier } from './bind-operation.ts'
import { linksOfExists } from './bind-path.ts'
import { bindNext } from './bind-sequence.ts'
import { type AggregateName, type Bound, isConstant } from './bound.ts'
import { hint } from './class-names.ts'
import { alikeValues, coerced } from './coercion.ts'
import { requireKey } from './require-key.ts'
import type { Binder, Scope } from './scope.ts'
import { hintOfFunction } from './synonyms.ts'

export const aggregateNames: readonly AggregateName[] = [
  'COUNT',
  'SUM',
  'AVG',
  'MIN',
  'MAX',
  'COLLECT',
  'STDDEV',
  'MEDIAN',
  'PERCENTILE',
]
/** Window functions besides the aggregates. */
export const windowNames: readonly string[] = [
  'ROW_NUMBER',
  'RANK',
  'DENSE_RANK',
  'LAG',
  'LEAD',
  'FIRST_VALUE',
  'LAST_VALUE',
]
const specialNames = [
  'BYTES',
  'JSON',
  'IS_NULL',
  'IS_VALID',
  'IS_EMPTY',
  'EXISTS',
  'OBJECT',
  'TODAY',
  'COALESCE',
  'OF',
  'SOME',
  'OF_EQUAL',
  'SOME_EQUAL',
  'NEXT',
]

export function bindCall(expression: CallExpression, scope: Scope, binder: Binder): Bound {
  const { name, operands } = expression
  const aggregate = aggregateNames.find((candidate) => candidate === name)
  if (aggregate !== undefined) return bindAggregate(aggregate, expression, scope, binder)
  switch (name) {
    case 'IS_NULL':
    case 'IS_EMPTY':
    case 'IS_VALID':
    case 'OBJECT':
      return bindTest(name, expression, scope, binder)
    case 'EXISTS':
      return bindExists(expression, scope, binder)
    case 'COALESCE':
      return bindCoalesce(expression, scope, binder)
    case 'CONCAT':
      return bindConcat(expression, scope, binder)
    case 'DATE_TRUNC':
      return bindDateTrunc(expression, scope, binder)
    case 'NOW':
      if (operands.length > 0) throw binder.error(expression, `NOW takes 0 operands, not ${operands.length}`)
      return { kind: 'now', type: { kind: 'datetime' }, start: expression.start, end: expression.end }
    case 'NEXT':
      return bindNext(expression, scope, binder)
    case 'TODAY':
      if (operands.length > 0) throw binder.error(expression, `TODAY takes 0 operands, not ${operands.length}`)
      return bindToday(expression)
    case 'OF':
    case 'SOME':
    case 'OF_EQUAL':
    case 'SOME_EQUAL':
      return bindAtLeast(expression, scope, binder)
    case 'BYTES':
      return bindWritten(name, { kind: 'bytes' }, expression, scope, binder)
    case 'JSON':
      return bindJson(expression, scope, binder)
    case 'LENGTH': {
      const only = operands.length === 1 ? binder.bind(operands[0] as Expression, scope) : undefined
      if (only !== undefined && isMany(only.type)) return fold('COUNT', only, expression, binder, isItself(only))
      break
    }
    default:
  }
  const definition = functions.get(name)
  if (definition === undefined) {
    const candidates = [...functions.keys(), ...aggregateNames, ...specialNames]
    const advice = windowNames.includes(name)
      ? `: ${name} is followed by OVER (…)`
      : (hintOfFunction(name) ?? hint(name, candidates))
    throw binder.error(expression, `there is no function ${truncateForMessage(name)}${advice}`)
  }
  return bindFunction(definition, expression, scope, binder)
}

/** The day in UTC. */
function bindToday({ start, end }: Span): Bound {
  const operand: Bound = { kind: 'now', type: { kind: 'datetime' }, start, end }
  const convert = (ticks: unknown): number => Math.floor((ticks as number) / ticksPerDay)
  return { kind: 'convert', operand, convert, type: { kind: 'date' }, start, end }
}

function bindFunction(definition: FunctionDefinition, expression: CallExpression, scope: Scope, binder: Binder): Bound {
  const { name, start, end } = expression
  const { operands: kinds, optional = 0 } = definition
  const count = expression.operands.length
  if (count > kinds.length || count < kinds.length - optional) {
    const counts = optional === 0 ? `${kinds.length}` : `${kinds.length - optional} to ${kinds.length}`
    throw binder.error(expression, `${name} takes ${counts} operands, not ${count}`)
  }
  const operands = expression.operands.map((operand, i) => {
    return checkedOperand(binder.bind(operand, scope), kinds[i] as OperandKind, name, binder)
  })
  const readers = operands.map((operand, i) => operandReader(kinds[i] as OperandKind, operand.type))
  const { result } = definition
  const type = typeof result === 'function' ? result(operands[0]?.type ?? integerType) : result
  const { calculate, takesRoom = false, isVolatile = false } = definition
  return { kind: 'call', name, operands, readers, calculate, takesRoom, isVolatile, type, start, end }
}

export function checkedOperand(operand: Bound, kind: OperandKind, name: string, binder: Binder): Bound {
  if (operand.type.kind === 'null' || fitsOperand(kind, operand.type)) return operand
  const expected = {
    number: 'a number',
    integer: 'an integer',
    text: 'a text',
    day: 'a date',
    moment: 'a date',
    clock: 'a time',
    textOrBytes: 'a text or bytes',
  }[kind]
  throw binder.error(operand, `${name} takes ${expected}, not ${aTypeName(operand.type)}`)
}

function onlyOperand(expression: CallExpression, scope: Scope, binder: Binder): Bound {
  const [operand] = expression.operands
  if (operand !== undefined && expression.operands.length === 1) return binder.bind(operand, scope)
  throw binder.error(expression, `${expression.name} takes 1 operand, not ${expression.operands.length}`)
}

/** BYTES('…'): a text that is constant for all rows, converted to the type. */
function bindWritten(name: string, type: ScalarType, expression: CallExpression, scope: Scope, binder: Binder): Bound {
  const operand = coerced(onlyOperand(expression, scope, binder), type, binder, name)
  const { start, end } = expression
  if (operand.type.kind === type.kind || operand.type.kind === 'null') return { ...operand, start, end }
  const word = wordOfType(type.kind)
  throw binder.error(
    operand,
    `${name} takes a text that is the same for all rows, not ${aTypeName(operand.type)}: CAST(… AS ${word}) takes others`,
  )
}

/** JSON('…'): parses a text that is constant for all rows; a parameter that is an array or object is used as is. */
function bindJson(expression: CallExpression, scope: Scope, binder: Binder): Bound {
  const operand = onlyOperand(expression, scope, binder)
  const { start, end } = expression
  if (!isText(operand.type) || !isConstant(operand)) {
    return bindWritten('JSON', jsonType, expression, scope, binder)
  }
  const convert = (text: unknown): unknown => {
    try {
      const json = parseJsonText(text as string)
      return json === 'null' ? null : json
    } catch (error) {
      if (error instanceof ValueError) throw binder.error(operand, error.message)
      throw error
    }
  }
  if (operand.kind === 'constant')
    return { kind: 'constant', value: convert(operand.value), type: jsonType, start, end }
  return { kind: 'convert', operand, convert, type: jsonType, start, end }
}

function bindTest(
  name: 'IS_NULL' | 'IS_EMPTY' | 'IS_VALID' | 'OBJECT',
  expression: CallExpression,
  scope: Scope,
  binder: Binder,
): Bound {
  const operand = onlyOperand(expression, scope, binder)
  const { start, end } = expression
  if (name === 'IS_NULL') return { kind: 'isNull', operand, type: booleanType, start, end }
  if (name === 'IS_EMPTY') {
    if (!isMany(operand.type))
      throw binder.error(operand, `IS_EMPTY takes a collection, not ${aTypeName(operand.type)}`)
    return { kind: 'isEmpty', operand, type: booleanType, start, end }
  }
  const reference = coerced(operand, { kind: 'reference', cls: null }, binder)
  if (reference.type.kind === 'null') {
    if (name === 'OBJECT') return reference
    return { kind: 'constant', value: false, type: booleanType, start, end }
  }
  if (!isReference(reference.type))
    throw binder.error(operand, `${name} takes a reference, not ${aTypeName(operand.type)}`)
  if (name === 'IS_VALID') return { kind: 'isValid', operand: reference, type: booleanType, start, end }
  const type = { kind: 'object', cls: reference.type.cls } as const
  return { kind: 'convert', operand: reference, convert: (value) => value, type, start, end }
}

/** Whether a path is neither null nor empty; true or false even if a step is null. */
function bindExists(expression: CallExpression, scope: Scope, binder: Binder): Bound {
  const [first, second] = expression.operands
  if (first?.kind === 'nested' && second === undefined && hasRows(first.statement)) {
    const links = linksOfExists(first.statement, scope, binder)
    if (links === undefined) return binder.bindExists(firstRowOf(first.statement), scope, expression)
    return isFilled(links, expression)
  }
  const operand = onlyOperand(expression, scope, binder)
  const { start, end } = expression
  const node = { type: booleanType, start, end } as const
  if (!isMany(operand.type)) {
    const isNull: Bound = { kind: 'isNull', operand, ...node }
    return { kind: 'logical', operator: 'not', operands: [isNull], ...node }
  }
  return isFilled(operand, expression)
}

function isFilled(operand: Bound, { start, end }: Span): Bound {
  const node = { type: booleanType, start, end } as const
  const isEmpty: Bound = { kind: 'isEmpty', operand, ...node }
  const isNotEmpty: Bound = { kind: 'logical', operator: 'not', operands: [isEmpty], ...node }
  return { kind: 'coalesce', operands: [isNotEmpty, { kind: 'constant', value: false, ...node }], ...node }
}

type RowsStatement = SelectStatement | MatchStatement | LookupStatement

function hasRows(statement: Statement): statement is RowsStatement {
  return statement.kind === 'select' || statement.kind === 'match' || statement.kind === 'lookup'
}

const one: Expression = { kind: 'literal', literal: { type: 'integer', value: 1 }, start: 0, end: 0 }
/** Keyed by identity, because plans are cached by statement. */
const firstRows = new WeakMap<RowsStatement, RowsStatement>()

/** Limits a statement to the one row that EXISTS needs. */
function firstRowOf(statement: RowsStatement): RowsStatement {
  if (statement.kind === 'lookup' || statement.take !== undefined) return statement
  let first = firstRows.get(statement)
  if (first === undefined) {
    first = { ...statement, orderBy: [], take: { kind: 'count', expression: one, start: 0, end: 0 } }
    if (statement.skip?.kind === 'while') first = { ...first, orderBy: statement.orderBy }
    firstRows.set(statement, first)
  }
  return first
}

function bindCoalesce(expression: CallExpression, scope: Scope, binder: Binder): Bound {
  if (expression.operands.length === 0) throw binder.error(expression, 'COALESCE takes at least 1 operand')
  const values = expression.operands.map((operand) => binder.bind(operand, scope))
  const operands = alikeValues(values, binder)
  let type = (operands[0] as Bound).type
  for (const operand of operands.slice(1)) {
    const common = commonType(type, operand.type)
    if (common === undefined) {
      throw binder.error(
        operand,
        `COALESCE takes values of one type, not ${aTypeName(type)} and ${aTypeName(operand.type)}`,
      )
    }
    type = common
  }
  return { kind: 'coalesce', operands, type, start: expression.start, end: expression.end }
}

function bindConcat(expression: CallExpression, scope: Scope, binder: Binder): Bound {
  if (expression.operands.length === 0) throw binder.error(expression, 'CONCAT takes at least 1 operand')
  const operands = expression.operands.map((operand): Bound => {
    const bound = binder.bind(operand, scope)
    if (isText(bound.type) || bound.type.kind === 'null') return bound
    const convert = castFor(bound.type, { kind: 'string' }, binder.textFormats)
    if (convert === undefined) throw binder.error(operand, `CONCAT takes simple values, not ${aTypeName(bound.type)}`)
    return { kind: 'convert', operand: bound, convert, type: stringType, start: bound.start, end: bound.end }
  })
  return { kind: 'concat', operands, type: stringType, start: expression.start, end: expression.end }
}

/** DATE_TRUNC('month', d) returns the type of d, date or datetime. */
function bindDateTrunc(expression: CallExpression, scope: Scope, binder: Binder): Bound {
  const { name, operands, start, end } = expression
  const [first, second] = operands
  if (first === undefined || second === undefined || operands.length > 2) {
    throw binder.error(expression, `${name} takes 2 operands, not ${operands.length}`)
  }
  const unit = checkedOperand(binder.bind(first, scope), 'text', name, binder)
  const moment = checkedOperand(binder.bind(second, scope), 'moment', name, binder)
  const unitOf = (written: string): (typeof truncationUnits)[number] => {
    const found = truncationUnits.find((candidate) => candidate === written.toLowerCase())
    if (found !== undefined) return found
    throw binder.error(first, `a unit is ${truncationUnits.join(', ')}, not '${truncateForMessage(written)}'`)
  }
  if (unit.kind === 'constant' && typeof unit.value === 'string') unitOf(unit.value)
  const calculate = (written: string, value: unknown): unknown => truncated(moment.type, unitOf(written), value)
  const call = { calculate, readers: [], takesRoom: false, isVolatile: false } as const
  return { kind: 'call', name, operands: [unit, moment], ...call, type: moment.type, start, end }
}

function truncated(type: ValueType, unit: (typeof truncationUnits)[number], value: unknown): unknown {
  if (type.kind === 'date') return truncateDay(unit, value as number)
  if (type.kind !== 'datetimeoffset') return truncateMoment(unit, value as number)
  const { ticks, offsetMinutes } = value as OffsetDateTime
  const offset = offsetMinutes * 60 * ticksPerSecond
  return { ticks: truncateMoment(unit, ticks + offset) - offset, offsetMinutes }
}

/** Aggregates and windows cannot be nested, and their operands are evaluated before grouping. */
function withinAggregate(scope: Scope): Scope {
  return { ...scope, aggregates: undefined, groupKeys: undefined, aliases: undefined, windows: undefined }
}

/** The fraction of PERCENTILE, which must be constant. */
export function bindFraction(expression: CallExpression, scope: Scope, binder: Binder): Bound {
  const [, part] = expression.operands
  if (part === undefined) throw binder.error(expression, 'PERCENTILE takes 2 operands: values, and a part from 0 to 1')
  const { start, end } = part
  const fraction = checkedOperand(binder.bind(part, withinAggregate(scope)), 'number', expression.name, binder)
  if (!isConstant(fraction)) throw binder.error(part, 'the part that PERCENTILE takes is the same for all rows')
  const checked = (value: unknown): unknown => {
    const number = Number(value)
    if (number >= 0 && number <= 1) return number
    throw binder.error(part, `PERCENTILE takes a part from 0 to 1, not ${number}`)
  }
  return { kind: 'convert', operand: fraction, convert: checked, type: realType, start, end }
}

/** OF(n, c, p) and OF_EQUAL(n, c, v) are true for at least n elements. */
function bindAtLeast(expression: CallExpression, scope: Scope, binder: Binder): Bound {
  const [first, second, third] = expression.operands
  if (first === undefined || second === undefined || third === undefined || expression.operands.length !== 3) {
    throw binder.error(
      expression,
      `${expression.name} takes 3 operands: a number, a collection, and what its elements are asked`,
    )
  }
  const count = checkedOperand(binder.bind(first, scope), 'integer', expression.name, binder)
  const collection = binder.bind(second, scope)
  if (expression.name === 'OF' || expression.name === 'SOME') {
    return predicateQuantifier('atLeast', collection, third, count, expression, scope, binder)
  }
  return equalQuantifier('atLeast', collection, binder.bind(third, scope), count, expression, binder)
}

/** Over a collection, aggregates per object; otherwise over the rows. */
function bindAggregate(name: AggregateName, expression: CallExpression, scope: Scope, binder: Binder): Bound {
  const { start, end, operands } = expression
  const most = name === 'PERCENTILE' ? 2 : 1
  if (operands.length > most)
    throw binder.error(expression, `${name} takes ${most} operand${most > 1 ? 's' : ''}, not ${operands.length}`)
  const fraction = name === 'PERCENTILE' ? bindFraction(expression, scope, binder) : undefined
  if (operands.length === 0 && name !== 'COUNT') throw binder.error(expression, `${name} takes an operand`)
  const [first] = operands
  const operand = first === undefined ? undefined : binder.bind(first, withinAggregate(scope))
  const { isDistinct = false } = expression
  if (operand !== undefined && isDistinct) {
    const values = isMany(operand.type) ? operand.type.element : operand.type
    requireKey(values, operand, `${name}(DISTINCT …) takes`, binder)
  }
  if (operand !== undefined && isMany(operand.type)) {
    return fold(name, operand, expression, binder, !isDistinct && isItself(operand), { isDistinct, fraction })
  }
  const collector = scope.aggregates
  if (collector === undefined) {
    const place = 'only RETURN, HAVING and ORDER BY look at several rows'
    throw binder.error(expression, `${name} over rows cannot stand here: ${place}`)
  }
  const type = aggregateType(name, operand, expression, binder)
  // An aggregate written twice, for example in RETURN and ORDER BY, is computed once.
  const written = binder.text.slice(start, end)
  let index = collector.places.get(written)
  if (index === undefined) {
    index = collector.all.push({ function: name, operand, isDistinct, fraction, type, start, end }) - 1
    collector.places.set(written, index)
  }
  return { kind: 'aggregate', index, type, start, end }
}

/** Whether the value is a stored collection or part of one, instead of a path from each of several elements. */
function isItself(bound: Bound): boolean {
  if (bound.kind === 'each') return false
  return bound.kind === 'choose' || bound.kind === 'slice' ? isItself(bound.collection) : true
}

function fold(
  name: AggregateName,
  collection: Bound,
  { start, end }: Span,
  binder: Binder,
  isLength: boolean,
  { isDistinct, fraction }: { isDistinct: boolean; fraction?: Bound | undefined } = { isDistinct: false },
): Bound {
  assert(isMany(collection.type), 'a fold is over elements')
  const element: Bound = {
    kind: 'constant',
    value: null,
    type: collection.type.element,
    start: collection.start,
    end: collection.end,
  }
  const type = aggregateType(name, element, { start, end }, binder)
  const countsNulls = name === 'COUNT' && isLength
  return { kind: 'fold', function: name, collection, countsNulls, isDistinct, fraction, type, start, end }
}

export function aggregateType(name: AggregateName, operand: Bound | undefined, span: Span, binder: Binder): ValueType {
  if (name === 'COUNT' || operand === undefined) return integerType
  const { type } = operand
  if (name === 'STDDEV' || name === 'MEDIAN' || name === 'PERCENTILE') {
    if (isNumeric(type) || type.kind === 'null') return realType
    throw binder.error(span, `${name} takes numbers, not ${aTypeName(type)}`)
  }
  if (name === 'COLLECT') return { kind: 'collection', form: 'list', element: type }
  if (type.kind === 'null') return name === 'AVG' ? realType : type
  if (name === 'MIN' || name === 'MAX') {
    if (compareFor(type, type) !== undefined) return type
    throw binder.error(span, `${name} takes values that have an order, not ${aTypeName(type)}`)
  }
  const total = totalOf(type)
  if (total !== undefined) return name === 'AVG' ? total.averageType : total.sumType
  throw binder.error(span, `${name} takes numbers or intervals, not ${aTypeName(type)}`)
}
