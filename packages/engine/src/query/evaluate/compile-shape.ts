/** Compiles shapes: fields of an object, or of the elements of a collection, as records (docs/query-language.md, Shapes). */
import type { MapPair } from '../../types/map.ts'
import type { Oid } from '../../types/oid.ts'
import type { Bound } from '../bind/bound.ts'
import { queryError } from '../language/query-error.ts'
import { isNothing } from '../values/compare.ts'
import { isMany, isReference } from '../values/value-type.ts'
import { compileLoop } from './compile-loop.ts'
import { compileTarget } from './compile-target.ts'
import { slotElements } from './element-slot.ts'
import { type Evaluate, type EvaluationContext, needsFetch } from './evaluation-context.ts'
import type { ExpressionCompiler } from './expression-compiler.ts'
import type { ObjectView } from './object-view.ts'
import { planOrder, sortKey } from './sort-key.ts'
import { elementBytes, valueBytes } from './value-bytes.ts'

type Shape = Extract<Bound, { kind: 'shape' }>

/** Null for null and for dangling references; collections omit such elements. */
export function compileShape(bound: Shape, compiler: ExpressionCompiler): Evaluate {
  const { type } = bound.object
  if (type.kind === 'map') return compileMapShape(bound, compiler)
  if (type.kind !== 'collection') return compileOneShape(bound, compiler)
  return bound.orderBy.length > 0 ? compileOrderedShape(bound, compiler) : compileListShape(bound, compiler)
}

/** Evaluates all, in order, even if one throws `needsFetch`, so that all missing data is fetched in one round trip. Rethrows it. */
export function evaluateAll(evaluates: readonly Evaluate[], evaluation: EvaluationContext): unknown[] {
  const values = new Array<unknown>(evaluates.length)
  let needsRetry = false
  for (let i = 0; i < evaluates.length; i++) {
    try {
      values[i] = (evaluates[i] as Evaluate)(evaluation) ?? null
    } catch (error) {
      if (error !== needsFetch) throw error
      needsRetry = true
    }
  }
  if (needsRetry) throw needsFetch
  return values
}

/** Record of the fields of the slot's value; charged until the row ends. */
function compileFields({ hasWildcard, fields, slot, object }: Shape, compiler: ExpressionCompiler): Evaluate {
  const evaluates = compiler.compileAll(fields.map(({ expression }) => expression))
  const isObject = isReferenceValued(object)
  const evaluateElement: Evaluate = ({ slots }) => (isObject ? (slots[slot] as ObjectView).oid : slots[slot])
  if (hasWildcard && fields.length === 0) return evaluateElement
  if (hasWildcard) evaluates.unshift(evaluateElement)
  return (evaluation) => {
    const values = evaluateAll(evaluates, evaluation)
    evaluation.memory.chargeRow(elementBytes + valueBytes(values))
    return values
  }
}

function isReferenceValued({ type }: Bound): boolean {
  return isReference(isMany(type) ? type.element : type)
}

/** Fills the slot with an element; false where it is null or dangling. */
function compileFill({ object, slot }: Shape): (evaluation: EvaluationContext, element: unknown) => boolean {
  if (!isReferenceValued(object)) {
    return ({ slots }, element) => {
      slots[slot] = element
      return element !== null && element !== undefined
    }
  }
  return ({ slots, reader }, element) => {
    if (isNothing(element)) return false
    const previous = slots[slot] as ObjectView | undefined
    // When a row is evaluated again, the object is still in the slot.
    const view = previous !== undefined && previous.oid === element ? previous : reader.object(element as Oid)
    slots[slot] = view
    return view.format !== undefined
  }
}

function compileOneShape(bound: Shape, compiler: ExpressionCompiler): Evaluate {
  const { object, slot } = bound
  if (object.kind === 'self') {
    const evaluateRecord = compileFields(bound, compiler)
    return (evaluation) =>
      (evaluation.slots[slot] as ObjectView | undefined)?.format ? evaluateRecord(evaluation) : null
  }
  if (isReference(object.type)) {
    const target = compileTarget(object, compiler)
    const evaluateRecord = compileFields(bound, compiler)
    return (evaluation) => {
      const view = target(evaluation) as ObjectView | undefined
      if (view?.format === undefined) return null
      evaluation.slots[slot] = view
      return evaluateRecord(evaluation)
    }
  }
  const value = compiler.compile(object)
  const fill = compileFill(bound)
  const evaluateRecord = compileFields(bound, compiler)
  return (evaluation) => (fill(evaluation, value(evaluation)) ? evaluateRecord(evaluation) : null)
}

interface ShapeState {
  readonly values: unknown[]
  toSkip: number
  toTake: number
  /** An element threw `needsFetch`; the other elements are still evaluated to request their data. */
  needsRetry: boolean
}

const shapeResult = (_evaluation: EvaluationContext, { values, needsRetry }: ShapeState): unknown => {
  if (needsRetry) throw needsFetch
  return values
}

/** Elements in collection order. */
function compileListShape(bound: Shape, compiler: ExpressionCompiler): Evaluate {
  const { object } = bound
  const collection = compiler.compile(object)
  const elements = slotElements(object.type)
  const fill = compileFill(bound)
  const limits = compileLimits(bound, compiler)
  const qualifies = compileWhere(bound, compiler)
  const evaluateRecord = compileFields(bound, compiler)
  return compileLoop<ShapeState>({
    start(evaluation) {
      const all = collection(evaluation)
      if (all === null || all === undefined) return null
      return { elements: elements(evaluation, all), state: { values: [], ...limits(evaluation), needsRetry: false } }
    },
    step: (evaluation, state, element) =>
      continueOnMissing(state, () => {
        if (state.toTake === 0) return true
        if (!fill(evaluation, element) || !qualifies(evaluation)) return false
        if (state.toSkip > 0) state.toSkip--
        else {
          state.values.push(evaluateRecord(evaluation))
          state.toTake--
        }
        return state.toTake === 0
      }),
    end: shapeResult,
  })
}

