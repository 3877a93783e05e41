/** MATCH … RETURN: as JSON text for a reply, or as values for a statement around it. */

import type { EvaluationContext } from '../evaluate/evaluation-context.ts'
import { type Inputs, newEvaluationContext } from '../execute/new-evaluation-context.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import { writeRows } from '../execute/write-rows.ts'
import { type MatchRow, matchRowKind } from '../match/match-row.ts'
import { matchRows } from '../match/match-rows.ts'
import type { MatchPlan } from '../match/plan-match.ts'
import { runClauses } from '../operators/clauses.ts'
import { projectionWriter, rowValues } from '../operators/project.ts'
import type { Pipeline } from '../operators/row-operator.ts'
import type { RowChunk } from '../query-request.ts'

async function startMatch(
  plan: MatchPlan,
  inputs: Inputs,
  context: StatementContext,
): Promise<{ readonly run: EvaluationContext; readonly pipeline: Pipeline<MatchRow> }> {
  const run = newEvaluationContext(plan.slots, plan.constants, inputs, context)
  const { rows, operator } = await matchRows(plan, run, context)
  const source = { rows, operator, isOrdered: false }
  return { run, pipeline: await runClauses(source, plan.clauses, matchRowKind, run, context) }
}

export async function* matchChunks(
  plan: MatchPlan,
  inputs: Inputs,
  context: StatementContext,
): AsyncGenerator<RowChunk> {
  const { run, pipeline } = await startMatch(plan, inputs, context)
  const write = projectionWriter(plan.clauses.projections ?? [], matchRowKind, run, context)
  yield* writeRows(pipeline.rows, write, context)
}

/** One value a row, or the values of a record's fields. */
export async function matchValues(plan: MatchPlan, inputs: Inputs, context: StatementContext): Promise<unknown[]> {
  const { run, pipeline } = await startMatch(plan, inputs, context)
  return rowValues(pipeline, plan.clauses.projections ?? [], () => null, matchRowKind, run, context)
}

/** For the plan of a statement that is not carried out. */
export async function planMatchRun(plan: MatchPlan, inputs: Inputs, context: StatementContext): Promise<void> {
  await startMatch(plan, inputs, context)
}
