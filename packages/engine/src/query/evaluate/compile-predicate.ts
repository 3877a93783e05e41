/** Compiles comparisons, patterns and quantifiers: true, false or null (docs/query-language.md, Operators). */
import { AshlarError } from '../../errors.ts'
import { matchedCharactersMax } from '../../limits.ts'
import { compileRegularExpression, type RegularExpression } from '../../types/regular-expression.ts'
import type { Bound } from '../bind/bound.ts'
import { LikePattern } from '../functions/like-pattern.ts'
import { placed, queryError } from '../language/query-error.ts'
import { isLong } from '../values/type-rules.ts'
import { compileLoop, textSteps, valueSteps } from './compile-loop.ts'
import { elementsIn, slotElements, slotFiller } from './element-slot.ts'
import type { Evaluate, EvaluationContext } from './evaluation-context.ts'
import type { ExpressionCompiler } from './expression-compiler.ts'
import { compileConstantElements } from './known-elements.ts'
import { canBeSet, membership } from './list-membership.ts'
import { MatchResults } from './match-results.ts'

type Node<K extends Bound['kind']> = Extract<Bound, { kind: K }>

export function compileComparison(
  { operator, equals, compare, left: { type: one }, right: { type: other } }: Node<'compare'>,
  left: Evaluate,
  right: Evaluate,
): Evaluate {
  const test = testOf(operator, equals, compare)
  if (isLong(one) && isLong(other)) return compileLongComparison(left, right, test)
  return (evaluation) => {
    const one = left(evaluation)
    if (one === null || one === undefined) return null
    const other = right(evaluation)
    return other === null || other === undefined ? null : test(one, other)
  }
}

function compileLongComparison(left: Evaluate, right: Evaluate, test: Test): Evaluate {
  return (evaluation) => {
    const one = left(evaluation)
    if (one === null || one === undefined) return null
    const other = right(evaluation)
    if (other === null || other === undefined) return null
    evaluation.work.spend(valueSteps(one))
    return test(one, other)
  }
}

type Test = (one: unknown, other: unknown) => boolean

function testOf(
  operator: Node<'compare'>['operator'],
  equals: Node<'compare'>['equals'],
  compare: Node<'compare'>['compare'],
): Test {
  const isEqual = equals ?? (() => false)
  const order = compare ?? (() => Number.NaN)
  switch (operator) {
    case 'equal':
      return isEqual
    case 'notEqual':
      return (one, other) => !isEqual(one, other)
    case 'less':
      return (one, other) => order(one, other) < 0
    case 'lessOrEqual':
      return (one, other) => order(one, other) <= 0
    case 'greater':
      return (one, other) => order(one, other) > 0
    case 'greaterOrEqual':
      return (one, other) => order(one, other) >= 0
  }
}

/** Number of compiled patterns that are cached where patterns differ from row to row. */
const cachedPatternsMax = 100

/** Fixed cost of compiling a pattern, in characters. */
const patternCharacters = 20
const likePatternSteps = 20
const regularPatternSteps = 500

/** `compile` returns a message where the pattern is invalid. */
function patternCache<P>(
  { pattern }: Node<'matches'>,
  compile: (source: string) => P | string,
  stepsOfCharacter: number,
): (evaluation: EvaluationContext, source: string) => P {
  const cached = new Map<string, P>()
  // The common case is a single pattern.
  let last: { readonly source: string; readonly compiled: P } | undefined
  return (evaluation, source) => {
    if (last?.source === source) return last.compiled
    let compiled = cached.get(source)
    if (compiled === undefined) {
      const parsed = compile(source)
      if (typeof parsed === 'string') throw queryError(evaluation.text, pattern, parsed)
      evaluation.work.spend((patternCharacters + source.length) * stepsOfCharacter)
      if (cached.size >= cachedPatternsMax) cached.clear()
      cached.set(source, parsed)
      compiled = parsed
    }
    last = { source, compiled }
    return compiled
  }
}

export function compileMatches(bound: Node<'matches'>, text: Evaluate, pattern: Evaluate): Evaluate {
  return bound.language === 'like' ? compileLike(bound, text, pattern) : compileRegular(bound, text, pattern)
}

function compileLike(bound: Node<'matches'>, text: Evaluate, pattern: Evaluate): Evaluate {
  const patternOf = patternCache(bound, (source) => LikePattern.parse(source, bound.isIgnoringCase), likePatternSteps)
  const results = new MatchResults()
  return (evaluation) => {
    const subject = text(evaluation)
    const source = pattern(evaluation)
    if (source === null || source === undefined) return null
    const like = patternOf(evaluation, source as string)
    if (subject === null || subject === undefined) return null
    const cached = results.of(source as string, subject as string)
    if (cached !== undefined) return cached
    evaluation.work.spend(textSteps((subject as string).length))
    const isMatch = evaluation.work.run(like.test(subject as string)) as boolean
    results.add(subject as string, isMatch)
    return isMatch
  }
}

