/** Operators: their operand and result types (docs/query-language.md, Operators). */
import { AshlarError, truncateForMessage } from '../../errors.ts'
import { isRootClass } from '../../schema/root-class.ts'
import { canonicalJson } from '../../types/json-value.ts'
import type { Expression, OperationExpression, Span } from '../language/ast.ts'
import { type OperatorName, operatorText } from '../language/operators.ts'
import { queryError } from '../language/query-error.ts'
import { arithmeticFor } from '../values/arithmetic.ts'
import { compareFor, equalsFor } from '../values/compare.ts'
import { scalarKinds } from '../values/scalars/scalar-kinds.ts'
import {
  aTypeName,
  booleanType,
  decimalType,
  integerType,
  isMany,
  isReference,
  isScalarType,
  isText,
  jsonType,
  nullType,
  stringType,
  typeName,
} from '../values/value-type.ts'
import { calculateBits, type Integer } from '../values/whole-number.ts'
import { bindPredicate, tryBind } from './bind-path.ts'
import { bindList } from './bind-value.ts'
import { type Bound, isConstant } from './bound.ts'
import { coerced, isWrittenNumber } from './coercion.ts'
import type { Binder, Scope } from './scope.ts'

export function bindOperation(expression: OperationExpression, scope: Scope, binder: Binder): Bound {
  const { operator, start, end } = expression
  switch (operator) {
    case 'and':
    case 'or':
    case 'xor':
    case 'not': {
      const operands = expression.operands.map((operand) =>
        checkedBoolean(binder.bind(operand, scope), operator, binder),
      )
      return { kind: 'logical', operator, operands, type: booleanType, start, end }
    }
    case 'any':
    case 'all':
      return bindInfixQuantifier(expression, operator, scope, binder)
    default:
  }
  const operands = expression.operands.map((operand) => bindOperand(operand, expression, scope, binder))
  const [left, right] = operands as [Bound, Bound]
  if (operator === 'equal' && binder.outer !== undefined) refuseInnerId(expression, operands, binder)
  switch (operator) {
    case 'inList':
      return bindInList(left, operands.slice(1), expression, binder)
    case 'between':
      return bindBetween(left, right, operands[2] as Bound, expression, binder)
    case 'like':
    case 'ilike':
      return pattern(operator, left, right, expression, binder)
    case 'equal':
    case 'notEqual':
    case 'less':
    case 'lessOrEqual':
    case 'greater':
    case 'greaterOrEqual':
      return comparison(operator, left, right, expression, binder)
    case 'in':
      if (!isMany(right.type) && right.type.kind !== 'null') {
        throw binder.error(right, `IN is followed by a collection, such as LIST{…}, not by ${aTypeName(right.type)}`)
      }
      return equalQuantifier('any', right, left, undefined, expression, binder)
    case 'anyEqual':
      return equalQuantifier('any', left, right, undefined, expression, binder)
    case 'allEqual':
      return equalQuantifier('all', left, right, undefined, expression, binder)
    case 'contains':
      checkText(left, operator, binder)
      checkText(right, operator, binder)
      return { kind: 'contains', text: left, part: right, type: booleanType, start, end }
    case 'matches':
    case 'notMatches':
    case 'matchesIgnoringCase':
    case 'notMatchesIgnoringCase':
      return pattern(operator, left, right, expression, binder)
    case 'negate':
    case 'identity':
    case 'bitComplement':
      return unary(operator, left, expression, binder)
    default:
      return arithmetic(operator, left, right, expression, binder)
  }
}

/** An unknown bare name next to a text may be a text without its quotes. */
function bindOperand(operand: Expression, { operands }: OperationExpression, scope: Scope, binder: Binder): Bound {
  if (operand.kind !== 'name') return binder.bind(operand, scope)
  const bound = tryBind(operand, scope, binder)
  if (!(bound instanceof AshlarError)) return bound
  const [found] = bound.errors
  const isNextToText = operands.some((other) => {
    const otherBound = other === operand ? bound : tryBind(other, scope, binder)
    return !(otherBound instanceof AshlarError) && isText(otherBound.type)
  })
  if (!isNextToText || found === undefined || found.message.endsWith('?')) throw bound
  throw binder.error(operand, `${found.message}; texts are quoted: '${truncateForMessage(operand.name)}'`)
}

