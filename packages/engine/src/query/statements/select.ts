/** FROM … RETURN: how the objects are found, which operators their rows pass, and the rows as JSON text or as values. */
import { chooseAccess } from '../access/choose-access.ts'
import { objectRows } from '../access/object-rows.ts'
import { planObjects, type SourcePlan } from '../access/source-plan.ts'
import { type BoundSelect, bindLookup, bindSelect } from '../bind/bind-select.ts'
import type { Binder } from '../bind/scope.ts'
import { Compiler } from '../evaluate/compile-expression.ts'
import type { EvaluationContext } from '../evaluate/evaluation-context.ts'
import type { ObjectView } from '../evaluate/object-view.ts'
import { type Inputs, newEvaluationContext } from '../execute/new-evaluation-context.ts'
import { objectRowKind, type RowKind } from '../execute/row.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import { writeRows } from '../execute/write-rows.ts'
import type { LookupStatement, SelectStatement } from '../language/ast.ts'
import { type ClausesPlan, planClauses, runClauses } from '../operators/clauses.ts'
import type { Planning } from '../operators/planning.ts'
import { objectWriter, returned, rowValues } from '../operators/project.ts'
import { rowsWanted } from '../operators/row-limits.ts'
import type { Pipeline } from '../operators/row-operator.ts'
import type { PlanCache, Planned, PlanningContext } from '../plan-cache.ts'
import type { RowChunk } from '../query-request.ts'
import type { ValueType } from '../values/value-type.ts'
import { rowsType, rowsValue } from './answer.ts'
import type { StatementKind } from './statement-kind.ts'

export const select: StatementKind<SelectStatement> = {
  effect: 'read',

  async run(statement, executor) {
    const planned = planSelect(statement, executor)
    const context = executor.context()
    const inputs = await executor.inputs(planned)
    return selectChunks(planned.plan, inputs, context)
  },

  async value(statement, executor) {
    const planned = planSelect(statement, executor)
    const values = await selectValues(planned.plan, await executor.inputs(planned), executor.context())
    return rowsValue(planned.plan, values)
  },

  valueType: (statement, binder) => rowsType(bindSelect(statement, binder)),

  async explain(statement, explainer) {
    const planned = planSelect(statement, explainer)
    await startSelect(planned.plan, await explainer.inputs(planned), explainer.context())
    return rowsType(planned.plan)
  },
}

export interface SelectPlan {
  readonly objects: SourcePlan
  readonly clauses: ClausesPlan
  readonly slots: number
  readonly constants: number
  readonly rowType: ValueType
  readonly isSingle: boolean
}

interface Planner {
  readonly plans: PlanCache
  planning(): PlanningContext
}

/** Also of LOOKUP, which is a FROM with a value of its own. Throws QueryError. */
export function planSelect(statement: SelectStatement | LookupStatement, executor: Planner): Planned<SelectPlan> {
  const context = executor.planning()
  return executor.plans.planned(statement, context, (binder) => {
    const bound = statement.kind === 'select' ? bindSelect(statement, binder) : bindLookup(statement, binder)
    return planBound(bound, binder, context)
  })
}

function planBound(bound: BoundSelect, { slots }: Binder, { formats, text }: PlanningContext): SelectPlan {
  const planning: Planning = { formats, text, compiler: new Compiler(formats) }
  const objects = planObjects(bound.source, bound.slot, bound.clauses, planning)
  const clauses = planClauses(bound.clauses, planning)
  const { rowType, isSingle } = bound
  return { objects, clauses, slots, constants: planning.compiler.constants, rowType, isSingle }
}

export interface StartedSelect {
  readonly evaluation: EvaluationContext
  readonly kind: RowKind<ObjectView>
  readonly pipeline: Pipeline<ObjectView>
}

export async function startSelect(plan: SelectPlan, inputs: Inputs, context: StatementContext): Promise<StartedSelect> {
  const { objects, clauses } = plan
  const evaluation = newEvaluationContext(plan.slots, plan.constants, inputs, context)
  const kind = objectRowKind(objects.filter.slot)
  const wanted = await rowsWanted(clauses.limits, evaluation, context)
  const chosen = await chooseAccess(objects, evaluation, context, wanted)
  if (chosen.access === objects.extent && clauses.countsOnly !== undefined && objects.filter.text === undefined) {
    const counted = objects.extent.count(objects.className, clauses.countsOnly, context)
    return { evaluation, kind, pipeline: returned<ObjectView>(counted, clauses.projections, context) }
  }
  const source = objectRows(objects, chosen, evaluation, context, wanted)
  const isOrdered = chosen.access === objects.ordered
  return { evaluation, kind, pipeline: await runClauses({ ...source, isOrdered }, clauses, kind, evaluation, context) }
}

async function* selectChunks(plan: SelectPlan, inputs: Inputs, context: StatementContext): AsyncGenerator<RowChunk> {
  const { evaluation, kind, pipeline } = await startSelect(plan, inputs, context)
  yield* writeRows(pipeline.rows, objectWriter(plan.clauses.projections, kind, evaluation, context), context)
}

/** The value of each row: a reference, a value, or the values of a record's fields. */
async function selectValues(plan: SelectPlan, inputs: Inputs, context: StatementContext): Promise<unknown[]> {
  const { evaluation, kind, pipeline } = await startSelect(plan, inputs, context)
  return rowValues(pipeline, plan.clauses.projections, (row) => row?.oid ?? null, kind, evaluation, context)
}
