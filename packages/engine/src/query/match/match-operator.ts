/**
 * The interface of a MATCH operator: it is planned with the patterns, ordered by the search, shown by EXPLAIN, and run
 * on rows as they arrive.
 */
import type { Evaluate, EvaluationContext } from '../evaluate/evaluation-context.ts'
import type { ObjectView } from '../evaluate/object-view.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import type { ExplainNode } from '../explain/explain-node.ts'
import type { MatchBatches } from './match-row.ts'

export interface MatchOperator {
  /** `input`: what comes out of the operators before this one. Nothing is read before somebody takes rows. */
  run(input: MatchPipeline, flow: MatchFlow): MatchPipeline
  /**
   * The same for a row whose slots are written in place, where that can be done: as the first operator, and behind others. `node`: of the operator, counts.
   * See `paths-in-place.ts`.
   */
  first?(flow: MatchFlow, node: ExplainNode): FirstVertex | undefined
  next?(flow: MatchFlow, node: ExplainNode): NextVertex | undefined
}

/** A vertex of a row in place. */
export interface InPlaceVertex {
  readonly slot: number
  /** What is asked of the row once the vertex has its object. */
  readonly asked: readonly Evaluate[]
}

export interface FirstVertex extends InPlaceVertex {
  objects(): AsyncIterable<readonly ObjectView[]>
}

/** Others are to have their turn before it is asked again. */
export const pause: unique symbol = Symbol('pause')

export interface NextVertex extends InPlaceVertex {
  /** For the objects that the row has by now. */
  begin(slots: readonly unknown[]): void
  /** The next object; undefined where there are no more. Its bytes are its own. */
  next(): ObjectView | undefined | typeof pause
}

/** Rows, and the operator from which they come; undefined before the first. */
export interface MatchPipeline {
  readonly rows: MatchBatches
  readonly operator: ExplainNode | undefined
}

/** What operators evaluate the rows with. */
export interface MatchFlow {
  readonly evaluation: EvaluationContext
  readonly context: StatementContext
}

/** The operators from which the rows of one come, for EXPLAIN. */
export function inputsOf(...operators: readonly (ExplainNode | undefined)[]): readonly ExplainNode[] {
  return operators.filter((operator) => operator !== undefined)
}