/** Continues with the next element after `needsFetch`. */
function continueOnMissing(state: { needsRetry: boolean }, step: () => boolean): boolean {
  try {
    return step()
  } catch (error) {
    if (error !== needsFetch) throw error
    state.needsRetry = true
    return false
  }
}

interface Candidate {
  readonly key: Buffer
  /** Value that the slot is filled with. */
  readonly slotValue: unknown
}

const candidateBytes = 150
/** Work steps to compare two keys. */
const comparisonSteps = 16

/** Evaluates WHERE and the keys of all elements first, then the fields of returned elements. */
function compileOrderedShape(bound: Shape, compiler: ExpressionCompiler): Evaluate {
  const { slot } = bound
  const candidates = compileCandidates(bound, compiler)
  const ordered: Evaluate = (evaluation) => {
    const all = candidates(evaluation) as readonly Candidate[] | null
    return all && [...all].sort((one, other) => compareCandidates(one, other, evaluation))
  }
  const limits = compileLimits(bound, compiler)
  const evaluateRecord = compileFields(bound, compiler)
  return compileLoop<ShapeState>({
    start(evaluation) {
      const all = ordered(evaluation) as readonly Candidate[] | null
      if (all === null) return null
      const { toSkip, toTake } = limits(evaluation)
      return {
        elements: all.slice(toSkip, toSkip + toTake),
        state: { values: [], toSkip: 0, toTake, needsRetry: false },
      }
    },
    step: (evaluation, state, element) =>
      continueOnMissing(state, () => {
        evaluation.slots[slot] = (element as Candidate).slotValue
        state.values.push(evaluateRecord(evaluation))
        return false
      }),
    end: shapeResult,
  })
}

function compileCandidates(bound: Shape, compiler: ExpressionCompiler): Evaluate {
  const { object, slot } = bound
  const collection = compiler.compile(object)
  const elements = slotElements(object.type)
  const fill = compileFill(bound)
  const qualifies = compileWhere(bound, compiler)
  const order = planOrder(bound.orderBy, compiler)
  return compileLoop<ShapeState>({
    start(evaluation) {
      const all = collection(evaluation)
      if (all === null || all === undefined) return null
      return { elements: elements(evaluation, all), state: { values: [], toSkip: 0, toTake: 0, needsRetry: false } }
    },
    step: (evaluation, state, element) =>
      continueOnMissing(state, () => {
        if (!fill(evaluation, element) || !qualifies(evaluation)) return false
        const key = sortKey(order, evaluation)
        const candidate: Candidate = { key, slotValue: evaluation.slots[slot] }
        evaluation.memory.chargeRow(candidateBytes + key.length + slotBytes(candidate.slotValue))
        state.values.push(candidate)
        return false
      }),
    end: shapeResult,
  })
}

function compareCandidates(one: Candidate, other: Candidate, { work }: EvaluationContext): number {
  work.spend(comparisonSteps)
  return Buffer.compare(one.key, other.key)
}

function slotBytes(slotValue: unknown): number {
  return typeof slotValue === 'object' && slotValue !== null && 'record' in slotValue
    ? (slotValue as ObjectView).record.length
    : 0
}

function compileMapShape(bound: Shape, compiler: ExpressionCompiler): Evaluate {
  const collection = compiler.compile(bound.object)
  const fill = compileFill(bound)
  const isObject = isReferenceValued(bound.object)
  const evaluateRecord = compileFields(bound, compiler)
  return compileLoop<ShapeState>({
    start(evaluation) {
      const pairs = collection(evaluation) as readonly MapPair[] | null
      if (pairs === null) return null
      if (isObject) evaluation.reader.prefetch(pairs.map(({ value }) => value))
      return { elements: pairs, state: { values: [], toSkip: 0, toTake: 0, needsRetry: false } }
    },
    step: (evaluation, state, element) =>
      continueOnMissing(state, () => {
        const { key, value } = element as MapPair
        evaluation.memory.chargeRow(elementBytes + valueBytes(key))
        state.values.push({ key, value: fill(evaluation, value) ? evaluateRecord(evaluation) : null })
        return false
      }),
    end: shapeResult,
  })
}

function compileWhere({ where }: Shape, compiler: ExpressionCompiler): (evaluation: EvaluationContext) => boolean {
  if (where === undefined) return () => true
  const predicate = compiler.compile(where)
  return (evaluation) => predicate(evaluation) === true
}

/** Values of SKIP and TAKE. Throws QueryError for negative ones. */
function compileLimits(
  { skip, take }: Shape,
  compiler: ExpressionCompiler,
): (evaluation: EvaluationContext) => { readonly toSkip: number; readonly toTake: number } {
  const skipCount = skip && countOf(skip, compiler)
  const takeCount = take && countOf(take, compiler)
  return (evaluation) => ({
    toSkip: skipCount?.(evaluation) ?? 0,
    toTake: takeCount?.(evaluation) ?? Number.POSITIVE_INFINITY,
  })
}

function countOf(limit: Bound, compiler: ExpressionCompiler): (evaluation: EvaluationContext) => number {
  const count = compiler.compile(limit)
  return (evaluation) => {
    const value = count(evaluation)
    if (value !== null && Number(value) >= 0) return Number(value)
    throw queryError(evaluation.text, limit, `a number of elements is 0 or more, not ${value}`)
  }
}
