/** IF … THEN … ELSE: executes one of two lists of statements. */
import type { IfStatement } from '../language/ast.ts'
import { excerpt } from '../language/query-error.ts'
import { booleanType } from '../values/value-type.ts'
import { noValue, type StatementKind } from './statement-kind.ts'

export const ifElse: StatementKind<IfStatement> = {
  effect: 'read',

  async run({ condition, whenTrue, whenFalse }, executor) {
    const { value } = await executor.value(condition, { requiredType: booleanType })
    return executor.runAll(value === true ? whenTrue : whenFalse)
  },

  async explain({ condition, whenTrue, whenFalse }, explainer) {
    await explainer.value(condition, { requiredType: booleanType })
    await explainer.parts(whenTrue)
    await explainer.parts(whenFalse)
    return noValue
  },

  details: ({ condition }, text) => ({ condition: excerpt(text, condition) }),
}