/** Rejects comparing an inner `$$ID` with a reference to an unrelated class, which is never equal: the outer object is usually meant. */
function refuseInnerId({ operands: written }: OperationExpression, operands: readonly Bound[], binder: Binder): void {
  for (const [i, side] of written.entries()) {
    const isId = side.kind === 'system' && (side.name === 'ID' || side.name === 'THIS_REFERENCE')
    const [own, other] = [operands[i]?.type, operands[1 - i]?.type]
    if (!isId || own?.kind !== 'reference' || other?.kind !== 'reference') continue
    if (own.cls === null || other.cls === null || isRootClass(own.cls) || isRootClass(other.cls)) continue
    if (own.cls.isOrInherits(other.cls.number) || other.cls.isOrInherits(own.cls.number)) continue
    const simpleName = other.cls.name.slice(other.cls.name.lastIndexOf('.') + 1)
    const alias = simpleName.charAt(0).toLowerCase()
    const advice = `that of the statement around it has an alias, as in FROM ${simpleName} ${alias} … = ${alias}`
    throw binder.error(
      side,
      `$$${side.name} is the ${own.cls.name} at hand, which is never a ${other.cls.name}: ${advice}`,
    )
  }
}

function pattern(
  operator: OperatorName,
  text: Bound,
  pattern: Bound,
  { start, end }: OperationExpression,
  binder: Binder,
): Bound {
  checkText(text, operator, binder)
  checkText(pattern, operator, binder)
  const language = operator === 'like' || operator === 'ilike' ? 'like' : 'regularExpression'
  const isIgnoringCase = ['ilike', 'matchesIgnoringCase', 'notMatchesIgnoringCase'].includes(operator)
  const isNegated = operator === 'notMatches' || operator === 'notMatchesIgnoringCase'
  const texts = { text, pattern, isIgnoringCase, isNegated }
  return { kind: 'matches', language, ...texts, type: booleanType, start, end }
}

/** `v IN (a, b)`; a single operand may itself be a collection. */
function bindInList(value: Bound, elements: readonly Bound[], span: OperationExpression, binder: Binder): Bound {
  const [only] = elements as readonly [Bound]
  if (value.type.kind === 'json' && !(elements.length === 1 && isMany(only.type))) {
    return bindInList(
      canonical(value),
      elements.map((one) => canonicalOf(one, binder)),
      span,
      binder,
    )
  }
  if (elements.length === 1 && isMany(only.type)) return equalQuantifier('any', only, value, undefined, span, binder)
  const list = bindList(elements, { start: only.start, end: (elements.at(-1) as Bound).end }, binder)
  return equalQuantifier('any', list, value, undefined, span, binder)
}

/** `v >= least AND v <= most`; anything but a path is evaluated once. */
function bindBetween(value: Bound, least: Bound, most: Bound, span: OperationExpression, binder: Binder): Bound {
  const { start, end } = span
  const both = (compared: Bound): Bound => {
    const operands = [
      comparison('greaterOrEqual', compared, least, span, binder),
      comparison('lessOrEqual', compared, most, span, binder),
    ]
    return { kind: 'logical', operator: 'and', operands, type: booleanType, start, end }
  }
  if (isConstant(value) || pathKinds.includes(value.kind)) return both(value)
  const slot = binder.newSlot()
  const cached: Bound = { kind: 'slot', slot, type: value.type, start: value.start, end: value.end }
  return { kind: 'once', slot, value, body: both(cached), type: booleanType, start, end }
}

/** Kinds that are as cheap to evaluate twice as to cache, and whose conditions an index may answer. */
const pathKinds: readonly Bound['kind'][] = ['self', 'slot', 'attribute', 'follow', 'field', 'aggregate']

