/** Extracts the sargable conditions of a predicate: comparisons of attributes with values that do not depend on rows. */

import { beginningOfMatches } from '../../types/regular-expression.ts'
import { embeddedAttribute } from '../bind/bind-target.ts'
import { type Bound, type BoundAttribute, conjunctsOf, isConstant } from '../bind/bound.ts'
import { literalPrefix } from '../functions/like-pattern.ts'
import type { Span } from '../language/ast.ts'
import { isNumeric, isReference, isText, type ValueType } from '../values/value-type.ts'
import { noKeyValue } from './no-key-value.ts'
import { undoneCalculation } from './undone-calculation.ts'

/** A path from the source's object through to-one references, then into embedded objects. */
export interface AttributePath {
  readonly steps: readonly BoundAttribute[]
  /** Empty for the object itself ($$ID). */
  readonly key: readonly BoundAttribute[]
}

/** `calculated`: the condition is not of this form and is shown as a whole. */
type PrefixWord = 'LIKE' | 'STARTS_WITH' | '=~' | 'calculated'

export type IndexCondition =
  | { readonly kind: 'equal'; readonly path: AttributePath; readonly value: Bound }
  /** Any of the elements of a collection. */
  | { readonly kind: 'anyOf'; readonly path: AttributePath; readonly values: Bound }
  | { readonly kind: 'null'; readonly path: AttributePath }
  | {
      readonly kind: 'lower' | 'upper'
      readonly path: AttributePath
      readonly value: Bound
      readonly isInclusive: boolean
      /** Set on both ends of a range for a prefix or a calculation; the form of the condition for EXPLAIN. */
      readonly prefixOf?: PrefixWord
    }
  /** One of several predicates. */
  | { readonly kind: 'or'; readonly parts: readonly (readonly IndexCondition[])[] }
  /** All of them for the same object in a collection of the source's object. */
  | {
      readonly kind: 'within'
      readonly collection: BoundAttribute
      readonly conditions: readonly IndexCondition[]
      readonly bound: Bound
    }

export type PathCondition = Exclude<IndexCondition, { kind: 'or' | 'within' }>

export function isPathCondition(condition: IndexCondition): condition is PathCondition {
  return condition.kind !== 'or' && condition.kind !== 'within'
}

export function directConditions(conditions: readonly IndexCondition[]): PathCondition[] {
  return conditions.filter(isPathCondition).filter(({ path }) => path.steps.length === 0)
}

export function isSamePath(attributes: readonly BoundAttribute[], path: readonly number[]): boolean {
  return attributes.length === path.length && attributes.every(({ number }, i) => number === path[i])
}

/** Maximum number of conditions considered: each has accesses that examine all conjuncts, which is quadratic. The rest is checked on results. */
const conditionsMax = 128
/** The maximum number of conditions with access paths for each of their parts. */
const alternativesMax = 16

/** The conjuncts that an access path could answer; `slot`: of the source's object. */
export function sargablePredicates(where: Bound | undefined, slot: number): IndexCondition[] {
  const conditions: IndexCondition[] = []
  let alternatives = 0
  for (const conjunct of conjunctsOf(where)) {
    for (const condition of conditionsIn(conjunct, slot)) {
      if (isPathCondition(condition) || ++alternatives <= alternativesMax) conditions.push(condition)
      if (conditions.length === conditionsMax) return conditions
    }
  }
  return conditions
}

function conditionsIn(bound: Bound, slot: number): IndexCondition[] {
  switch (bound.kind) {
    case 'compare':
      return comparisonConditions(bound, slot)
    case 'quantifier':
      return bound.mode === 'any' ? quantifierConditions(bound, slot) : []
    case 'matches':
      return patternConditions(bound, slot)
    case 'call':
      return bound.name === 'STARTS_WITH'
        ? prefixConditions(bound.operands, 'STARTS_WITH', (prefix) => prefix, slot)
        : []
    case 'isNull': {
      const path = attributePathOf(bound.operand, slot)
      // The null reference 0-0-0-0 is also null but has another position in the index.
      return path === undefined || path.key.length === 0 || isReference(bound.operand.type) || path.steps.length > 0
        ? []
        : [{ kind: 'null', path }]
    }
    case 'logical':
      return logicalConditions(bound, slot)
    case 'attribute':
    case 'field':
    case 'follow':
      return booleanCondition(bound, true, slot)
    default:
      return []
  }
}

