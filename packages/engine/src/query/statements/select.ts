/** FROM … RETURN: finds the objects, passes their rows through the operators, and replies them as JSON text or as values. */

import type { ClassSet } from '../../schema/class-set.ts'
import { mapAwaitable } from '../../store/awaitable.ts'
import type { Awaitable } from '../../store/store.ts'
import { type ChosenAccessPath, chooseAccess, isInOrder } from '../access/choose-access.ts'
import { objectRows } from '../access/object-rows.ts'
import { rowsByTrips } from '../access/rows-by-trips.ts'
import { type RowsPlan, rowsInPlace } from '../access/rows-in-place.ts'
import { planObjects, type SourcePlan } from '../access/source-plan.ts'
import { type UniqueLookup, uniqueLookup } from '../access/unique-lookup.ts'
import { bindFrom } from '../bind/bind-join.ts'
import { type BoundSelect, bindLookup, bindSelect } from '../bind/bind-select.ts'
import type { BoundClauses } from '../bind/bound.ts'
import { isRecordOnly } from '../bind/record-only.ts'
import type { Binder } from '../bind/scope.ts'
import { Compiler } from '../evaluate/compile-expression.ts'
import type { EvaluationContext } from '../evaluate/evaluation-context.ts'
import { followedReferences } from '../evaluate/followed-references.ts'
import type { ObjectView } from '../evaluate/object-view.ts'
import { type Inputs, newEvaluationContext } from '../execute/new-evaluation-context.ts'
import { objectRowKind, type RowKind } from '../execute/row.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import { writeRows } from '../execute/write-rows.ts'
import { LoopCounts } from '../explain/loop-counts.ts'
import type { LookupStatement, MatchStatement, SelectStatement } from '../language/ast.ts'
import { queryError } from '../language/query-error.ts'
import { type JoinPlan, planJoin } from '../match/plan-join.ts'
import type { MatchPlan } from '../match/plan-match.ts'
import { collectedValues } from '../operators/buffered-values.ts'
import { type ClausesPlan, planClauses, runClauses } from '../operators/clauses.ts'
import type { Planning } from '../operators/planning.ts'
import { objectWriter, returned, rowValues } from '../operators/project.ts'
import { requiredRows, rowsSkipped } from '../operators/row-limits.ts'
import type { Pipeline } from '../operators/row-operator.ts'
import type { PlanCache, Planned, PlanningContext } from '../plan-cache.ts'
import type { RowChunk } from '../query-request.ts'
import type { TypedValue } from '../values/parameter-value.ts'
import { isMany, type ValueType } from '../values/value-type.ts'
import { hasRows, rowsType, rowsValue, type StatementReply, typeWithin } from './answer.ts'
import { joinChunks, joinValues, startJoin } from './join.ts'
import type { RowAccess, StatementExecutor, StatementKind } from './statement-kind.ts'

const withAllRule = 'RETURN *, … adds to the objects of a reply: where a value stands, each column is named'

/** Plan of one source of objects, of several sources, or of patterns. */
type PlanOfRows = SelectPlan | JoinPlan | MatchPlan

/** The common part of FROM and MATCH, whatever their plan. */
export function statementOfRows<S extends SelectStatement | MatchStatement>(
  planOf: (statement: S, executor: Planner) => Planned<PlanOfRows>,
) {
  const planOfValues = (statement: S, executor: StatementExecutor): Planned<PlanOfRows> => {
    const planned = planOf(statement, executor)
    if (planned.plan.clauses.isWithAll) throw queryError(executor.text, statement, withAllRule)
    return planned
  }
  return {
    effect: 'read',

    run: (statement, executor) => runPlanned(planOf(statement, executor), executor),

    value: async (statement, executor) => rowsAsValue(planOfValues(statement, executor), executor),

    async rows(statement, executor) {
      const planned = planOfValues(statement, executor)
      const context = executor.context()
      const batches = await valuesOf(planned.plan, await executor.inputs(planned), context)
      return { type: rowsType(planned.plan), isSingle: planned.plan.isSingle, batches, context }
    },

    perRow: {
      value: async (statement, access) => (await rowsAsValue(planOf(statement, access), access)).value,
      async hasRow(statement, access) {
        const planned = planOf(statement, access)
        const context = access.context()
        try {
          return await hasRows(await pipelineFrom(planned.plan, await access.inputs(planned), context))
        } finally {
          await context.close()
        }
      },
    },

    async explain(statement, explainer) {
      const planned = planOf(statement, explainer)
      await pipelineFrom(planned.plan, await explainer.inputs(planned), explainer.context())
      return rowsType(planned.plan)
    },
  } satisfies StatementKind<S>
}

