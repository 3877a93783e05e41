/** Comparisons, logic, patterns and quantifiers: true, false or null (DO, section 4, Operators). */
import { AshlarError } from '../../errors.ts'
import { matchedCharactersMax } from '../../limits.ts'
import type { Bound } from '../bind/bound.ts'
import { isConstant } from '../bind/bound.ts'
import type { Evaluate, Run } from '../execute/run.ts'
import { elementBytes, valueBytes } from '../execute/value-bytes.ts'
import { compileRegularExpression, type RegularExpression } from '../functions/regular-expression.ts'
import { placed, queryError } from '../query-error.ts'
import { isText, type ValueType } from '../values/value-type.ts'
import type { Compiler } from './compile-expression.ts'
import { elementsIn, slotElements, slotFiller } from './element-slot.ts'
import { compileLoop, inParts, type Places, textSteps } from './in-parts.ts'

type Node<K extends Bound['kind']> = Extract<Bound, { kind: K }>

export function compileComparison(
  { operator, equals, compare, left: { type: one }, right: { type: other } }: Node<'compare'>,
  left: Evaluate,
  right: Evaluate,
  places: Places,
): Evaluate {
  const test = testOf(operator, equals, compare)
  if (isLong(one) && isLong(other)) return inParts(places, compileLongComparison(left, right, test))
  return (run) => {
    const one = left(run)
    if (one === null || one === undefined) return null
    const other = right(run)
    return other === null || other === undefined ? null : test(one, other)
  }
}

/** Texts and collections. */
function isLong(type: ValueType): boolean {
  return type.kind === 'collection' || type.kind === 'embedded' || isText(type)
}