type Comparison = Extract<Bound, { kind: 'compare' }>['operator']

/** Throws QueryError if the two types cannot be compared. */
export function comparison(
  operator: Comparison,
  one: Bound,
  another: Bound,
  { start, end }: Span,
  binder: Binder,
): Bound {
  const [first, other] = [onlyValue(one, another, binder), onlyValue(another, one, binder)]
  const isEquality = operator === 'equal' || operator === 'notEqual'
  const [left, right] = comparable(alike(first, other, binder), isEquality)
  const span = { start, end }
  if (left.type.kind === 'null' || right.type.kind === 'null') {
    return { kind: 'constant', value: null, type: booleanType, ...span }
  }
  const compare = compareFor(left.type, right.type)
  const equals = equalsFor(left.type, right.type)
  if (isEquality ? equals === undefined : compare === undefined) {
    throw binder.error(
      span,
      `${operatorText[operator]} does not compare ${typeOf(first)} with ${typeOf(other)}${adviceOnElements(operator, first, other, binder)}`,
    )
  }
  return { kind: 'compare', operator, left, right, equals, compare, type: booleanType, ...span }
}

/** The name of the type, with the attribute that has it. */
function typeOf(bound: Bound): string {
  const attribute = attributeOf(bound)
  const type = aTypeName(bound.type)
  return attribute === undefined ? type : `${type} (attribute ${attribute.name} of class ${attribute.className})`
}

function attributeOf(bound: Bound): { readonly name: string; readonly className: string } | undefined {
  if (bound.kind === 'field') {
    const { type } = bound.object
    return type.kind === 'embedded' ? { name: bound.name, className: type.cls.name } : undefined
  }
  if (bound.kind !== 'attribute' && bound.kind !== 'follow') return undefined
  return { name: bound.attribute.name, className: bound.attribute.cls.name }
}

/** Description of the operand for the message about an impossible comparison. */
function whatOf(compared: Bound): string | undefined {
  const attribute = attributeOf(compared)
  return attribute && `class ${attribute.className}, attribute ${attribute.name}`
}

/** Reduces a nested statement to its only value, null without rows. A second row is rejected at run time. */
function onlyValue(bound: Bound, compared: Bound, { text }: Binder): Bound {
  const { type, start, end } = bound
  const isStatement = bound.kind === 'nested' || bound.kind === 'inner'
  if (!isStatement || type.kind !== 'collection' || isMany(compared.type)) return bound
  const convert = (rows: unknown): unknown => {
    const [first = null, second] = rows as readonly unknown[]
    if (second === undefined) return first
    throw queryError(text, { start, end }, 'the statement has several rows; one is compared: TAKE 1, or IN')
  }
  return { kind: 'convert', operand: bound, convert, type: type.element, start, end }
}

/** Advice on comparing a collection with a value of its element type. */
function adviceOnElements(operator: Comparison, one: Bound, other: Bound, { text }: Binder): string {
  const collection = isMany(one.type) ? one : other
  if (!isMany(collection.type) || isMany(one.type) === isMany(other.type)) return ''
  const path = collection.kind === 'each' ? collection.collection : collection
  const written = text.slice(path.start, path.end).slice(0, excerptMax)
  const { element } = collection.type
  if (path !== collection || isReference(element) || element.kind === 'embedded') {
    return `: ${written} ANY (…) tests each element`
  }
  return operator === 'equal' ? `: v IN ${written} tests whether it contains a value` : ''
}

const excerptMax = 40

/** Converts a side that is constant before the rows to the type of the other one. */
function alike(one: Bound, other: Bound, binder: Binder): [Bound, Bound] {
  if (one.type.kind === 'json') return [one, coerced(other, one.type, binder)]
  if (other.type.kind === 'json') return [coerced(one, other.type, binder), other]
  if (isConstant(one) && other.type.kind === 'decimal') return [coerced(one, decimalType, binder, whatOf(other)), other]
  if (isConstant(other) && !isConstant(one)) return [one, coerced(other, one.type, binder, whatOf(one))]
  if (isConstant(one) && !isConstant(other)) return [coerced(one, other.type, binder, whatOf(other)), other]
  if (isText(one.type) && !isText(other.type)) return [coerced(one, other.type, binder), other]
  if (isText(other.type) && !isText(one.type)) return [one, coerced(other, one.type, binder)]
  return [one, other]
}

