/** The common part of UPDATE and DELETE: finds the qualifying objects, changes each and evaluates RETURN. */
import { commitIdOf } from '../../records/record-format.ts'
import { ReadSkew } from '../../store/read-skew.ts'
import type { Awaitable } from '../../store/store.ts'
import type { Oid } from '../../types/oid.ts'
import { flushObjects } from '../../write/flush.ts'
import { chooseAccess, isInOrder } from '../access/choose-access.ts'
import { objectRows } from '../access/object-rows.ts'
import { type BoundChange, bindDelete, bindUpdate } from '../bind/bind-change.ts'
import type { ChangeContext } from '../change/change-values.ts'
import { type ChangePlan, planChange } from '../change/plan-change.ts'
import type { EvaluationContext } from '../evaluate/evaluation-context.ts'
import type { ObjectView } from '../evaluate/object-view.ts'
import { type Inputs, newEvaluationContext } from '../execute/new-evaluation-context.ts'
import { type OutputRow, objectRowKind } from '../execute/row.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import { writeRows } from '../execute/write-rows.ts'
import { type ExplainNode, explainNode, rowOperatorPlan } from '../explain/explain-node.ts'
import type { DeleteStatement, UpdateStatement } from '../language/ast.ts'
import { runClauses, runOperators } from '../operators/clauses.ts'
import { objectWriter } from '../operators/project.ts'
import { requiredRows } from '../operators/row-limits.ts'
import { counted, type Pipeline } from '../operators/row-operator.ts'
import type { Planned } from '../plan-cache.ts'
import type { RowChunk } from '../query-request.ts'
import type { TypedValue } from '../values/parameter-value.ts'
import type { ValueType } from '../values/value-type.ts'
import type { StatementExecutor, StatementExplainer } from './statement-kind.ts'

type ChangeStatement = UpdateStatement | DeleteStatement

/** Throws QueryError. */
function planChanges(
  statement: ChangeStatement,
  executor: StatementExecutor | StatementExplainer,
): Planned<ChangePlan> {
  const context = executor.planning()
  return executor.plans.planned(statement, context, (binder) => {
    const bound: BoundChange =
      statement.kind === 'update' ? bindUpdate(statement, binder) : bindDelete(statement, binder)
    return planChange(bound, binder.slots, context.formats, context.text)
  })
}

function typeOf({ sourceClass }: ChangePlan): ValueType {
  return { kind: 'collection', form: 'list', element: { kind: 'reference', cls: sourceClass } }
}

export function changedValue({ plan, oids }: ChangedObjects): TypedValue {
  return { type: typeOf(plan), value: oids }
}

/** Explains how the objects are found and what RETURN does. */
export async function explainChange(statement: ChangeStatement, explainer: StatementExplainer): Promise<ValueType> {
  const planned = planChanges(statement, explainer)
  const { plan } = planned
  const inputs = await explainer.inputs(planned)
  const context = explainer.context()
  const evaluation = newEvaluationContext(plan.slots, plan.constants, inputs, context)
  await qualifying(statement.kind, plan, evaluation, context)
  await returning(plan, [], evaluation, context)
  return typeOf(plan)
}

interface ChangeWork {
  readonly plan: ChangePlan
  readonly evaluation: EvaluationContext
  /** The state as of the start of the statement. */
  readonly before: StatementContext
  readonly changes: ChangeContext
}

/** Evaluates everything a change needs for a batch of views, and returns the function that changes the view at an index. */
type ViewsChange = (
  views: readonly ObjectView[],
  work: ChangeWork,
) => Awaitable<(view: ObjectView, at: number) => Awaitable<void>>

export interface ChangedObjects {
  readonly plan: ChangePlan
  readonly inputs: Inputs
  readonly before: StatementContext
  readonly oids: readonly Oid[]
}

