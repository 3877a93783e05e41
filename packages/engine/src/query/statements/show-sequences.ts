/** SHOW SEQUENCES: their definitions and next values. Requires the right to define sequences. */

import { requireDatabaseRight } from '../../schema/sequence-definition.ts'
import { listSequences, sequenceJson } from '../../sequences/list-sequences.ts'
import { textRow } from '../execute/row-chunk.ts'
import type { ShowSequencesStatement } from '../language/ast.ts'
import { rowsAtHand } from './answer.ts'
import { noValue, type StatementKind } from './statement-kind.ts'

export const showSequences: StatementKind<ShowSequencesStatement> = {
  effect: 'define',

  async run(_statement, executor) {
    const { catalog, catalogTransaction } = executor
    requireDatabaseRight(catalog, 'define')
    const listed = await listSequences(catalog, catalogTransaction.transaction)
    return rowsAtHand(listed.map((sequence) => textRow(sequenceJson(sequence))))
  },

  explain: async () => noValue,
}
