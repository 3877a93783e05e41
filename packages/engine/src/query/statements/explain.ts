/** EXPLAIN and EXPLAIN ANALYZE: the plan of a statement, as one row. */

import { jsonRow } from '../execute/row-chunk.ts'
import type { ExplainStatement } from '../language/ast.ts'
import { rowsAtHand } from './answer.ts'
import { noValue, type StatementKind } from './statement-kind.ts'

export const explain: StatementKind<ExplainStatement> = {
  // The effect of its statement is counted separately, and only under ANALYZE.
  effect: 'read',

  async run({ statement, isAnalyze }, executor) {
    return rowsAtHand([jsonRow(await executor.explained(statement, isAnalyze))])
  },

  async explain({ statement }, explainer) {
    await explainer.parts([statement])
    return noValue
  },
}
