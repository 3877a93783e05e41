/** NEXT, which draws a number of a sequence (docs/query-language.md, Sequences). */
import { truncateForMessage } from '../../errors.ts'
import { requireDatabaseRight } from '../../schema/sequence-definition.ts'
import type { CallExpression } from '../language/ast.ts'
import { integerType } from '../values/value-type.ts'
import type { Bound } from './bound.ts'
import { hint } from './class-names.ts'
import type { Binder, Scope } from './scope.ts'

/** Throws QueryError, Forbidden. */
export function bindNext(expression: CallExpression, scope: Scope, binder: Binder): Bound {
  const { operands, start, end } = expression
  if (scope.mayDraw !== true) {
    throw binder.error(expression, 'NEXT stands in SHOW, LET, values of CREATE, UPSERT and SET, and defaults alone')
  }
  requireDatabaseRight(binder.catalog, 'write')
  const [name] = operands
  if (name?.kind !== 'literal' || name.literal.type !== 'string' || operands.length > 1) {
    throw binder.error(expression, "NEXT takes the name of a sequence, as a text that is written there: NEXT('s')")
  }
  const { value } = name.literal
  const { state, sequenceByName } = binder.catalog
  if (sequenceByName(value) === undefined) {
    const sequenceNames = state.sequences.map((sequence) => sequence.name)
    throw binder.error(
      name,
      `there is no sequence '${truncateForMessage(value)}'${hint(value, sequenceNames) || '; CREATE SEQUENCE makes one'}`,
    )
  }
  return { kind: 'next', sequence: value, type: integerType, start, end }
}