/** `attribute IN LIST{…}`, `value IN collection`, `collection ANY (…)`. */
function quantifierConditions(
  { test, collection }: Extract<Bound, { kind: 'quantifier' }>,
  slot: number,
): IndexCondition[] {
  if (test.kind === 'equal' && isConstant(collection)) {
    const path = attributePathOf(test.value, slot)
    const element = collection.type.kind === 'collection' ? collection.type.element : undefined
    if (path === undefined || element === undefined || !isKeyType(test.value.type, element)) return []
    return [{ kind: 'anyOf', path, values: collection }]
  }
  if (collection.kind !== 'attribute' || collection.slot !== slot) return []
  const conditions = conditionsOfElement(test)
  return conditions.length === 0
    ? []
    : [{ kind: 'within', collection: collection.attribute, conditions, bound: collection }]
}

function conditionsOfElement(test: Extract<Bound, { kind: 'quantifier' }>['test']): IndexCondition[] {
  if (test.kind === 'predicate') return sargablePredicates(test.predicate, test.slot)
  const { value } = test
  return isReference(value.type) && isConstant(value) ? [{ kind: 'equal', path: { steps: [], key: [] }, value }] : []
}

function patternConditions(bound: Extract<Bound, { kind: 'matches' }>, slot: number): IndexCondition[] {
  const { language, text, pattern, isIgnoringCase, isNegated } = bound
  if (isIgnoringCase || isNegated) return []
  return language === 'like'
    ? prefixConditions([text, pattern], 'LIKE', literalPrefix, slot)
    : prefixConditions([text, pattern], '=~', beginningOfMatches, slot)
}

/** A range of keys for strings with a prefix that does not depend on rows. */
function prefixConditions(
  [text, pattern]: readonly Bound[],
  word: PrefixWord,
  prefixOf: (pattern: string) => string,
  slot: number,
): IndexCondition[] {
  const path = text === undefined ? undefined : attributePathOf(text, slot)
  if (path === undefined || pattern === undefined || text?.type.kind !== 'string') return []
  if (!isConstant(pattern) || !isText(pattern.type)) return []
  const { type, start, end } = pattern
  const bound = (endOf: (prefix: string) => unknown): Bound => {
    return { kind: 'convert', operand: pattern, convert: (value) => endOf(prefixOf(value as string)), type, start, end }
  }
  return [
    { kind: 'lower', path, value: bound(wellFormed), isInclusive: true, prefixOf: word },
    {
      kind: 'upper',
      path,
      value: bound((prefix) => behindPrefix(prefix) ?? noKeyValue),
      isInclusive: false,
      prefixOf: word,
    },
  ]
}

const loneSurrogate = /\p{Surrogate}/u

/** Removes half of a surrogate pair: keys contain whole characters. */
function wellFormed(prefix: string): string {
  const at = prefix.search(loneSurrogate)
  return at < 0 ? prefix : prefix.slice(0, at)
}

const codePointMax = 0x10ffff

/** The smallest string after all strings with this prefix; undefined if there is none. */
function behindPrefix(prefix: string): string | undefined {
  const characters = [...wellFormed(prefix)]
  for (let last = characters.pop(); last !== undefined; last = characters.pop()) {
    const codePoint = last.codePointAt(0) as number
    if (codePoint === codePointMax) continue
    const next = codePoint === 0xd7ff ? 0xe000 : codePoint + 1
    return characters.join('') + String.fromCodePoint(next)
  }
  return undefined
}

