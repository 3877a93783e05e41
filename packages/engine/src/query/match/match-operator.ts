/** The interface of a MATCH operator: planned with the patterns, ordered by the search, shown by EXPLAIN, and run on streamed rows. */
import type { Evaluate, EvaluationContext } from '../evaluate/evaluation-context.ts'
import type { ObjectView } from '../evaluate/object-view.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import type { ExplainNode } from '../explain/explain-node.ts'
import type { MatchBatches } from './match-row.ts'

export interface MatchOperator {
  /** `input` is the output of the previous operators. Nothing is read before rows are requested. */
  run(input: MatchPipeline, flow: MatchFlow): MatchPipeline
  /** Runs on a row whose slots are written in place, if possible, as the first operator or after it; `node` counts. See `paths-in-place.ts`. */
  first?(flow: MatchFlow, node: ExplainNode): FirstVertex | undefined
  next?(flow: MatchFlow, node: ExplainNode): NextVertex | undefined
}

export interface InPlaceVertex {
  readonly slot: number
  /** Conditions on the row once the vertex is bound. */
  readonly conditions: readonly Evaluate[]
}

export interface FirstVertex extends InPlaceVertex {
  objects(): AsyncIterable<readonly ObjectView[]>
}

/** Returned if the event loop must be yielded to before the next call. */
export const yieldBeforeNext: unique symbol = Symbol('pause')

export interface NextVertex extends InPlaceVertex {
  /** Starts for the objects bound so far. */
  begin(slots: readonly unknown[]): void
  /** Returns the next object, which owns its bytes; undefined at the end. */
  next(): ObjectView | undefined | typeof yieldBeforeNext
}

export interface MatchPipeline {
  readonly rows: MatchBatches
  readonly operator: ExplainNode | undefined
}

export interface MatchFlow {
  readonly evaluation: EvaluationContext
  readonly context: StatementContext
}

/** The operators from which the rows of another one come, for EXPLAIN. */
export function inputsOf(...operators: readonly (ExplainNode | undefined)[]): readonly ExplainNode[] {
  return operators.filter((operator) => operator !== undefined)
}
