/** UPDATE: computes the changes of each batch of objects from the state before the statement, and applies them before the next statement starts. */
import { type ActionValues, evaluateAction } from '../change/action-values.ts'
import { applyActions } from '../change/apply-actions.ts'
import { elementBytes, valueBytes } from '../evaluate/value-bytes.ts'
import { evaluateRows } from '../execute/evaluate-rows.ts'
import type { UpdateStatement } from '../language/ast.ts'
import type { RowChunk } from '../query-request.ts'
import { type ChangedObjects, changedChunks, changedValue, changeQualifying, explainChange } from './changed-objects.ts'
import type { StatementExecutor, StatementKind } from './statement-kind.ts'

export const update: StatementKind<UpdateStatement> = {
  effect: 'write',

  run: async (statement, executor) => changedRows(await runUpdate(statement, executor), executor),

  value: async (statement, executor) => changedValue(await runUpdate(statement, executor)),

  explain: explainChange,
}

async function* changedRows(changed: ChangedObjects, executor: StatementExecutor): AsyncGenerator<RowChunk> {
  await executor.catalogTransaction.transaction.sortWrites()
  yield* changedChunks(changed, executor.context())
}

function runUpdate(statement: UpdateStatement, executor: StatementExecutor): Promise<ChangedObjects> {
  return changeQualifying(statement, executor, async (views, { plan, evaluation, before, changes }) => {
    const { slot } = plan.objects.filter
    const evaluated = await evaluateRows(before, views, (view) => {
      evaluation.slots[slot] = view
      return plan.actions.map((action) => {
        const values = evaluateAction(action, evaluation, view.oid)
        evaluation.memory.chargeStatement(
          valueBytes(values.values) + valueBytes(values.pairs) + values.owners.length * elementBytes,
        )
        return values
      })
    })
    return (_view, at) => applyActions(changes, plan.actions, evaluated[at] as ActionValues[])
  })
}