function logicalConditions(bound: Extract<Bound, { kind: 'logical' }>, slot: number): IndexCondition[] {
  if (bound.operator === 'not') {
    const [operand] = bound.operands
    return operand === undefined ? [] : conditionsOfNot(operand, slot)
  }
  if (bound.operator !== 'or') return []
  const parts: IndexCondition[][] = []
  for (const operand of bound.operands) {
    const part = sargablePredicates(operand, slot)
    if (part.length === 0) return []
    parts.push(part)
  }
  return [asList(parts, bound) ?? { kind: 'or', parts }]
}

/** Fewer parts get an access each, as written. */
const listedPartsMin = 17

/** Rewrites `a = 1 OR a = 2 OR …` to `a IN LIST{1, 2, …}`, since thousands of accesses take tens of milliseconds to plan. */
function asList(parts: readonly (readonly IndexCondition[])[], { start, end }: Span): IndexCondition | undefined {
  const [first] = parts[0] ?? []
  if (parts.length < listedPartsMin || first?.kind !== 'equal') return undefined
  const { path, value } = first
  const elements: Bound[] = []
  for (const [condition, ...others] of parts) {
    if (condition?.kind !== 'equal' || others.length > 0 || !leadToSame(condition.path, path)) return undefined
    if (condition.value.kind !== 'constant' || condition.value.type.kind !== value.type.kind) return undefined
    elements.push(condition.value)
  }
  const type = { kind: 'collection', form: 'list', element: value.type } as const
  return { kind: 'anyOf', path, values: { kind: 'elements', elements, type, start, end } }
}

function leadToSame(one: AttributePath, other: AttributePath): boolean {
  const isSame = (some: readonly BoundAttribute[], others: readonly BoundAttribute[]): boolean => {
    return some.length === others.length && some.every(({ number }, i) => number === others[i]?.number)
  }
  return isSame(one.steps, other.steps) && isSame(one.key, other.key)
}

const negated = {
  notEqual: 'equal',
  less: 'greaterOrEqual',
  lessOrEqual: 'greater',
  greater: 'lessOrEqual',
  greaterOrEqual: 'less',
} as const

/** For null, neither a comparison nor its negation is true. */
function conditionsOfNot(bound: Bound, slot: number): IndexCondition[] {
  if (bound.kind === 'logical' && bound.operator === 'not') {
    const [operand] = bound.operands
    return operand === undefined ? [] : conditionsIn(operand, slot)
  }
  if (bound.kind !== 'compare') return booleanCondition(bound, false, slot)
  const { operator } = bound
  return operator === 'equal' ? [] : comparisonConditions({ ...bound, operator: negated[operator] }, slot)
}

/** `WHERE isActive`, `WHERE NOT isActive`. */
function booleanCondition(bound: Bound, value: boolean, slot: number): IndexCondition[] {
  const path = bound.type.kind === 'boolean' ? attributePathOf(bound, slot) : undefined
  if (path === undefined) return []
  const constant: Bound = { kind: 'constant', value, type: bound.type, start: bound.start, end: bound.end }
  return [{ kind: 'equal', path, value: constant }]
}

const reversedOperators = {
  equal: 'equal',
  less: 'greater',
  lessOrEqual: 'greaterOrEqual',
  greater: 'less',
  greaterOrEqual: 'lessOrEqual',
} as const

function comparisonConditions(bound: Extract<Bound, { kind: 'compare' }>, slot: number): IndexCondition[] {
  const { operator } = bound
  if (operator === 'notEqual') return []
  const isReversed = isConstant(bound.left)
  const [side, value] = isReversed ? [bound.right, bound.left] : [bound.left, bound.right]
  if (!isConstant(value)) return []
  const actual = isReversed ? reversedOperators[operator] : operator
  const path = attributePathOf(side, slot)
  if (path === undefined) return calculatedConditions(side, actual, value, bound, slot)
  if (!isKeyType(side.type, value.type)) return []
  if (actual === 'equal') return [{ kind: 'equal', path, value }]
  const isInclusive = actual === 'lessOrEqual' || actual === 'greaterOrEqual'
  return [{ kind: actual.startsWith('less') ? 'upper' : 'lower', path, value, isInclusive }]
}