export const select: StatementKind<SelectStatement> = {
  ...statementOfRows(planFrom),

  valueType(statement, binder) {
    const bound = bindFrom(statement, binder)
    if (bound.clauses.isWithAll) throw binder.error(statement, withAllRule)
    return typeWithin(bound, binder)
  },
}

function runPlanned(planned: Planned<PlanOfRows>, executor: StatementExecutor): Awaitable<StatementReply> {
  const context = executor.context()
  const inputs = executor.inputs(planned)
  const { plan } = planned
  // Nested statements are executed before the rows are read, even if the rows are never read.
  if (!('objects' in plan)) return mapAwaitable(inputs, (resolved) => joinChunks(plan, resolved, context))
  if (plan.objects.references?.takesStatements === true) {
    return mapAwaitable(inputs, (resolved) => closing(selectChunks(plan, resolved, context), context))
  }
  return mapAwaitable(inputs, (resolved) => selectChunks(plan, resolved, context))
}

export interface SelectPlan {
  readonly objects: SourcePlan
  readonly clauses: ClausesPlan
  readonly slots: number
  readonly constants: number
  readonly rowType: ValueType
  readonly isSingle: boolean
  /** Set if each row is an object or columns of one: no grouping, and no SKIP or TAKE by a predicate. */
  readonly rows: RowsPlan | undefined
  /** Set if the source is at most one object by a unique key, whose row needs nothing but its record. */
  readonly lookup: UniqueLookup | undefined
}

export interface Planner {
  readonly plans: PlanCache
  planning(): PlanningContext
}

/** Plans one source of objects, or a join. Throws QueryError. */
function planFrom(statement: SelectStatement, executor: Planner): Planned<SelectPlan | JoinPlan> {
  const context = executor.planning()
  return executor.plans.planned(statement, context, (binder): SelectPlan | JoinPlan => {
    const bound = bindFrom(statement, binder)
    if ('sources' in bound) return planJoin(bound, binder.slots, context.formats, context.text)
    return planBound(bound, binder, context)
  })
}

async function pipelineFrom(plan: PlanOfRows, inputs: Inputs, context: StatementContext): Promise<Pipeline<unknown>> {
  const started = 'objects' in plan ? startSelect(plan, inputs, context) : startJoin(plan, inputs, context)
  return (await started).pipeline
}

async function rowsAsValue(planned: Planned<PlanOfRows>, access: RowAccess): Promise<TypedValue> {
  const context = access.context()
  try {
    const values = await valuesOf(planned.plan, await access.inputs(planned), context)
    return rowsValue(planned.plan, await collectedValues(values, context))
  } finally {
    await context.close()
  }
}

function valuesOf(
  plan: PlanOfRows,
  inputs: Inputs,
  context: StatementContext,
): Promise<AsyncGenerator<readonly unknown[]>> {
  return 'objects' in plan ? selectValues(plan, inputs, context) : joinValues(plan, inputs, context)
}

/** Also plans LOOKUP, a FROM whose value is one object. Throws QueryError. */
export function planSelect(statement: SelectStatement | LookupStatement, executor: Planner): Planned<SelectPlan> {
  const context = executor.planning()
  return executor.plans.planned(statement, context, (binder) => {
    const bound = statement.kind === 'select' ? bindSelect(statement, binder) : bindLookup(statement, binder)
    return planBound(bound, binder, context)
  })
}

