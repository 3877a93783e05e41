/** FROM … RETURN and LOOKUP carried out: as JSON text for a reply, or as values for a statement around it. */

import { compareOids, type Oid } from '../../types/oid.ts'
import { chooseAccess } from '../access/choose-access.ts'
import { objectRows } from '../access/object-rows.ts'
import type { EvaluationContext } from '../evaluate/evaluation-context.ts'
import type { ObjectView } from '../evaluate/object-view.ts'
import { type Inputs, newEvaluationContext } from '../execute/new-evaluation-context.ts'
import { objectRowKind, type RowKind } from '../execute/row.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import { writeRows } from '../execute/write-rows.ts'
import { runClauses } from '../operators/clauses.ts'
import { objectWriter, returned, rowValues } from '../operators/project.ts'
import { rowsWanted } from '../operators/row-limits.ts'
import type { Pipeline } from '../operators/row-operator.ts'
import type { RowChunk } from '../query-request.ts'
import type { SelectPlan } from './plan-select.ts'

interface StartedSelect {
  readonly run: EvaluationContext
  readonly kind: RowKind<ObjectView>
  readonly pipeline: Pipeline<ObjectView>
}

async function startSelect(plan: SelectPlan, inputs: Inputs, context: StatementContext): Promise<StartedSelect> {
  const { objects, clauses } = plan
  const run = newEvaluationContext(plan.slots, plan.constants, inputs, context)
  const kind = objectRowKind(objects.filter.slot)
  const wanted = await rowsWanted(clauses.limits, run, context)
  const chosen = await chooseAccess(objects, run, context, wanted)
  if (chosen.access === objects.extent && clauses.countsOnly !== undefined && objects.filter.text === undefined) {
    const counted = objects.extent.count(objects.className, clauses.countsOnly, context)
    return { run, kind, pipeline: returned<ObjectView>(counted, clauses.projections, context) }
  }
  const source = objectRows(objects, chosen, run, context, wanted)
  const isOrdered = chosen.access === objects.ordered
  return { run, kind, pipeline: await runClauses({ ...source, isOrdered }, clauses, kind, run, context) }
}

/** For the plan of a statement that is not carried out. */
export async function planSelectRun(plan: SelectPlan, inputs: Inputs, context: StatementContext): Promise<void> {
  await startSelect(plan, inputs, context)
}

export async function* selectChunks(
  plan: SelectPlan,
  inputs: Inputs,
  context: StatementContext,
): AsyncGenerator<RowChunk> {
  const { run, kind, pipeline } = await startSelect(plan, inputs, context)
  yield* writeRows(pipeline.rows, objectWriter(plan.clauses.projections, kind, run, context), context)
}

/** The value of each row: a reference, a value, or the values of a record's fields. */
export async function selectValues(plan: SelectPlan, inputs: Inputs, context: StatementContext): Promise<unknown[]> {
  const { run, kind, pipeline } = await startSelect(plan, inputs, context)
  return rowValues(pipeline, plan.clauses.projections, (row) => row?.oid ?? null, kind, run, context)
}

/** LOOKUP: the match with the lowest OID, or null. */
export async function lookUp(plan: SelectPlan, inputs: Inputs, context: StatementContext): Promise<Oid | null> {
  const { pipeline } = await startSelect(plan, inputs, context)
  let lowest: Oid | null = null
  for await (const rows of pipeline.rows) {
    for (const { row } of rows) {
      if (row !== undefined && (lowest === null || compareOids(row.oid, lowest) < 0)) lowest = row.oid
    }
  }
  return lowest
}