/** For `a + 1 = 32` and `SUBSTR(a, 0, 2) = 'LA'`: ranges, since the value of the calculation is known only at run time. */
function calculatedConditions(
  side: Bound,
  operator: keyof typeof reversedOperators,
  value: Bound,
  { start, end }: Bound,
  slot: number,
): IndexCondition[] {
  const word = 'calculated'
  if (side.kind === 'call') return operator === 'equal' ? beginningConditions(side, value, { start, end }, slot) : []
  const undone = undoneCalculation(side, value)
  const path = undone && attributePathOf(undone.side, slot)
  if (undone === undefined || path === undefined) return []
  const limit: Bound = { ...undone.value, start, end }
  const actual = undone.isReversed ? reversedOperators[operator] : operator
  const isInclusive = actual !== 'less' && actual !== 'greater'
  const conditions: IndexCondition[] = []
  if (!actual.startsWith('less')) conditions.push({ kind: 'lower', path, value: limit, isInclusive, prefixOf: word })
  if (!actual.startsWith('greater')) conditions.push({ kind: 'upper', path, value: limit, isInclusive, prefixOf: word })
  return conditions
}

/** If the beginning of a string equals a value, that value is its prefix. */
function beginningConditions(
  { name, operands }: Extract<Bound, { kind: 'call' }>,
  value: Bound,
  span: Span,
  slot: number,
): IndexCondition[] {
  const [text, from] = operands
  if (name !== 'SUBSTR' && name !== 'SUBSTRING') return []
  if (text === undefined || from === undefined || !isConstant(from) || !isText(value.type)) return []
  const calculate = (value: string, start: number | bigint): string => (Number(start) <= 0 ? value : '')
  const { type } = value
  const prefix: Bound = { kind: 'arithmetic', operator: 'plus', left: value, right: from, calculate, type, ...span }
  return prefixConditions([text, prefix], 'calculated', (prefix) => prefix, slot)
}

/** Whether the key bytes of both types are the same for equal values and ordered like the values. */
function isKeyType(attribute: ValueType, value: ValueType): boolean {
  // Several decimals, each with its own key, may equal the same double.
  if (attribute.kind === 'decimal' && value.kind === 'real') return false
  if (isNumeric(attribute) && isNumeric(value)) return true
  if (isReference(attribute) && isReference(value)) return true
  if (attribute.kind === 'string' && isText(value)) return true
  return attribute.kind === value.kind
}

/** Undefined if the expression is not a path from the object in the slot. */
export function attributePathOf(bound: Bound, slot: number): AttributePath | undefined {
  switch (bound.kind) {
    case 'self':
      return bound.slot === slot ? { steps: [], key: [] } : undefined
    case 'attribute':
      return bound.slot === slot && bound.attribute.linkStorage === undefined
        ? { steps: [], key: [bound.attribute] }
        : undefined
    case 'field': {
      const outer = attributePathOf(bound.object, slot)
      const inner = bound.object.type.kind === 'embedded' ? embeddedAttribute(bound) : undefined
      if (outer === undefined || inner === undefined || outer.key.length === 0) return undefined
      return { steps: outer.steps, key: [...outer.key, inner] }
    }
    case 'follow': {
      const outer = attributePathOf(bound.object, slot)
      const [reference] = outer?.key ?? []
      // References in embedded objects have no inverse, so they cannot be followed backwards.
      if (outer === undefined || reference === undefined || outer.key.length !== 1) return undefined
      if (bound.attribute.linkStorage !== undefined) return undefined
      return { steps: [...outer.steps, reference], key: [bound.attribute] }
    }
    default:
      return undefined
  }
}
