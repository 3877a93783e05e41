/** DROP SEQUENCE, as part of the text's transaction. */
import { requireDatabaseRight } from '../../schema/sequence-definition.ts'
import type { DropSequenceStatement } from '../language/ast.ts'
import { noRows } from './answer.ts'
import { noValue, type StatementKind } from './statement-kind.ts'

export const dropSequence: StatementKind<DropSequenceStatement> = {
  effect: 'define',

  async run({ name }, executor) {
    requireDatabaseRight(executor.catalog, 'define')
    await executor.catalogTransaction.deleteSequence({ name: name.text })
    return noRows
  },

  explain: async () => noValue,
  details: ({ name }) => ({ sequence: name.text }),
}
