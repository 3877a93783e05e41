/** UPDATE, DELETE, CREATE and UPSERT carried out, all of a statement before the next one begins. */

import { AshlarError, assert } from '../../errors.ts'
import { indexKeyFormat, keyConditionRange } from '../../indexes/index-key.ts'
import { readIndexOids } from '../../indexes/lookup.ts'
import { applyChanges } from '../../objects/apply-changes.ts'
import { createObject } from '../../objects/create.ts'
import { deleteObject } from '../../objects/delete.ts'
import type { AttributeChange, ValueChange } from '../../records/attribute-change.ts'
import type { ClassFormat } from '../../records/class-format.ts'
import { revisionPrefixOf } from '../../records/record-format.ts'
import { isSameValue } from '../../records/same-value.ts'
import { ReadSkew } from '../../store/read-skew.ts'
import type { Oid } from '../../types/oid.ts'
import { flushObjects } from '../../write/flush.ts'
import type { ObjectState } from '../../write/working-set.ts'
import { chooseAccess } from '../access/choose-access.ts'
import { objectRows } from '../access/object-rows.ts'
import type { BoundUpsert } from '../bind/bind-change.ts'
import type { BoundAttribute } from '../bind/bound.ts'
import { type ActionValues, evaluateAction } from '../change/action-values.ts'
import { applyActions } from '../change/apply-actions.ts'
import { assignedChanges, assigning, type ChangeContext } from '../change/change-values.ts'
import type { ChangePlan } from '../change/plan-change.ts'
import type { EvaluationContext } from '../evaluate/evaluation-context.ts'
import type { ObjectView } from '../evaluate/object-view.ts'
import { elementBytes, valueBytes } from '../evaluate/value-bytes.ts'
import { evaluateRows } from '../execute/evaluate-rows.ts'
import { type Inputs, newEvaluationContext } from '../execute/new-evaluation-context.ts'
import { objectRowKind } from '../execute/row.ts'
import { rowBy } from '../execute/row-chunk.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import { writeRows } from '../execute/write-rows.ts'
import { explainNode, rowOperatorPlan } from '../explain/explain-node.ts'
import { queryError } from '../language/query-error.ts'
import { runClauses } from '../operators/clauses.ts'
import { objectWriter } from '../operators/project.ts'
import { counted, type Pipeline } from '../operators/row-operator.ts'
import type { RowChunk } from '../query-request.ts'
import { isNullOf } from '../values/compare.ts'

/** `before`: what the statement sees, to its end. Returns the objects that were changed. Throws what an update throws. */
export async function runUpdate(
  plan: ChangePlan,
  inputs: Inputs,
  before: StatementContext,
  changeContext: ChangeContext,
): Promise<Oid[]> {
  const run = newEvaluationContext(plan.slots, plan.constants, inputs, before)
  const { slot } = plan.objects.filter
  const changed: Oid[] = []
  for await (const views of await qualifying('update', plan, run, before)) {
    changeContext.count(views.length)
    const worked = await evaluateRows(before, views, (view) => {
      run.slots[slot] = view
      return plan.actions.map((action) => {
        const values = evaluateAction(action, run, view.oid)
        run.memory.hold(valueBytes(values.values) + valueBytes(values.pairs) + values.owners.length * elementBytes)
        return values
      })
    })
    await changeContext.unit.objects.loadAll(views.map(({ oid }) => oid))
    for (const [i, view] of views.entries()) {
      const { oid } = view
      requireAsSeen(changeContext, view)
      changed.push(oid)
      await applyActions(changeContext, plan.actions, worked[i] as ActionValues[])
      const turn = before.yieldIfDue()
      if (turn !== undefined) await turn
    }
    const pause = before.yieldIfDue()
    if (pause !== undefined) await pause
  }
  await flushObjects(changeContext.unit)
  return changed
}

/**
 * The object is changed for what its view has shown, and what it becomes was worked out from that: both are of one revision.
 * Throws ReadSkew where they are not.
 */
function requireAsSeen({ unit }: ChangeContext, { oid, record }: ObjectView): void {
  const state = unit.objects.known(oid)
  const stored = state?.stored
  const isSeen = stored !== undefined && Buffer.compare(revisionPrefixOf(stored), revisionPrefixOf(record)) === 0
  if (!isSeen && !unit.objects.isDeleted(oid)) {
    throw new ReadSkew(
      `object ${oid} has another revision than the one that the conditions of the statement were about`,
    )
  }
  // Also where the statement changes not the object itself, but one that it refers to.
  if (state !== undefined) unit.requireUnchanged(state)
}

export async function runDelete(
  plan: ChangePlan,
  inputs: Inputs,
  before: StatementContext,
  changeContext: ChangeContext,
): Promise<Oid[]> {
  const run = newEvaluationContext(plan.slots, plan.constants, inputs, before)
  const deleted: Oid[] = []
  for await (const views of await qualifying('delete', plan, run, before)) {
    changeContext.count(views.length)
    const oids = views.map(({ oid }) => oid)
    await changeContext.unit.objects.loadAll(oids)
    for (const view of views) {
      requireAsSeen(changeContext, view)
      await deleteObject(changeContext.unit, view)
      const turn = before.yieldIfDue()
      if (turn !== undefined) await turn
    }
    deleted.push(...oids)
    const pause = before.yieldIfDue()
    if (pause !== undefined) await pause
  }
  await flushObjects(changeContext.unit)
  return deleted
}

