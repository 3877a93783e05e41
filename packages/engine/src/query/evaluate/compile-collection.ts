/** Compiles operators on lists, sets, maps and sequences (docs/query-language.md, Operators). */
import type { MapPair } from '../../types/map.ts'
import type { Bound } from '../bind/bound.ts'
import { queryError } from '../language/query-error.ts'
import { isNullOf } from '../values/compare.ts'
import { isLong } from '../values/type-rules.ts'
import { isMany, type ValueType } from '../values/value-type.ts'
import { accumulatorsOf } from './aggregate.ts'
import { compileLinkCount, compileLinkEnd, linkEndOfSlice } from './compile-links.ts'
import { compileLoop, valueSteps } from './compile-loop.ts'
import { elementsIn, slotElements, slotFiller } from './element-slot.ts'
import type { Evaluate, EvaluationContext } from './evaluation-context.ts'
import type { ExpressionCompiler } from './expression-compiler.ts'
import { elementBytes, valueBytes } from './value-bytes.ts'

type CollectionNode = Extract<
  Bound,
  { kind: 'each' | 'elementAt' | 'valueOfKey' | 'slice' | 'choose' | 'fold' | 'isEmpty' | 'elements' | 'pairs' }
>

export function compileCollection(bound: CollectionNode, compiler: ExpressionCompiler): Evaluate {
  switch (bound.kind) {
    case 'each':
      return compileEach(bound, compiler)
    case 'choose':
      return compileChoose(bound, compiler)
    case 'elementAt':
      return compileElementAt(bound, compiler)
    case 'slice':
      return compileSlice(bound, compiler)
    case 'valueOfKey': {
      const [map, key] = [compiler.compile(bound.map), compiler.compile(bound.key)]
      return (evaluation) => {
        const [pairs, searchKey] = [map(evaluation), key(evaluation)]
        if (pairs === null || searchKey === null) return null
        return (pairs as readonly MapPair[]).find((pair) => pair.key === searchKey)?.value ?? null
      }
    }
    case 'isEmpty': {
      const end = compileLinkEnd(bound.operand, compiler)
      if (end !== undefined) {
        return (evaluation) => {
          const list = end(evaluation, { isLast: false, max: 1 })
          return list && list.length === 0
        }
      }
      const operand = compiler.compile(bound.operand)
      return (evaluation) => {
        const list = operand(evaluation)
        return list === null ? null : (list as readonly unknown[]).length === 0
      }
    }
    case 'elements': {
      const elements = compiler.compileAll(bound.elements)
      const isSet = bound.type.kind === 'collection' && bound.type.form === 'set'
      return (evaluation) => {
        const values = elements.map((element) => charged(element(evaluation) ?? null, evaluation))
        return isSet ? [...new Set(values)] : values
      }
    }
    case 'pairs': {
      const pairs = bound.pairs.map(({ key, value }) => ({
        key: compiler.compile(key),
        value: compiler.compile(value),
      }))
      return (evaluation) => {
        return pairs.map(({ key, value }) => ({
          key: charged(key(evaluation), evaluation),
          value: charged(value(evaluation) ?? null, evaluation),
        }))
      }
    }
    case 'fold':
      return compileFold(bound, compiler)
  }
}

/** Charges a value that becomes part of another one. */
function charged(value: unknown, { memory }: EvaluationContext): unknown {
  memory.chargeRow(elementBytes + valueBytes(value))
  return value
}

function compileFold(bound: Extract<Bound, { kind: 'fold' }>, compiler: ExpressionCompiler): Evaluate {
  const count = bound.countsNulls ? compileLinkCount(bound.collection, compiler) : undefined
  if (count !== undefined) return (evaluation) => count(evaluation) ?? 0
  const collection = compiler.compile(bound.collection)
  const elements = elementsIn(bound.collection.type)
  const elementType = elementTypeOf(bound.collection.type)
  const { function: name } = bound
  const accumulator = accumulatorsOf(name, elementType, bound.isDistinct)
  if (bound.countsNulls) return (evaluation) => elements(collection(evaluation) ?? []).length
  const isRetained = bound.isDistinct || name === 'COLLECT' || name === 'MEDIAN' || name === 'PERCENTILE'
  const fraction = bound.fraction && compiler.compile(bound.fraction)
  return compileLoop({
    start: (evaluation) => ({ elements: elements(collection(evaluation) ?? []), state: accumulator() }),
    step(evaluation, accumulator, element) {
      if (isNullOf(elementType, element)) return false
      if (isRetained) charged(element, evaluation)
      else if (isLong(elementType)) evaluation.work.spend(valueSteps(element))
      if (!accumulator.add(element)) throw queryError(evaluation.text, bound, 'the sum is beyond what an integer holds')
      return false
    },
    end: (evaluation, accumulator) => accumulator.result(fraction?.(evaluation)),
  })
}