function compileLongComparison(left: Evaluate, right: Evaluate, test: Test): Evaluate {
  return (run) => {
    const one = left(run)
    if (one === null || one === undefined) return null
    const other = right(run)
    if (other === null || other === undefined) return null
    if (typeof one === 'string') run.work.spend(textSteps(one.length))
    else run.work.spend(valueBytes(one) / elementBytes)
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

export function compileLogical(operator: 'and' | 'or' | 'xor' | 'not', operands: readonly Evaluate[]): Evaluate {
  const [first, second] = operands as [Evaluate, Evaluate]
  switch (operator) {
    case 'not':
      return (run) => {
        const value = first(run)
        return value === null || value === undefined ? null : value !== true
      }
    case 'xor':
      return (run) => {
        const [one, other] = [first(run), second(run)]
        return one === null || other === null ? null : one !== other
      }
    case 'and':
      return compileJunction(operands, false)
    case 'or':
      return compileJunction(operands, true)
  }
}

/** `decisive` ends it: false for AND, true for OR; else null where one is null. */
function compileJunction(operands: readonly Evaluate[], decisive: boolean): Evaluate {
  return (run) => {
    let isUnknown = false
    for (const operand of operands) {
      const value = operand(run)
      if (value === decisive) return decisive
      if (value === null || value === undefined) isUnknown = true
    }
    return isUnknown ? null : !decisive
  }
}

/** Patterns that differ from row to row are compiled once each, up to so many. */
const patternsKeptMax = 100

export function compileMatches(bound: Node<'matches'>, text: Evaluate, pattern: Evaluate): Evaluate {
  const known = new Map<string, RegularExpression>()
  const expressionOf = (run: Run, source: string): RegularExpression => {
    const found = known.get(source)
    if (found !== undefined) return found
    const compiled = compileRegularExpression(source, bound.isIgnoringCase)
    if (typeof compiled === 'string') throw badPattern(run, bound, compiled)
    if (known.size >= patternsKeptMax) known.clear()
    known.set(source, compiled)
    return compiled
  }
  return (run) => {
    const [whole, source] = [text(run), pattern(run)]
    if (source === null) return null
    const expression = expressionOf(run, source as string)
    if (whole === null) return null
    const { length } = whole as string
    if (length > matchedCharactersMax) throw tooLongToMatch(length, run, bound)
    run.work.spend(length * matchSteps)
    return expression.isIn(whole as string) !== bound.isNegated
  }
}

const matchSteps = 4

function tooLongToMatch(characters: number, run: Run, bound: Node<'matches'>): unknown {
  const message = `A regular expression looks at texts of at most ${matchedCharactersMax} characters (matchedCharactersMax), not ${characters}.`
  return placed(run.text, bound, new AshlarError('LimitExceeded', message))
}

function badPattern(run: Run, bound: Node<'matches'>, message: string): AshlarError {
  return queryError(run.text, bound.pattern, `not a regular expression: ${message}`)
}

/** ANY: one true decides. ALL: one false decides. OF: so many true ones decide. Else null where one is null. */
export function compileQuantifier(bound: Node<'quantifier'>, compiler: Compiler): Evaluate {
  const collection = compiler.compile(bound.collection)
  const count = bound.count === undefined ? undefined : compiler.compile(bound.count)
  const elements = bound.test.kind === 'predicate' ? slotElements(bound.collection.type) : undefined
  const plainElements = elementsIn(bound.collection.type)
  const { mode } = bound
  const isSet = bound.test.kind === 'equal' && mode === 'any' && isConstant(bound.collection)
  const asSet = isSet ? membership(collection, plainElements) : undefined
  return compileLoop<Tally, ElementTest>(
    compiler,
    () => compileElementTest(bound, compiler),
    (testElement) => ({
      start(run) {
        const held = collection(run)
        if (held === null || held === undefined) return null
        const isDecided = asSet?.isOutside(run, testElement.wanted?.(run)) === true
        const wanted = count === undefined ? undefined : count(run)
        if (count !== undefined && (wanted === null || wanted === undefined)) return null
        const all = isDecided ? none : (elements?.(run, held) ?? plainElements(held))
        return {
          elements: all,
          state: { found: 0, unknown: 0, wanted: Number(wanted), decided: isDecided ? false : undefined },
        }
      },
      step(run, tally, element) {
        const result = testElement.test(run, element)
        if (result === null || result === undefined) tally.unknown++
        else if (result === true) {
          tally.found++
          if (mode === 'any') tally.decided = true
        } else if (mode === 'all') tally.decided = false
        return tally.decided !== undefined
      },
      end(_run, { found, unknown, wanted, decided }) {
        if (decided !== undefined) return decided
        if (mode === 'atLeast') return found >= wanted ? true : found + unknown >= wanted ? null : false
        return unknown > 0 ? null : mode === 'all'
      },
    }),
  )
}

const none: readonly unknown[] = []

interface Tally {
  found: number
  unknown: number
  readonly wanted: number
  decided: boolean | undefined
}

interface ElementTest {
  test(run: Run, element: unknown): unknown
  /** The value that elements are compared with. */
  wanted?(run: Run): unknown
}

function compileElementTest(bound: Node<'quantifier'>, compiler: Compiler): ElementTest {
  const { test, collection } = bound
  if (test.kind === 'predicate') {
    const fill = slotFiller(collection.type, test.slot)
    const predicate = compiler.compile(test.predicate)
    return {
      test(run, element) {
        fill(run, element)
        return predicate(run)
      },
    }
  }
  const value = compiler.compile(test.value)
  const { equals } = test
  return {
    test(run, element) {
      const wanted = value(run)
      return element === null || wanted === null ? null : equals(element, wanted)
    },
    wanted: value,
  }
}

/** Long lists of plain values that are the same for all rows: whether a value is among them, without going through them. */
const membersMin = 8

function membership(
  collection: Evaluate,
  elements: (held: unknown) => readonly unknown[],
): { isOutside(run: Run, value: unknown): boolean } {
  const sets = new WeakMap<object, ReadonlySet<unknown> | undefined>()
  const setOf = (run: Run): ReadonlySet<unknown> | undefined => {
    const held = collection(run) as object
    if (!sets.has(held)) {
      const all = elements(held)
      run.memory.hold(all.length * elementBytes)
      sets.set(held, makeSet(all))
    }
    return sets.get(held)
  }
  return {
    isOutside(run, value) {
      if (typeof value !== 'string' && typeof value !== 'number') return false
      const set = setOf(run)
      return set !== undefined && !set.has(value)
    },
  }
}

/** Undefined where the elements are few, or such that equal ones are not identical. */
function makeSet(elements: readonly unknown[]): ReadonlySet<unknown> | undefined {
  const [first] = elements
  const isPlain = typeof first === 'string' || typeof first === 'number'
  if (elements.length < membersMin || !isPlain) return undefined
  return elements.every((element) => typeof element === typeof first) ? new Set(elements) : undefined
}
