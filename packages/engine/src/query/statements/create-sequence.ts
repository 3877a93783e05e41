/** CREATE SEQUENCE, as part of the text's transaction. */
import { requireDatabaseRight } from '../../schema/sequence-definition.ts'
import { jsonRow } from '../execute/row-chunk.ts'
import type { CreateSequenceStatement } from '../language/ast.ts'
import { atPlace } from '../language/query-error.ts'
import { rowsAtHand } from './answer.ts'
import { noValue, type StatementKind } from './statement-kind.ts'

export const createSequence: StatementKind<CreateSequenceStatement> = {
  effect: 'define',

  async run(statement, executor) {
    requireDatabaseRight(executor.catalog, 'define')
    const { name, first = 1n, step = 1n } = statement
    const command = { name: name.text, start: first, step }
    const placeOf = (): CreateSequenceStatement['name'] => name
    await atPlace(executor.text, placeOf, () => executor.catalogTransaction.createSequence(command))
    return rowsAtHand([jsonRow({ name: name.text })])
  },

  explain: async () => noValue,
  details: ({ name }) => ({ sequence: name.text }),
}