function elementTypeOf(type: ValueType): ValueType {
  return isMany(type) ? type.element : type
}

function compileEach(bound: Extract<Bound, { kind: 'each' }>, compiler: ExpressionCompiler): Evaluate {
  const flatten = isMany(bound.body.type) ? elementsIn(bound.body.type) : undefined
  return compileCollecting(bound, bound.body, compiler, (value, evaluation, values) => {
    if (flatten === undefined) values.push(charged(value, evaluation))
    else if (value !== null) {
      const inner = flatten(value)
      evaluation.memory.chargeRow(valueBytes(inner))
      evaluation.work.spend(inner.length)
      for (const one of inner) values.push(one)
    }
  })
}

function compileChoose(bound: Extract<Bound, { kind: 'choose' }>, compiler: ExpressionCompiler): Evaluate {
  return compileCollecting(bound, bound.predicate, compiler, (isChosen, evaluation, values, element) => {
    if (isChosen === true) values.push(charged(element, evaluation))
  })
}

/** Collects the values that `take` adds for the body's value of each element; null for a null collection. */
function compileCollecting(
  { collection, slot }: { readonly collection: Bound; readonly slot: number },
  body: Bound,
  compiler: ExpressionCompiler,
  take: (value: unknown, evaluation: EvaluationContext, values: unknown[], element: unknown) => void,
): Evaluate {
  const evaluateCollection = compiler.compile(collection)
  const fill = slotFiller(collection.type, slot)
  const elements = slotElements(collection.type)
  const evaluate = compiler.compile(body)
  return compileLoop({
    start(evaluation) {
      const all = evaluateCollection(evaluation)
      if (all === null || all === undefined) return null
      const values: unknown[] = []
      return { elements: elements(evaluation, all), state: values }
    },
    step(evaluation, values, element) {
      fill(evaluation, element)
      take(evaluate(evaluation) ?? null, evaluation, values, element)
      return false
    },
    end: (_evaluation, values) => values,
  })
}

/** The index is zero-based, counts from the end if negative, and gives null outside. */
function compileElementAt(bound: Extract<Bound, { kind: 'elementAt' }>, compiler: ExpressionCompiler): Evaluate {
  const end = compileLinkEnd(bound.collection, compiler)
  const [collection, index] = [compiler.compile(bound.collection), compiler.compile(bound.index)]
  if (end !== undefined) {
    return (evaluation) => {
      const value = index(evaluation)
      if (value === null) return null
      const at = Number(value)
      return end(evaluation, at < 0 ? { isLast: true, max: -at } : { isLast: false, max: at + 1 })?.at(at) ?? null
    }
  }
  return (evaluation) => {
    const [list, at] = [collection(evaluation), index(evaluation)]
    if (list === null || at === null) return null
    return (list as readonly unknown[]).at(Number(at)) ?? null
  }
}

/** Half-open; bounds outside the collection are clamped as by Array.slice. */
function compileSlice(bound: Extract<Bound, { kind: 'slice' }>, compiler: ExpressionCompiler): Evaluate {
  const collection = compiler.compile(bound.collection)
  const from = bound.from === undefined ? undefined : compiler.compile(bound.from)
  const to = bound.to === undefined ? undefined : compiler.compile(bound.to)
  const linksAt = compileLinkEnd(bound.collection, compiler)
  return (evaluation) => {
    const bounds = [from?.(evaluation), to?.(evaluation)]
    if (bounds.includes(null)) return null
    const [first, last] = bounds.map((value) => (value === undefined ? undefined : Number(value)))
    const end = linksAt && linkEndOfSlice(first, last)
    const list = end === undefined ? collection(evaluation) : linksAt?.(evaluation, end)
    if (list === null) return null
    const values = (list as readonly unknown[]).slice(first, last)
    evaluation.memory.chargeRow(valueBytes(values))
    return values
  }
}
