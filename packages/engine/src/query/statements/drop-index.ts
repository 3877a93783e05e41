/** DROP INDEX, as part of the text's transaction. */
import type { DropIndexStatement } from '../language/ast.ts'
import { noRows } from './answer.ts'
import { noValue, type StatementKind } from './statement-kind.ts'

export const dropIndexKind: StatementKind<DropIndexStatement> = {
  effect: 'define',

  async run({ name }, executor) {
    await executor.catalogTransaction.deleteIndex({ name })
    return noRows
  },

  explain: async () => noValue,
  details: ({ name }) => ({ index: name }),
}