function planBound(
  bound: BoundSelect,
  { slots, inner, nested, outer }: Binder,
  { formats, text }: PlanningContext,
): SelectPlan {
  const planning: Planning = { formats, text, compiler: new Compiler(formats) }
  const objectClauses = outer?.isExists === true ? withoutColumns(bound.clauses) : bound.clauses
  const objects = planObjects(bound.source, bound.slot, objectClauses, planning)
  const clauses = planClauses(bound.clauses, planning)
  const { rowType, isSingle } = bound
  const { constants } = planning.compiler
  const rows = planRows(bound.clauses, objects, clauses, inner.length > 0)
  const lookup = nested.length > 0 ? undefined : rows && uniqueLookup(rows)
  return { objects, clauses, slots, constants, rowType, isSingle, rows, lookup }
}

/** EXISTS needs no columns, unless they determine the number of rows. */
function withoutColumns(clauses: BoundClauses): BoundClauses {
  const { groupBy, distinct, windows, skip, take } = clauses
  const returnsEachObject = groupBy === undefined && distinct === undefined && windows.length === 0
  return returnsEachObject && skip?.kind !== 'while' && take?.kind !== 'while'
    ? { ...clauses, projections: [] }
    : clauses
}

function planRows(
  bound: BoundClauses,
  objects: SourcePlan,
  { operators, projections, limits }: ClausesPlan,
  runsStatements: boolean,
): RowsPlan | undefined {
  const { orderBy, skip, take, isWithAll } = bound
  const isLimited = skip !== undefined || take !== undefined
  const areInAnyOrder = orderBy.length === 0
  // Any other operator works on rows, and correlated statements are executed for batches of rows.
  if (runsStatements || isWithAll) return undefined
  if (operators.length !== (areInAnyOrder ? 0 : 1) + (isLimited ? 1 : 0)) return undefined
  if (skip?.kind === 'while' || take?.kind === 'while') return undefined
  const areRecordsOnly = objects.filter.rest === undefined && areColumnsRecordOnly(bound, objects.classes)
  const hasOtherObjects = bound.projections?.some(({ expression }) => hasObjects(expression.type)) === true
  const expressions = bound.projections?.map(({ expression }) => expression) ?? []
  const followed = followedReferences(expressions, objects.filter.slot)
  return { objects, projections, limits, areRecordsOnly, areInAnyOrder, hasOtherObjects, followed }
}

/** Whether the returned columns depend on the object's record only. */
export function areColumnsRecordOnly({ projections }: Pick<BoundClauses, 'projections'>, classes: ClassSet): boolean {
  if (projections === undefined) return !classes.haveLinks
  return projections.every(({ expression }) => isRecordOnly(expression) && !hasObjects(expression.type))
}

/** OBJECT(…) and `{*}`, whose values are written as whole objects. */
function hasObjects(type: ValueType): boolean {
  if (type.kind === 'record') return type.fields.some((field) => hasObjects(field.type))
  return type.kind === 'object' || (isMany(type) && hasObjects(type.element))
}

export interface StartedSelect {
  readonly evaluation: EvaluationContext
  readonly kind: RowKind<ObjectView>
  readonly pipeline: Pipeline<ObjectView>
}

export async function startSelect(plan: SelectPlan, inputs: Inputs, context: StatementContext): Promise<StartedSelect> {
  return pipelineOf(plan, await beginSelect(plan, inputs, context), context)
}

interface SelectStart {
  readonly evaluation: EvaluationContext
  readonly rowLimit: number | undefined
  readonly chosen: ChosenAccessPath
}

function beginSelect(plan: SelectPlan, inputs: Inputs, context: StatementContext): Awaitable<SelectStart> {
  const evaluation = newEvaluationContext(plan.slots, plan.constants, inputs, context)
  return mapAwaitable(requiredRows(plan.clauses.limits, evaluation, context), (rowLimit) => {
    const access = chooseAccess(plan.objects, evaluation, context, rowLimit)
    return mapAwaitable(access, (chosen): SelectStart => ({ evaluation, rowLimit, chosen }))
  })
}

