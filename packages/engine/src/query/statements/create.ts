/** CREATE: makes a new object; also an expression within other statements. */
import { refuseRoot, resolveReferenceable } from '../bind/class-names.ts'
import type { Binder } from '../bind/scope.ts'
import type { CreateStatement, Expression, UpsertStatement } from '../language/ast.ts'
import type { ValueType } from '../values/value-type.ts'
import { identifierRow } from './answer.ts'
import type { StatementKind } from './statement-kind.ts'

export const create: StatementKind<CreateStatement> = {
  effect: 'write',
  run: async (statement, executor) => identifierRow(await executor.value(createExpression(statement))),
  value: (statement, executor) => executor.value(createExpression(statement)),
  valueType: referenceToNew,
  explain: async (statement, explainer) => (await explainer.value(createExpression(statement))).type,
  details: ({ className }) => ({ class: className.text }),
}

const createExpressions = new WeakMap<CreateStatement, Expression>()

/** One node per statement, so that its plan is found in the cache. */
function createExpression(statement: CreateStatement): Expression {
  let expression = createExpressions.get(statement)
  if (expression === undefined) {
    expression = { kind: 'nested', statement, start: statement.start, end: statement.end }
    createExpressions.set(statement, expression)
  }
  return expression
}

/** A reference to an object of the class that CREATE or UPSERT names. */
export function referenceToNew({ className }: CreateStatement | UpsertStatement, binder: Binder): ValueType {
  const cls = resolveReferenceable(binder, className, ['query', 'create'])
  return { kind: 'reference', cls: refuseRoot(binder, className, cls) }
}
