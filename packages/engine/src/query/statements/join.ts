/** Execution of FROM with several sources or sources of values, and of MATCH: the rows as JSON text or as values. */

import type { EvaluationContext } from '../evaluate/evaluation-context.ts'
import { type Inputs, newEvaluationContext } from '../execute/new-evaluation-context.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import { writeRows } from '../execute/write-rows.ts'
import { joinRows } from '../match/join-order.ts'
import { type MatchRow, matchRowKind } from '../match/match-row.ts'
import { matchRows } from '../match/match-rows.ts'
import type { JoinPlan } from '../match/plan-join.ts'
import type { MatchPlan } from '../match/plan-match.ts'
import { runClauses } from '../operators/clauses.ts'
import { projectionWriter, rowValues } from '../operators/project.ts'
import type { Pipeline } from '../operators/row-operator.ts'
import type { RowChunk } from '../query-request.ts'

type JoinedPlan = JoinPlan | MatchPlan

interface StartedJoin {
  readonly evaluation: EvaluationContext
  readonly pipeline: Pipeline<MatchRow>
}

export async function startJoin(plan: JoinedPlan, inputs: Inputs, context: StatementContext): Promise<StartedJoin> {
  const evaluation = newEvaluationContext(plan.slots, plan.constants, inputs, context)
  const flow = { evaluation, context }
  const found = await ('sources' in plan ? joinRows(plan, flow) : matchRows(plan, flow))
  const source = { ...found, isOrdered: false }
  return { evaluation, pipeline: await runClauses(source, plan.clauses, matchRowKind, evaluation, context) }
}

export async function* joinChunks(
  plan: JoinedPlan,
  inputs: Inputs,
  context: StatementContext,
): AsyncGenerator<RowChunk> {
  try {
    const { evaluation, pipeline } = await startJoin(plan, inputs, context)
    const write = projectionWriter(plan.clauses.projections ?? [], matchRowKind, evaluation, context)
    yield* writeRows(pipeline.rows, write, context)
  } finally {
    await context.close()
  }
}

/** One value per row: the value of its only column, or the values of a record's fields. The caller closes `context`. */
export async function joinValues(
  plan: JoinedPlan,
  inputs: Inputs,
  context: StatementContext,
): Promise<AsyncGenerator<readonly unknown[]>> {
  const { evaluation, pipeline } = await startJoin(plan, inputs, context)
  return rowValues(pipeline, plan.clauses.projections ?? [], () => null, matchRowKind, evaluation, context)
}