/** Values of type json are equal if their canonical texts are, so these are compared instead. */
function comparable([one, other]: [Bound, Bound], isEquality: boolean): [Bound, Bound] {
  const areJson = one.type.kind === 'json' && other.type.kind === 'json'
  return areJson && isEquality ? [canonical(one), canonical(other)] : [one, other]
}

function canonical(operand: Bound): Bound {
  const { start, end } = operand
  const call = { readers: [], calculate: canonicalJson, takesRoom: false, isVolatile: false } as const
  return { kind: 'call', name: 'JSON', operands: [operand], ...call, type: stringType, start, end }
}

/** The canonical text of a value that is compared with a value of type json. */
function canonicalOf(operand: Bound, binder: Binder): Bound {
  const json = coerced(operand, jsonType, binder)
  return json.type.kind === 'json' ? canonical(json) : json
}

/** Converts the elements to canonical texts of type json. */
function canonicalElements(collection: Bound, binder: Binder): Bound {
  const { type, start, end } = collection
  if (type.kind !== 'collection') return collection
  const operand = coerced(collection, { ...type, element: jsonType }, binder)
  if (operand.type.kind !== 'collection' || operand.type.element.kind !== 'json') return collection
  const convert = (values: unknown): unknown =>
    (values as readonly unknown[]).map((value) => (value === null ? null : canonicalJson(value as string)))
  return { kind: 'convert', operand, convert, type: { ...type, element: stringType }, start, end }
}

/** `equal` in a collection: `v IN c`, ANY_EQUAL, ALL_EQUAL, OF_EQUAL. */
export function equalQuantifier(
  mode: 'any' | 'all' | 'atLeast',
  source: Bound,
  value: Bound,
  count: Bound | undefined,
  { start, end }: { readonly start: number; readonly end: number },
  binder: Binder,
): Bound {
  const span = { start, end }
  if (source.type.kind === 'null') return { kind: 'constant', value: null, type: booleanType, ...span }
  if (!isMany(source.type)) throw binder.error(source, `${aTypeName(source.type)} has no elements`)
  if (value.type.kind === 'json' || source.type.element.kind === 'json') {
    const elements = canonicalElements(source, binder)
    const one = coerced(value, jsonType, binder)
    if (elements !== source && one.type.kind === 'json')
      return equalQuantifier(mode, elements, canonical(one), count, { start, end }, binder)
  }
  const operand = coerced(value, source.type.element, binder)
  const collection =
    isConstant(source) && source.type.kind === 'collection'
      ? coerced(
          source,
          { ...source.type, element: value.type.kind === 'null' ? source.type.element : value.type },
          binder,
          whatOf(value),
        )
      : source
  const element = (collection.type as typeof source.type).element
  const isEmpty = element.kind === 'null' || operand.type.kind === 'null'
  const equals = isEmpty ? () => false : equalsFor(element, operand.type)
  if (equals === undefined) {
    throw binder.error(span, `the elements are ${typeName(element)}s, and not compared with ${aTypeName(value.type)}`)
  }
  return {
    kind: 'quantifier',
    mode,
    count,
    collection,
    test: { kind: 'equal', value: operand, equals },
    type: booleanType,
    ...span,
  }
}

/** `c ANY (p)`, `c ALL (p)`. */
function bindInfixQuantifier(
  expression: OperationExpression,
  mode: 'any' | 'all',
  scope: Scope,
  binder: Binder,
): Bound {
  const [collection, predicate] = expression.operands
  if (collection === undefined || predicate === undefined) throw binder.error(expression, `${mode} takes two operands`)
  return predicateQuantifier(mode, binder.bind(collection, scope), predicate, undefined, expression, scope, binder)
}

