/** USE … FORMAT: how the statements that follow read dates and times in texts. */
import type { FormatStatement } from '../language/ast.ts'
import { noRows } from './answer.ts'
import { noValue, type StatementKind } from './statement-kind.ts'

export const useFormat: StatementKind<FormatStatement> = {
  effect: 'read',

  async run(statement, executor) {
    executor.useFormat(statement)
    return noRows
  },

  async explain(statement, explainer) {
    explainer.useFormat(statement)
    return noValue
  },
}