function compileRegular(bound: Node<'matches'>, text: Evaluate, pattern: Evaluate): Evaluate {
  const expressionOf = patternCache<RegularExpression>(
    bound,
    (source) => {
      const compiled = compileRegularExpression(source, bound.isIgnoringCase)
      return typeof compiled === 'string' ? `not a regular expression: ${compiled}` : compiled
    },
    regularPatternSteps,
  )
  const results = new MatchResults()
  return (evaluation) => {
    const subject = text(evaluation)
    const source = pattern(evaluation)
    if (source === null) return null
    const expression = expressionOf(evaluation, source as string)
    if (subject === null) return null
    const cached = results.of(source as string, subject as string)
    if (cached !== undefined) return cached
    const { length } = subject as string
    if (length > matchedCharactersMax) throw tooLongToMatch(length, evaluation, bound)
    evaluation.work.spend(length * matchSteps)
    if (length > shortSubjectMax) evaluation.work.beginLong()
    const isMatch = expression.isIn(subject as string) !== bound.isNegated
    results.add(subject as string, isMatch)
    return isMatch
  }
}

const matchSteps = 4
/** Longer texts may exceed a time slice: a pattern of 1,000 states takes about 20 µs per character and cannot be interrupted. */
const shortSubjectMax = 1_000

function tooLongToMatch(characters: number, evaluation: EvaluationContext, bound: Node<'matches'>): unknown {
  const message = `A regular expression looks at texts of at most ${matchedCharactersMax} characters (matchedCharactersMax), not ${characters}.`
  return placed(evaluation.text, bound, new AshlarError('LimitExceeded', message))
}

/** ANY: one true decides. ALL: one false decides. OF: enough true ones decide. Otherwise null if any result is null. */
export function compileQuantifier(bound: Node<'quantifier'>, compiler: ExpressionCompiler): Evaluate {
  const collection = compiler.compile(bound.collection)
  const count = bound.count === undefined ? undefined : compiler.compile(bound.count)
  const elements = bound.test.kind === 'predicate' ? slotElements(bound.collection.type) : undefined
  const plainElements = elementsIn(bound.collection.type)
  const { mode } = bound
  const constantElements = compileConstantElements(bound, compiler)
  const asSet = canBeSet(bound) ? membership(bound, compiler) : undefined
  const testElement = compileElementTest(bound, compiler)
  return compileLoop<Tally>({
    start(evaluation) {
      const candidates = constantElements?.(evaluation)
      if (candidates !== undefined) return { elements: candidates, state: newTally() }
      const list = collection(evaluation)
      if (list === null || list === undefined) return null
      const isMember = asSet?.has(evaluation, testElement.comparand?.(evaluation))
      const required = count?.(evaluation)
      if (count !== undefined && (required === null || required === undefined)) return null
      const all = isMember !== undefined ? none : (elements?.(evaluation, list) ?? plainElements(list))
      return {
        elements: all,
        state: {
          found: 0,
          unknown: isMember === null ? 1 : 0,
          required: Number(required),
          decided: isMember ?? undefined,
        },
      }
    },
    step(evaluation, tally, element) {
      const result = testElement.test(evaluation, element)
      if (result === null || result === undefined) tally.unknown++
      else if (result === true) {
        tally.found++
        if (mode === 'any') tally.decided = true
      } else if (mode === 'all') tally.decided = false
      return tally.decided !== undefined
    },
    end(_evaluation, { found, unknown, required, decided }) {
      if (decided !== undefined) return decided
      if (mode === 'atLeast') return found >= required ? true : found + unknown >= required ? null : false
      return unknown > 0 ? null : mode === 'all'
    },
  })
}

const none: readonly unknown[] = []

function newTally(): Tally {
  return { found: 0, unknown: 0, required: Number.NaN, decided: undefined }
}

interface Tally {
  found: number
  unknown: number
  readonly required: number
  decided: boolean | undefined
}

interface ElementTest {
  test(evaluation: EvaluationContext, element: unknown): unknown
  /** The value that elements are compared with. */
  comparand?(evaluation: EvaluationContext): unknown
}

function compileElementTest(bound: Node<'quantifier'>, compiler: ExpressionCompiler): ElementTest {
  const { test, collection } = bound
  if (test.kind === 'predicate') {
    const fill = slotFiller(collection.type, test.slot)
    const predicate = compiler.compile(test.predicate)
    return {
      test(evaluation, element) {
        fill(evaluation, element)
        return predicate(evaluation)
      },
    }
  }
  const value = compiler.compile(test.value)
  const { equals } = test
  const isLongValue = isLong(test.value.type)
  return {
    test(evaluation, element) {
      const comparand = value(evaluation)
      if (comparand === null || comparand === undefined || element === null) return null
      if (isLongValue) evaluation.work.spend(valueSteps(element))
      return equals(element, comparand)
    },
    comparand: value,
  }
}
