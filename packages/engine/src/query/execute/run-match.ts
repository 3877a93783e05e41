/** MATCH … RETURN: as JSON text for a reply, or as values for a statement around it. */

import type { Run } from '../evaluate/run.ts'
import type { MatchPlan } from '../plan/plan-match.ts'
import { evaluateRows } from './evaluate-rows.ts'
import { enterOutput } from './group-rows.ts'
import { type MatchRow, matchRowKind } from './match-row.ts'
import { matchRows } from './match-rows.ts'
import { type Pipeline, runClauses } from './row-pipeline.ts'
import { held, type Inputs, newRun, returned } from './run-select.ts'
import type { StatementContext } from './statement-context.ts'
import { projectionWriter, writeRows } from './write-rows.ts'

async function startMatch(
  plan: MatchPlan,
  inputs: Inputs,
  context: StatementContext,
): Promise<{ readonly run: Run; readonly pipeline: Pipeline<MatchRow> }> {
  const run = newRun(plan.slots, plan.constants, inputs, context)
  const { rows, operator } = await matchRows(plan, run, context)
  const pipeline = await runClauses({ rows, operator, isOrdered: false }, plan.clauses, matchRowKind, run, context)
  return { run, pipeline: returned(pipeline, plan.clauses, context) }
}

export async function* matchChunks(
  plan: MatchPlan,
  inputs: Inputs,
  context: StatementContext,
  separator: string,
): AsyncGenerator<Buffer> {
  const { run, pipeline } = await startMatch(plan, inputs, context)
  const write = projectionWriter(plan.clauses.projections ?? [], matchRowKind, run, context)
  yield* writeRows(pipeline.rows, write, separator, context)
}

/** One value a row, or the values of a record's fields. */
export async function matchValues(plan: MatchPlan, inputs: Inputs, context: StatementContext): Promise<unknown[]> {
  const { run, pipeline } = await startMatch(plan, inputs, context)
  const projections = plan.clauses.projections ?? []
  const values: unknown[] = []
  for await (const rows of pipeline.rows) {
    const batch = await evaluateRows(context, rows, (row) => {
      enterOutput(row, matchRowKind, run)
      const results = projections.map(({ evaluate }) => evaluate(run) ?? null)
      return held(results.length === 1 ? results[0] : results, run)
    })
    context.holdRows(batch.length)
    for (const value of batch) values.push(value)
  }
  return values
}

/** For the plan of a statement that is not carried out. */
export async function planMatchRun(plan: MatchPlan, inputs: Inputs, context: StatementContext): Promise<void> {
  await startMatch(plan, inputs, context)
}
