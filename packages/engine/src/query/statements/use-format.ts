/** USE … FORMAT: sets how the following statements read dates and times from texts. */
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
