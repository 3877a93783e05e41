/** ALTER SEQUENCE … RESTART, as part of the text's transaction: its own NEXT uses the new value at once, other transactions after the commit. */
import { requireDatabaseRight } from '../../schema/sequence-definition.ts'
import type { AlterSequenceStatement } from '../language/ast.ts'
import { noRows } from './answer.ts'
import { noValue, type StatementKind } from './statement-kind.ts'

export const alterSequence: StatementKind<AlterSequenceStatement> = {
  effect: 'define',

  async run({ name, restart }, executor) {
    requireDatabaseRight(executor.catalog, 'define')
    executor.catalogTransaction.restartSequence({ name: name.text, next: restart })
    return noRows
  },

  explain: async () => noValue,
  details: ({ name }) => ({ sequence: name.text }),
}
