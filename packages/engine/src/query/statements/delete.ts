/** DELETE: deletes the qualifying objects and the links to them. */
import { deleteObject } from '../../objects/delete.ts'
import type { DeleteStatement } from '../language/ast.ts'
import { noRows } from './answer.ts'
import { type ChangedObjects, changedChunks, changedValue, changeQualifying, explainChange } from './changed-objects.ts'
import type { StatementExecutor, StatementKind } from './statement-kind.ts'

export const deleteObjects: StatementKind<DeleteStatement> = {
  effect: 'write',

  async run(statement, executor, isAnswer) {
    const deleted = await runDelete(statement, executor)
    // The objects as they were before.
    return isAnswer ? changedChunks(deleted, deleted.before) : noRows
  },

  value: async (statement, executor) => changedValue(await runDelete(statement, executor)),

  explain: explainChange,
}

function runDelete(statement: DeleteStatement, executor: StatementExecutor): Promise<ChangedObjects> {
  return changeQualifying(
    statement,
    executor,
    (_views, { changes }) =>
      (view) =>
        deleteObject(changes.unit, view),
  )
}
