/** DELETE: the objects that qualify, and the links that lead to them. */
import { deleteObject } from '../../objects/delete.ts'
import type { Oid } from '../../types/oid.ts'
import { flushObjects } from '../../write/flush.ts'
import type { ChangeContext } from '../change/change-values.ts'
import type { ChangePlan } from '../change/plan-change.ts'
import { type Inputs, newEvaluationContext } from '../execute/new-evaluation-context.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import type { DeleteStatement } from '../language/ast.ts'
import { noRows } from './answer.ts'
import {
  changedChunks,
  changedValue,
  explainChange,
  planChanges,
  qualifying,
  requireAsSeen,
} from './changed-objects.ts'
import type { StatementKind } from './statement-kind.ts'

export const deleteObjects: StatementKind<DeleteStatement> = {
  effect: 'write',

  async run(statement, executor, isAnswer) {
    const planned = planChanges(statement, executor)
    const inputs = await executor.inputs(planned)
    const before = executor.context()
    const oids = await runDelete(planned.plan, inputs, before, executor.changeContext())
    // The objects as they were.
    return isAnswer ? changedChunks(planned.plan, oids, inputs, before) : noRows
  },

  async value(statement, executor) {
    const planned = planChanges(statement, executor)
    const inputs = await executor.inputs(planned)
    const oids = await runDelete(planned.plan, inputs, executor.context(), executor.changeContext())
    return changedValue(planned.plan, oids)
  },

  explain: explainChange,
}

async function runDelete(
  plan: ChangePlan,
  inputs: Inputs,
  before: StatementContext,
  changeContext: ChangeContext,
): Promise<Oid[]> {
  const evaluation = newEvaluationContext(plan.slots, plan.constants, inputs, before)
  const deleted: Oid[] = []
  for await (const views of await qualifying('delete', plan, evaluation, before)) {
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
