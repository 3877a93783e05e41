/** Compiles NOT, XOR, AND and OR with any number of operands: true, false or null (docs/query-language.md, Operators). */
import { type Bound, isConstant } from '../bind/bound.ts'
import { booleanType } from '../values/value-type.ts'
import type { Evaluate } from './evaluation-context.ts'
import type { ExpressionCompiler } from './expression-compiler.ts'

type Comparison = Extract<Bound, { kind: 'compare' }>

/** Expressions with fewer parts are not charged: sixteen rows take well under a millisecond, after which the clock is checked. */
export const partsSpentMin = 64
/** Work steps per part. */
export const partSteps = 10

export function compileLogical(
  { operator, operands }: Extract<Bound, { kind: 'logical' }>,
  compiler: ExpressionCompiler,
): Evaluate {
  if (operator === 'and' || operator === 'or') return compileJunction(operator, operands, compiler)
  const [first, second] = compiler.compileAll(operands) as [Evaluate, Evaluate]
  if (operator === 'not') {
    return (evaluation) => {
      const value = first(evaluation)
      return value === null || value === undefined ? null : value !== true
    }
  }
  return (evaluation) => {
    const [one, other] = [first(evaluation), second(evaluation)]
    return one === null || other === null ? null : one !== other
  }
}

function compileJunction(operator: 'and' | 'or', operands: readonly Bound[], compiler: ExpressionCompiler): Evaluate {
  // Value of an operand that decides the result.
  const decisive = operator === 'or'
  const parts = compiler.compileAll(decisive ? withMemberships(operands) : operands)
  const evaluate: Evaluate = (evaluation) => {
    let isUnknown = false
    for (const part of parts) {
      const value = part(evaluation)
      if (value === decisive) return decisive
      if (value === null || value === undefined) isUnknown = true
    }
    return isUnknown ? null : !decisive
  }
  if (parts.length < partsSpentMin) return evaluate
  return (evaluation) => {
    evaluation.work.spend(parts.length * partSteps)
    return evaluate(evaluation)
  }
}

/** Shorter disjunctions are compared one by one. */
const membersMin = 17

/** Rewrites `a = 1 OR a = 2 OR …` as `a IN LIST{1, 2, …}`, which is a hash lookup. Nulls behave the same in both forms. */
function withMemberships(operands: readonly Bound[]): readonly Bound[] {
  if (operands.length < membersMin) return operands
  const groups = new Map<string, Equality[]>()
  const merged: (Bound | Equality[])[] = []
  for (const operand of operands) {
    const equality = equalityOf(operand)
    const group = equality && groups.get(equality.key)
    if (equality === undefined) merged.push(operand)
    else if (group !== undefined) group.push(equality)
    else {
      const newGroup = [equality]
      groups.set(equality.key, newGroup)
      merged.push(newGroup)
    }
  }
  return merged.flatMap((one) => {
    if (!Array.isArray(one)) return [one]
    return one.length < membersMin ? one.map(({ comparison }) => comparison) : [membershipOf(one)]
  })
}

interface Equality {
  readonly comparison: Comparison
  /** Equal for comparisons that can share a membership test. */
  readonly key: string
  readonly path: Bound
  readonly value: Bound
}

function equalityOf(bound: Bound): Equality | undefined {
  if (bound.kind !== 'compare' || bound.operator !== 'equal' || bound.equals === undefined) return undefined
  const isSwapped = isConstant(bound.left)
  const [path, value] = isSwapped ? [bound.right, bound.left] : [bound.left, bound.right]
  if (value.kind !== 'constant' && value.kind !== 'variable') return undefined
  const name = pathKey(path)
  if (name === undefined) return undefined
  return { comparison: bound, key: `${name} ${value.type.kind} ${isSwapped}`, path, value }
}

/** Equal for paths with the same value; undefined for other expressions. */
function pathKey(bound: Bound): string | undefined {
  switch (bound.kind) {
    case 'self':
      return `${bound.slot}`
    case 'attribute':
      return `${bound.slot}.${bound.attribute.number}`
    case 'follow':
    case 'field': {
      const object = pathKey(bound.object)
      const step = bound.kind === 'follow' ? `>${bound.attribute.number}` : `.${bound.index}`
      return object === undefined ? undefined : `${object}${step}`
    }
    default:
      return undefined
  }
}

function membershipOf(equalities: readonly Equality[]): Bound {
  const [{ comparison, path, value }] = equalities as readonly [Equality]
  const { start, end, left } = comparison
  const elements = equalities.map((equality) => equality.value)
  const type = { kind: 'collection', form: 'list', element: value.type } as const
  const compared = comparison.equals as NonNullable<Comparison['equals']>
  const equals: typeof compared = left === path ? (one, other) => compared(other, one) : compared
  const collection: Bound = { kind: 'elements', elements, type, start, end }
  const test = { kind: 'equal', value: path, equals } as const
  return { kind: 'quantifier', mode: 'any', count: undefined, collection, test, type: booleanType, start, end }
}