async function qualifying(
  kind: 'update' | 'delete',
  plan: ChangePlan,
  run: EvaluationContext,
  context: StatementContext,
): Promise<AsyncIterable<readonly ObjectView[]>> {
  const chosen = await chooseAccess(plan.objects, run, context, undefined)
  const { rows, operator } = objectRows(plan.objects, chosen, run, context, undefined)
  if (context.probe === undefined) return rows
  const changes = rowOperatorPlan(kind, { class: plan.sourceClass.name }, [operator])
  context.probe.root = changes
  return counted(rows, changes)
}

/** For the plan of a statement that is not carried out: how its objects are found, and what is made of them. */
export async function planChangeRun(
  kind: 'update' | 'delete',
  plan: ChangePlan,
  inputs: Inputs,
  context: StatementContext,
): Promise<void> {
  const run = newEvaluationContext(plan.slots, plan.constants, inputs, context)
  await qualifying(kind, plan, run, context)
  await returning(plan, [], run, context)
}

/** The objects as `context` sees them, and what RETURN makes of them. */
async function returning(
  plan: ChangePlan,
  oids: readonly Oid[],
  run: EvaluationContext,
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
  return runClauses(input, plan.clauses, objectRowKind(plan.objects.filter.slot), run, context)
}

/** What RETURN asks of the objects as `context` sees them; without RETURN, their representations. */
export async function* changedChunks(
  plan: ChangePlan,
  oids: readonly Oid[],
  inputs: Inputs,
  context: StatementContext,
): AsyncGenerator<RowChunk> {
  const run = newEvaluationContext(plan.slots, plan.constants, inputs, context)
  const kind = objectRowKind(plan.objects.filter.slot)
  const { rows } = await returning(plan, oids, run, context)
  const write = objectWriter(plan.clauses.projections, kind, run, context)
  yield* writeRows(rows, write, context)
}

/** `[{"__class__", "__identifier__"}]` of what CREATE and UPSERT made or found. */
export function identifierRow(className: string, oid: Oid): RowChunk {
  return rowBy((json) => json.ascii(`{"__class__":${JSON.stringify(className)},"__identifier__":"${oid}"}`))
}

/** The object that the unique index has under the key is updated, or there is a new one. */
export async function runUpsert(
  bound: BoundUpsert,
  values: readonly unknown[],
  context: StatementContext,
  changeContext: ChangeContext,
): Promise<{ readonly oid: Oid; readonly className: string }> {
  const { unit } = changeContext
  const { cls, assignments } = bound
  changeContext.count(1)
  const changes = await assigning(changeContext, bound, () =>
    assignedChanges(changeContext, cls, { assignments, values }),
  )
  const found = await findByKey(bound, keyOf(bound, changes, context.script.text), changeContext)
  if (found !== undefined) {
    const own = changes.map((change) => ofClass(change, found.format))
    await assigning(changeContext, bound, () => applyChanges(unit, found, own))
    await flushObjects(unit)
    return { oid: found.oid, className: found.format.cls.name }
  }
  const oid = await assigning(changeContext, bound, () => createObject(unit, { cls, changes }))
  await flushObjects(unit)
  return { oid, className: cls.name }
}

/** The change of an object of a subclass, which has formats of its own. */
function ofClass({ attribute, ...given }: AttributeChange, format: ClassFormat): AttributeChange {
  return { ...given, attribute: format.attribute(attribute.attribute.number) }
}

/** The values of the key, in the order of the index. Throws QueryError for null. */
function keyOf({ assignments, keys }: BoundUpsert, changes: readonly AttributeChange[], text: string): unknown[] {
  return keys.map((key) => {
    const value = assignedValue(changes[assignments.indexOf(key)]?.change)
    if (!isNullOf((key.path.at(-1) as BoundAttribute).type, value)) return value
    throw queryError(text, key, `a key attribute of UPSERT is given a value, not null`)
  })
}

/** What an assignment sets, perhaps within embedded objects. */
function assignedValue(change: ValueChange | undefined): unknown {
  if (change?.kind === 'merge') return assignedValue(change.fields[0]?.change)
  assert(change?.kind === 'set', 'a key attribute is set as a whole')
  return change.value
}

async function findByKey(
  { cls, index }: BoundUpsert,
  equal: readonly unknown[],
  { unit: { objects, transaction } }: ChangeContext,
): Promise<ObjectState | undefined> {
  const format = indexKeyFormat(index, objects.formats.of(cls))
  for await (const oids of readIndexOids(transaction.overlay(), keyConditionRange(format, { equal }), false)) {
    for (const oid of oids) {
      const state = await objects.load(oid)
      // Texts are cut in the index: the same beginning is not yet the same key.
      const isSame =
        state !== undefined &&
        format.parts.every(({ path, format: { codec } }, i) => {
          const held = path.reduce<unknown>((at, position) => (at as readonly unknown[])[position], state.values)
          return isSameValue(codec, held, equal[i])
        })
      if (!isSame) continue
      if (state.format.cls.isOrInherits(cls.number)) return state
      throw new AshlarError(
        'QueryError',
        `UPSERT: the key belongs to object ${oid} of class ${state.format.cls.name}, which is not a ${cls.name}.`,
      )
    }
  }
  return undefined
}
