/** Compiles loops over the elements of a collection, and defines the work steps of expressions. */

import type { Evaluate, EvaluationContext } from './evaluation-context.ts'
import { elementBytes, valueBytes } from './value-bytes.ts'

/** Work steps to process a text. */
export function textSteps(characters: number): number {
  return characters >> 2
}
const elementSteps = 16

/** Work steps to read, compare or pass on a value. */
export function valueSteps(value: unknown): number {
  if (typeof value === 'string') return textSteps(value.length)
  return typeof value === 'object' && value !== null ? valueBytes(value) / elementBytes : 0
}

export interface Loop<S> {
  /** The elements, and the initial state; null makes the result null. */
  start(evaluation: EvaluationContext): { readonly elements: readonly unknown[]; readonly state: S } | null
  /** Returns true if no further element can change the result. */
  step(evaluation: EvaluationContext, state: S, element: unknown): boolean
  end(evaluation: EvaluationContext, state: S): unknown
}

export function compileLoop<S>({ start, step, end }: Loop<S>): Evaluate {
  return (evaluation) => {
    const started = start(evaluation)
    if (started === null) return null
    const { elements, state } = started
    for (let at = 0; at < elements.length; at++) {
      evaluation.work.spend(elementSteps)
      if (step(evaluation, state, elements[at])) break
    }
    return end(evaluation, state)
  }
}
