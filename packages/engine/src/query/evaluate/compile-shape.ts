/** Shapes: what is shown of an object or of the elements of a collection, as records (docs/query-language.md, Shapes). */
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

/** Null for null, and for a reference that dangles; of a collection, such elements are left out. */
export function compileShape(bound: Shape, compiler: ExpressionCompiler): Evaluate {
  const { type } = bound.object
  if (type.kind === 'map') return compileMapShape(bound, compiler)
  if (type.kind !== 'collection') return compileOneShape(bound, compiler)
  return bound.orderBy.length > 0 ? compileOrderedShape(bound, compiler) : compileListShape(bound, compiler)
}

/**
 * All values, in order. What one of them has to wait for does not keep the others from asking for theirs: the store answers all of them in
 * one trip. Throws `needsFetch`.
 */
export function evaluateAll(evaluates: readonly Evaluate[], evaluation: EvaluationContext): unknown[] {
  const values = new Array<unknown>(evaluates.length)
  let isMissing = false
  for (let i = 0; i < evaluates.length; i++) {
    try {
      values[i] = (evaluates[i] as Evaluate)(evaluation) ?? null
    } catch (error) {
      if (error !== needsFetch) throw error
      isMissing = true
    }
  }
  if (isMissing) throw needsFetch
  return values
}

/** What is shown of what is in the slot; charged until the row ends. */
function compileShown({ isWhole, fields, slot, object }: Shape, compiler: ExpressionCompiler): Evaluate {
  const evaluates = compiler.compileAll(fields.map(({ expression }) => expression))
  const isObject = isOfObjects(object)
  const whole: Evaluate = ({ slots }) => (isObject ? (slots[slot] as ObjectView).oid : slots[slot])
  const shown = isWhole ? [whole, ...evaluates] : evaluates
  if (isWhole && fields.length === 0) return whole
  return (evaluation) => {
    const values = evaluateAll(shown, evaluation)
    evaluation.memory.chargeRow(elementBytes + valueBytes(values))
    return values
  }
}

function isOfObjects({ type }: Bound): boolean {
  return isReference(isMany(type) ? type.element : type)
}

/** Fills the slot with an element; false where there is nothing to show. */
function compileFill({ object, slot }: Shape): (evaluation: EvaluationContext, element: unknown) => boolean {
  if (!isOfObjects(object)) {
    return ({ slots }, element) => {
      slots[slot] = element
      return element !== null && element !== undefined
    }
  }
  return ({ slots, reader }, element) => {
    if (isNothing(element)) return false
    const known = slots[slot] as ObjectView | undefined
    // Where a row goes on after it was broken off, the object is there still.
    const view = known !== undefined && known.oid === element ? known : reader.object(element as Oid)
    slots[slot] = view
    return view.format !== undefined
  }
}

function compileOneShape(bound: Shape, compiler: ExpressionCompiler): Evaluate {
  const { object, slot } = bound
  if (object.kind === 'self') {
    const shown = compileShown(bound, compiler)
    return (evaluation) => ((evaluation.slots[slot] as ObjectView | undefined)?.format ? shown(evaluation) : null)
  }
  if (isReference(object.type)) {
    const target = compileTarget(object, compiler)
    const shown = compileShown(bound, compiler)
    return (evaluation) => {
      const view = target(evaluation) as ObjectView | undefined
      if (view?.format === undefined) return null
      evaluation.slots[slot] = view
      return shown(evaluation)
    }
  }
  const value = compiler.compile(object)
  const fill = compileFill(bound)
  const shown = compileShown(bound, compiler)
  return (evaluation) => (fill(evaluation, value(evaluation)) ? shown(evaluation) : null)
}

interface Shown {
  readonly values: unknown[]
  toSkip: number
  toTake: number
  /** Something has to be waited for: all the other elements ask for what they need before. */
  isMissing: boolean
}

const endOfShown = (_evaluation: EvaluationContext, { values, isMissing }: Shown): unknown => {
  if (isMissing) throw needsFetch
  return values
}

/** Without an order of its own: in that of the collection. */
function compileListShape(bound: Shape, compiler: ExpressionCompiler): Evaluate {
  const { object } = bound
  const held = compiler.compile(object)
  const elements = slotElements(object.type)
  const fill = compileFill(bound)
  const limits = compileLimits(bound, compiler)
  const { isShown, shown } = { isShown: compileWhere(bound, compiler), shown: compileShown(bound, compiler) }
  return compileLoop<Shown>({
    start(evaluation) {
      const all = held(evaluation)
      if (all === null || all === undefined) return null
      return { elements: elements(evaluation, all), state: { values: [], ...limits(evaluation), isMissing: false } }
    },
    step: (evaluation, state, element) =>
      collecting(state, () => {
        if (state.toTake === 0) return true
        if (!fill(evaluation, element) || !isShown(evaluation)) return false
        if (state.toSkip > 0) state.toSkip--
        else {
          state.values.push(shown(evaluation))
          state.toTake--
        }
        return state.toTake === 0
      }),
    end: endOfShown,
  })
}