/** Changes the qualifying objects and writes them. Throws the errors of a change of an object. */
export async function changeQualifying(
  statement: ChangeStatement,
  executor: StatementExecutor,
  changeOf: ViewsChange,
): Promise<ChangedObjects> {
  const planned = planChanges(statement, executor)
  const { plan } = planned
  const inputs = await executor.inputs(planned)
  const before = executor.context()
  const changes = executor.changeContext()
  const evaluation = newEvaluationContext(plan.slots, plan.constants, inputs, before)
  const oids: Oid[] = []
  for await (const views of await qualifying(statement.kind, plan, evaluation, before)) {
    changes.count(views.length)
    const change = await changeOf(views, { plan, evaluation, before, changes })
    await changes.unit.objects.loadAll(views.map(({ oid }) => oid))
    for (const [at, view] of views.entries()) {
      requireAsSeen(changes, view)
      oids.push(view.oid)
      await change(view, at)
      const pause = before.yieldIfDue()
      if (pause !== undefined) await pause
    }
    const pause = before.yieldIfDue()
    if (pause !== undefined) await pause
  }
  await flushObjects(changes.unit)
  const { deletions } = changes.unit
  if (before.probe?.root !== undefined && deletions !== undefined) before.probe.root.follows = await deletions.report()
  return { plan, inputs, before, oids }
}

/** The change was computed from the object's view, so both must be of one revision. Throws ReadSkew if they are not. */
function requireAsSeen({ unit }: ChangeContext, { oid, record }: ObjectView): void {
  const state = unit.objects.loaded(oid)
  const stored = state?.stored
  const isSeen = stored !== undefined && Buffer.compare(commitIdOf(stored), commitIdOf(record)) === 0
  if (!isSeen && !unit.objects.isDeleted(oid)) {
    throw new ReadSkew(
      `object ${oid} has another revision than the one that the conditions of the statement were about`,
    )
  }
  // Required even if the statement changes an object that this one refers to, and not the object itself.
  if (state !== undefined) unit.requireUnchanged(state)
}

/** `context`: the state as of the start of the statement. */
async function qualifying(
  kind: 'update' | 'delete',
  plan: ChangePlan,
  evaluation: EvaluationContext,
  context: StatementContext,
): Promise<AsyncIterable<readonly ObjectView[]>> {
  const { rows, operator } = await chosenObjects(plan, evaluation, context)
  if (context.probe === undefined) return rows
  const changes = rowOperatorPlan(kind, { class: plan.sourceClass.name }, [operator])
  context.probe.root = changes
  return counted(rows, changes)
}

/** With ORDER BY, SKIP or TAKE before the actions: the objects they leave, in their order. */
async function chosenObjects(
  { objects, choice }: ChangePlan,
  evaluation: EvaluationContext,
  context: StatementContext,
): Promise<{ readonly rows: AsyncIterable<readonly ObjectView[]>; readonly operator: ExplainNode }> {
  const rowLimit = choice && (await requiredRows(choice.limits, evaluation, context))
  const chosen = await chooseAccess(objects, evaluation, context, rowLimit)
  const source = objectRows(objects, chosen, evaluation, context, rowLimit)
  if (choice === undefined) return source
  const input = { ...source, isOrdered: isInOrder(objects, chosen.access) }
  const kind = objectRowKind(objects.filter.slot)
  const { rows, operator } = await runOperators(input, choice, kind, evaluation, context)
  return { rows: viewsOf(rows), operator }
}

async function* viewsOf(
  batches: AsyncIterable<readonly OutputRow<ObjectView>[]>,
): AsyncGenerator<readonly ObjectView[]> {
  for await (const rows of batches) yield rows.flatMap(({ row }) => row ?? [])
}

/** RETURN of the objects as `context` sees them. */
async function returning(
  plan: ChangePlan,
  oids: readonly Oid[],
  evaluation: EvaluationContext,
  context: StatementContext,
): Promise<Pipeline<ObjectView>> {
  async function* views(): AsyncGenerator<ObjectView[]> {
    for (const part of context.reader.parts(oids)) {
      const loaded = await context.reader.load(part)
      yield loaded.filter((view) => view !== undefined)
    }
  }
  const operator = context.probe?.root ?? explainNode('changed')
  const input = { rows: views(), operator, isOrdered: false }
  return runClauses(input, plan.clauses, objectRowKind(plan.objects.filter.slot), evaluation, context)
}

/** The rows of RETURN for the objects as `context` sees them; without RETURN, their representations. */
export async function* changedChunks(
  { plan, oids, inputs }: ChangedObjects,
  context: StatementContext,
): AsyncGenerator<RowChunk> {
  const evaluation = newEvaluationContext(plan.slots, plan.constants, inputs, context)
  const kind = objectRowKind(plan.objects.filter.slot)
  const { rows } = await returning(plan, oids, evaluation, context)
  const write = objectWriter(plan.clauses, kind, evaluation, context)
  yield* writeRows(rows, write, context)
}
