/**
 * The interface of a MATCH operator: it is planned with the patterns, ordered by the search, shown by EXPLAIN, and run
 * on rows as they arrive.
 */
import type { EvaluationContext } from '../evaluate/evaluation-context.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import type { ExplainNode } from '../explain/explain-node.ts'
import type { MatchBatches } from './match-row.ts'

export interface MatchOperator {
  /** `input`: what comes out of the operators before this one. Nothing is read before somebody takes rows. */
  run(input: MatchPipeline, flow: MatchFlow): MatchPipeline
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