async function pipelineOf(
  { objects, clauses }: SelectPlan,
  { evaluation, rowLimit, chosen }: SelectStart,
  context: StatementContext,
): Promise<StartedSelect> {
  const kind = objectRowKind(objects.filter.slot)
  if (chosen.access === objects.extent && clauses.countsOnly !== undefined && objects.filter.text === undefined) {
    const counted = objects.extent.count(objects.className, clauses.countsOnly, context)
    return { evaluation, kind, pipeline: returned<ObjectView>(counted, clauses, context) }
  }
  const skipped = await rowsSkipped(clauses.limits, evaluation, context)
  const source = objectRows(objects, chosen, evaluation, context, rowLimit, skipped)
  const isOrdered = isInOrder(objects, chosen.access)
  return { evaluation, kind, pipeline: await runClauses({ ...source, isOrdered }, clauses, kind, evaluation, context) }
}

function selectChunks(plan: SelectPlan, inputs: Inputs, context: StatementContext): Awaitable<StatementReply> {
  return mapAwaitable(beginSelect(plan, inputs, context), (start) => startedChunks(plan, start, context))
}

/** Ends the statements whose rows are sources with the reply. */
async function* closing(chunks: Awaitable<StatementReply>, context: StatementContext): AsyncGenerator<RowChunk> {
  try {
    yield* await chunks
  } finally {
    await context.close()
  }
}

function startedChunks(plan: SelectPlan, start: SelectStart, context: StatementContext): Awaitable<StatementReply> {
  if (context.probe !== undefined) return explainedChunks(plan, start, context)
  const inPlace = chunksInPlace(plan, start, context, undefined)
  if (inPlace instanceof Promise) return inPlace.then((rows) => rows ?? pipelineChunks(plan, start, context))
  return inPlace ?? pipelineChunks(plan, start, context)
}

function chunksInPlace(
  { rows }: SelectPlan,
  { evaluation, chosen, rowLimit }: SelectStart,
  context: StatementContext,
  explained: LoopCounts | undefined,
): Awaitable<StatementReply | undefined> | undefined {
  const find = context.isRemote ? rowsByTrips : rowsInPlace
  return rows && find({ plan: rows, evaluation, context, explained }, chosen, rowLimit)
}

/** The same with counts and times: the plan shows operators, whether they run separately or fused into one loop. */
async function* explainedChunks(
  plan: SelectPlan,
  start: SelectStart,
  context: StatementContext,
): AsyncGenerator<RowChunk> {
  const { kind, pipeline } = await pipelineOf(plan, start, context)
  const isScan = start.chosen.access === plan.objects.extent
  const counts = new LoopCounts(pipeline.operator, { isScan, countsEntries: !context.isRemote, reader: context.reader })
  async function* chunks(): AsyncGenerator<RowChunk> {
    const inPlace = await chunksInPlace(plan, start, context, counts)
    yield* inPlace ?? writeRows(pipeline.rows, objectWriter(plan.clauses, kind, start.evaluation, context), context)
  }
  yield* context.measured(chunks(), pipeline.operator)
}

async function pipelineChunks(
  plan: SelectPlan,
  start: SelectStart,
  context: StatementContext,
): Promise<StatementReply> {
  const { kind, pipeline } = await pipelineOf(plan, start, context)
  return writeRows(pipeline.rows, objectWriter(plan.clauses, kind, start.evaluation, context), context)
}

/** One value per row: a reference, a value, or the values of a record's fields. */
async function selectValues(
  plan: SelectPlan,
  inputs: Inputs,
  context: StatementContext,
): Promise<AsyncGenerator<readonly unknown[]>> {
  const { evaluation, kind, pipeline } = await startSelect(plan, inputs, context)
  return rowValues(pipeline, plan.clauses.projections, (row) => row?.oid ?? null, kind, evaluation, context)
}
