/** UPDATE: what each object becomes is worked out from what the statement sees, all of it before the next statement begins. */
import type { Oid } from '../../types/oid.ts'
import { flushObjects } from '../../write/flush.ts'
import { type ActionValues, evaluateAction } from '../change/action-values.ts'
import { applyActions } from '../change/apply-actions.ts'
import type { ChangeContext } from '../change/change-values.ts'
import type { ChangePlan } from '../change/plan-change.ts'
import { elementBytes, valueBytes } from '../evaluate/value-bytes.ts'
import { evaluateRows } from '../execute/evaluate-rows.ts'
import { type Inputs, newEvaluationContext } from '../execute/new-evaluation-context.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import type { UpdateStatement } from '../language/ast.ts'
import type { RowChunk } from '../query-request.ts'
import {
  changedChunks,
  changedValue,
  explainChange,
  planChanges,
  qualifying,
  requireAsSeen,
} from './changed-objects.ts'
import type { StatementExecutor, StatementKind } from './statement-kind.ts'

export const update: StatementKind<UpdateStatement> = {
  effect: 'write',

  async run(statement, executor) {
    const { plan, inputs, oids } = await carryOut(statement, executor)
    return changed(plan, oids, inputs, executor)
  },

  async value(statement, executor) {
    const { plan, oids } = await carryOut(statement, executor)
    return changedValue(plan, oids)
  },

  explain: explainChange,
}

interface Changed {
  readonly plan: ChangePlan
  readonly inputs: Inputs
  readonly oids: readonly Oid[]
}

async function carryOut(statement: UpdateStatement, executor: StatementExecutor): Promise<Changed> {
  const planned = planChanges(statement, executor)
  const inputs = await executor.inputs(planned)
  const oids = await runUpdate(planned.plan, inputs, executor.context(), executor.changeContext())
  return { plan: planned.plan, inputs, oids }
}

/** The objects as they have become. */
async function* changed(
  plan: ChangePlan,
  oids: readonly Oid[],
  inputs: Inputs,
  executor: StatementExecutor,
): AsyncGenerator<RowChunk> {
  await executor.catalogTransaction.transaction.sortWrites()
  yield* changedChunks(plan, oids, inputs, executor.context())
}

/** `before`: what the statement sees, to its end. Returns the objects that were changed. Throws what an update throws. */
async function runUpdate(
  plan: ChangePlan,
  inputs: Inputs,
  before: StatementContext,
  changeContext: ChangeContext,
): Promise<Oid[]> {
  const evaluation = newEvaluationContext(plan.slots, plan.constants, inputs, before)
  const { slot } = plan.objects.filter
  const changed: Oid[] = []
  for await (const views of await qualifying('update', plan, evaluation, before)) {
    changeContext.count(views.length)
    const worked = await evaluateRows(before, views, (view) => {
      evaluation.slots[slot] = view
      return plan.actions.map((action) => {
        const values = evaluateAction(action, evaluation, view.oid)
        evaluation.memory.chargeStatement(
          valueBytes(values.values) + valueBytes(values.pairs) + values.owners.length * elementBytes,
        )
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
