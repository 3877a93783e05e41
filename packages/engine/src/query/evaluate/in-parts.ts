/** Expressions that may take long: they are done in parts, between which others have their turn. */

import { type Kept, LongWork, turnDue, type Work } from '../functions/work.ts'
import type { Evaluate, EvaluationContext } from './evaluation-context.ts'
import { elementBytes, valueBytes } from './value-bytes.ts'

/** Gives out the places under which results are kept; see `Work`. */
export interface Places {
  places: number
}

/** Of a text that is worked on or looked at. */
export function textSteps(characters: number): number {
  return characters >> 2
}
const elementSteps = 16

/** Of a value that is read, compared or passed on. */
export function valueSteps(value: unknown): number {
  if (typeof value === 'string') return textSteps(value.length)
  return typeof value === 'object' && value !== null ? valueBytes(value) / elementBytes : 0
}

/** Work that was begun under a place. */
interface Begun extends Kept {
  readonly job: LongWork
}

/** An expression that says what it spends, or gives work that is done a piece at a time; its result is kept when that was much. */
export function inParts(places: Places, evaluate: Evaluate): Evaluate {
  const place = places.places++
  return (evaluation) => {
    const { work } = evaluation
    let value: unknown
    if (work.isInterrupted) {
      const kept = work.of(place)
      if (kept !== undefined && !('job' in kept)) return kept.value
      value = kept === undefined ? evaluate(evaluation) : (kept as Begun).job
    } else value = evaluate(evaluation)
    if (value instanceof LongWork) value = goOnWith(value, work, place)
    if (!work.isDue && !work.isInterrupted) return value
    work.keep(place, { value })
    if (work.isDue) throw turnDue
    return value
  }
}

function goOnWith(job: LongWork, work: Work, place: number): unknown {
  for (;;) {
    const end = job.next(work)
    if (end !== undefined) return end.value
    // Afterwards, so that each part comes further by one piece at least.
    if (!work.isDue) continue
    const begun: Begun = { value: undefined, job }
    work.keep(place, begun)
    throw turnDue
  }
}

export interface Loop<S> {
  /** What is gone through, and what it comes to so far; null = the loop gives null. */
  start(evaluation: EvaluationContext): { readonly elements: readonly unknown[]; readonly state: S } | null
  /** True = no further element changes the result. */
  step(evaluation: EvaluationContext, state: S, element: unknown): boolean
  end(evaluation: EvaluationContext, state: S): unknown
}

interface Progress<S> extends Kept {
  readonly elements: readonly unknown[]
  readonly state: S
  readonly next: number
}

/** `inner`: makes what is evaluated for each element. */
export function compileLoop<S, I>(places: Places, inner: () => I, loopOf: (inner: I) => Loop<S>): Evaluate {
  const first = places.places
  const { start, step, end } = loopOf(inner())
  const place = places.places++
  const goThrough = (evaluation: EvaluationContext, elements: readonly unknown[], state: S, from: number): unknown => {
    const { work } = evaluation
    let at = from
    try {
      while (at < elements.length) {
        work.spend(elementSteps)
        const isDecided = step(evaluation, state, elements[at])
        at = isDecided ? elements.length : at + 1
        if (work.isInterrupted) work.forget(first, place)
        // Afterwards, so that each part comes further by one element at least.
        if (work.isDue) throw turnDue
      }
    } catch (error) {
      const progress: Progress<S> = { value: undefined, elements, state, next: at }
      if (error === turnDue) work.keep(place, progress)
      throw error
    }
    const value = end(evaluation, state)
    if (work.isInterrupted) work.keep(place, { value })
    return value
  }
  return (evaluation) => {
    const kept = evaluation.work.isInterrupted ? evaluation.work.of(place) : undefined
    if (kept === undefined) {
      const started = start(evaluation)
      return started === null ? null : goThrough(evaluation, started.elements, started.state, 0)
    }
    if (!('next' in kept)) return kept.value
    const { elements, state, next } = kept as Progress<S>
    return goThrough(evaluation, elements, state, next)
  }
}