export function predicateQuantifier(
  mode: 'any' | 'all' | 'atLeast',
  collection: Bound,
  predicate: OperationExpression['operands'][number],
  count: Bound | undefined,
  { start, end }: { readonly start: number; readonly end: number },
  scope: Scope,
  binder: Binder,
): Bound {
  const { type } = collection
  if (!isMany(type)) throw binder.error(collection, `${aTypeName(type)} has no elements`)
  const found = bindPredicate(predicate, type, scope, binder)
  if (found === undefined) {
    throw binder.error(
      predicate,
      `a predicate on elements that are references or embedded objects stands here; these are ${typeName(type.element)}s`,
    )
  }
  return {
    kind: 'quantifier',
    mode,
    count,
    collection,
    test: { kind: 'predicate', ...found },
    type: booleanType,
    start,
    end,
  }
}

function checkedBoolean(operand: Bound, operator: OperatorName, binder: Binder): Bound {
  const value = coerced(operand, booleanType, binder)
  if (value.type.kind === 'boolean' || value.type.kind === 'null') return value
  const advice = operator === 'or' && isText(operand.type) ? ': texts are joined by +' : ''
  throw binder.error(operand, `${operatorText[operator]} takes true or false, not ${aTypeName(operand.type)}${advice}`)
}

function checkText(operand: Bound, operator: OperatorName, binder: Binder): void {
  if (isText(operand.type) || operand.type.kind === 'null') return
  const advice = operator === 'contains' && isMany(operand.type) ? ': v IN c asks whether a collection has a value' : ''
  throw binder.error(operand, `${operatorText[operator]} takes texts, not ${aTypeName(operand.type)}${advice}`)
}

function unary(
  operator: 'negate' | 'identity' | 'bitComplement',
  operand: Bound,
  { start, end }: OperationExpression,
  binder: Binder,
): Bound {
  const { type } = operand
  const node = { kind: 'unary', operator, operand, type, start, end } as const
  if (type.kind === 'null') return { kind: 'constant', value: null, type: nullType, start, end }
  if (operator === 'bitComplement' && type.kind === 'integer') {
    return { ...node, calculate: (value: Integer) => calculateBits('bitXor', value, -1) }
  }
  const negate = isScalarType(type) ? scalarKinds[type.kind].negate : undefined
  if (operator !== 'bitComplement' && negate !== undefined) {
    return { ...node, calculate: operator === 'identity' ? (value: unknown) => value : negate }
  }
  throw binder.error(operand, `${operatorText[operator]} does not stand before ${aTypeName(type)}`)
}

function arithmetic(
  operator: OperatorName,
  left: Bound,
  right: Bound,
  { start, end }: OperationExpression,
  binder: Binder,
): Bound {
  if (left.type.kind === 'null' || right.type.kind === 'null') {
    const other = left.type.kind === 'null' ? right.type : left.type
    return { kind: 'constant', value: null, type: other.kind === 'null' ? integerType : other, start, end }
  }
  const [one, other] = withSharedDecimals(left, right, binder)
  const found = arithmeticFor(operator, one.type, other.type)
  if (found === undefined) {
    throw binder.error(
      { start, end },
      `${operatorText[operator]} does not stand between ${aTypeName(left.type)} and ${aTypeName(right.type)}`,
    )
  }
  return {
    kind: 'arithmetic',
    operator,
    left: one,
    right: other,
    calculate: found.calculate,
    type: found.type,
    start,
    end,
  }
}

/** Numbers and texts that are constant for all rows become decimals if the other operand is a decimal. */
function withSharedDecimals(left: Bound, right: Bound, binder: Binder): [Bound, Bound] {
  const isConvertible = (value: Bound): boolean => isWrittenNumber(value) || (isText(value.type) && isConstant(value))
  if (left.type.kind === 'decimal' && isConvertible(right)) return [left, coerced(right, decimalType, binder)]
  if (right.type.kind === 'decimal' && isConvertible(left)) return [coerced(left, decimalType, binder), right]
  return [left, right]
}
