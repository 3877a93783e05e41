/** MATCH … RETURN: the matches of its patterns, which operators their rows pass, and the rows as JSON text or as values. */
import { bindMatch } from '../bind/bind-match.ts'
import type { EvaluationContext } from '../evaluate/evaluation-context.ts'
import { type Inputs, newEvaluationContext } from '../execute/new-evaluation-context.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import { writeRows } from '../execute/write-rows.ts'
import type { MatchStatement } from '../language/ast.ts'
import { type MatchRow, matchRowKind } from '../match/match-row.ts'
import { matchRows } from '../match/match-rows.ts'
import { type MatchPlan, planMatch } from '../match/plan-match.ts'
import { runClauses } from '../operators/clauses.ts'
import { collectedValues } from '../operators/held-values.ts'
import { projectionWriter, rowValues } from '../operators/project.ts'
import type { Pipeline } from '../operators/row-operator.ts'
import type { Planned } from '../plan-cache.ts'
import type { RowChunk } from '../query-request.ts'
import type { TypedValue } from '../values/parameter-value.ts'
import { hasRows, rowsType, rowsValue, typeWithin } from './answer.ts'
import type { RowAccess, StatementKind } from './statement-kind.ts'

export const match: StatementKind<MatchStatement> = {
  effect: 'read',

  async run(statement, executor) {
    const planned = planOf(statement, executor)
    const context = executor.context()
    const inputs = await executor.inputs(planned)
    return matchChunks(planned.plan, inputs, context)
  },

  value: matchValue,

  async rows(statement, executor) {
    const planned = planOf(statement, executor)
    const context = executor.context()
    const batches = await matchValues(planned.plan, await executor.inputs(planned), context)
    return { type: rowsType(planned.plan), isSingle: planned.plan.isSingle, batches, context }
  },

  perRow: {
    value: async (statement, access) => (await matchValue(statement, access)).value,
    async hasRow(statement, access) {
      const planned = planOf(statement, access)
      const { pipeline } = await startMatch(planned.plan, await access.inputs(planned), access.context())
      return hasRows(pipeline)
    },
  },

  valueType: (statement, binder, walkEdgesMax) => typeWithin(bindMatch(statement, binder, walkEdgesMax), binder),

  async explain(statement, explainer) {
    const planned = planOf(statement, explainer)
    await startMatch(planned.plan, await explainer.inputs(planned), explainer.context())
    return rowsType(planned.plan)
  },
}

function planOf(statement: MatchStatement, executor: Pick<RowAccess, 'plans' | 'planning'>): Planned<MatchPlan> {
  const context = executor.planning()
  return executor.plans.planned(statement, context, (binder) => {
    const bound = bindMatch(statement, binder, context.walkEdgesMax)
    return planMatch(bound, binder.slots, context.formats, context.text)
  })
}

async function startMatch(
  plan: MatchPlan,
  inputs: Inputs,
  context: StatementContext,
): Promise<{ readonly evaluation: EvaluationContext; readonly pipeline: Pipeline<MatchRow> }> {
  const evaluation = newEvaluationContext(plan.slots, plan.constants, inputs, context)
  const source = { ...(await matchRows(plan, { evaluation, context })), isOrdered: false }
  return { evaluation, pipeline: await runClauses(source, plan.clauses, matchRowKind, evaluation, context) }
}

async function* matchChunks(plan: MatchPlan, inputs: Inputs, context: StatementContext): AsyncGenerator<RowChunk> {
  const { evaluation, pipeline } = await startMatch(plan, inputs, context)
  const write = projectionWriter(plan.clauses.projections ?? [], matchRowKind, evaluation, context)
  yield* writeRows(pipeline.rows, write, context)
}

async function matchValue(statement: MatchStatement, access: RowAccess): Promise<TypedValue> {
  const planned = planOf(statement, access)
  const context = access.context()
  const values = await matchValues(planned.plan, await access.inputs(planned), context)
  return rowsValue(planned.plan, await collectedValues(values, context))
}

/** One value a row, or the values of a record's fields. */
async function matchValues(
  plan: MatchPlan,
  inputs: Inputs,
  context: StatementContext,
): Promise<AsyncGenerator<readonly unknown[]>> {
  const { evaluation, pipeline } = await startMatch(plan, inputs, context)
  return rowValues(pipeline, plan.clauses.projections ?? [], () => null, matchRowKind, evaluation, context)
}