/** Goes on with the next element where something has to be waited for. */
function collecting(state: { isMissing: boolean }, step: () => boolean): boolean {
  try {
    return step()
  } catch (error) {
    if (error !== needsFetch) throw error
    state.isMissing = true
    return false
  }
}

interface Candidate {
  readonly key: Buffer
  /** What the slot is filled with. */
  readonly held: unknown
}

const candidateBytes = 150
/** Of a comparison of two keys. */
const comparisonSteps = 16

/** WHERE and the keys of all elements first; then only those that are taken are shown. */
function compileOrderedShape(bound: Shape, compiler: ExpressionCompiler): Evaluate {
  const { slot } = bound
  const candidates = compileCandidates(bound, compiler)
  const ordered: Evaluate = (evaluation) => {
    const all = candidates(evaluation) as readonly Candidate[] | null
    return all && [...all].sort((one, other) => compared(one, other, evaluation))
  }
  const limits = compileLimits(bound, compiler)
  const shown = compileShown(bound, compiler)
  return compileLoop<Shown>({
    start(evaluation) {
      const all = ordered(evaluation) as readonly Candidate[] | null
      if (all === null) return null
      const { toSkip, toTake } = limits(evaluation)
      return {
        elements: all.slice(toSkip, toSkip + toTake),
        state: { values: [], toSkip: 0, toTake, isMissing: false },
      }
    },
    step: (evaluation, state, element) =>
      collecting(state, () => {
        evaluation.slots[slot] = (element as Candidate).held
        state.values.push(shown(evaluation))
        return false
      }),
    end: endOfShown,
  })
}

function compileCandidates(bound: Shape, compiler: ExpressionCompiler): Evaluate {
  const { object, slot } = bound
  const held = compiler.compile(object)
  const elements = slotElements(object.type)
  const fill = compileFill(bound)
  const { isShown, order } = { isShown: compileWhere(bound, compiler), order: planOrder(bound.orderBy, compiler) }
  return compileLoop<Shown>({
    start(evaluation) {
      const all = held(evaluation)
      if (all === null || all === undefined) return null
      return { elements: elements(evaluation, all), state: { values: [], toSkip: 0, toTake: 0, isMissing: false } }
    },
    step: (evaluation, state, element) =>
      collecting(state, () => {
        if (!fill(evaluation, element) || !isShown(evaluation)) return false
        const key = sortKey(order, evaluation)
        const candidate: Candidate = { key, held: evaluation.slots[slot] }
        evaluation.memory.chargeRow(candidateBytes + key.length + heldBytes(candidate.held))
        state.values.push(candidate)
        return false
      }),
    end: endOfShown,
  })
}

function compared(one: Candidate, other: Candidate, { work }: EvaluationContext): number {
  work.spend(comparisonSteps)
  return Buffer.compare(one.key, other.key)
}

function heldBytes(held: unknown): number {
  return typeof held === 'object' && held !== null && 'record' in held ? (held as ObjectView).record.length : 0
}

function compileMapShape(bound: Shape, compiler: ExpressionCompiler): Evaluate {
  const held = compiler.compile(bound.object)
  const fill = compileFill(bound)
  const isObject = isOfObjects(bound.object)
  const shown = compileShown(bound, compiler)
  return compileLoop<Shown>({
    start(evaluation) {
      const pairs = held(evaluation) as readonly MapPair[] | null
      if (pairs === null) return null
      if (isObject) evaluation.reader.prefetch(pairs.map(({ value }) => value))
      return { elements: pairs, state: { values: [], toSkip: 0, toTake: 0, isMissing: false } }
    },
    step: (evaluation, state, element) =>
      collecting(state, () => {
        const { key, value } = element as MapPair
        evaluation.memory.chargeRow(elementBytes + valueBytes(key))
        state.values.push({ key, value: fill(evaluation, value) ? shown(evaluation) : null })
        return false
      }),
    end: endOfShown,
  })
}

function compileWhere({ where }: Shape, compiler: ExpressionCompiler): (evaluation: EvaluationContext) => boolean {
  if (where === undefined) return () => true
  const predicate = compiler.compile(where)
  return (evaluation) => predicate(evaluation) === true
}

/** The numbers of SKIP and TAKE. Throws QueryError for one below 0. */
function compileLimits(
  { skip, take }: Shape,
  compiler: ExpressionCompiler,
): (evaluation: EvaluationContext) => { readonly toSkip: number; readonly toTake: number } {
  const skipped = skip && countOf(skip, compiler)
  const taken = take && countOf(take, compiler)
  return (evaluation) => ({
    toSkip: skipped?.(evaluation) ?? 0,
    toTake: taken?.(evaluation) ?? Number.POSITIVE_INFINITY,
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
