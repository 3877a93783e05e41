/** NEXT, and what statements about sequences need (docs/query-language.md, Sequences). */
import { AshlarError } from '../../errors.ts'
import type { Catalog, WholeAction } from '../../schema/catalog.ts'
import type { CallExpression } from '../language/ast.ts'
import { truncateForMessage } from '../language/query-error.ts'
import { integerType } from '../values/value-type.ts'
import type { Bound } from './bound.ts'
import { hint } from './class-names.ts'
import type { Binder, Scope } from './scope.ts'

/** A sequence is of no class: grants on some of them do not allow anything with it. Throws Forbidden. */
export function requireWhole({ permitsWhole }: Catalog, action: WholeAction): void {
  if (permitsWhole === undefined || permitsWhole(action)) return
  throw new AshlarError(
    'Forbidden',
    `Sequences are of the federated database as a whole, on which the caller may not ${action}.`,
  )
}

/** Throws QueryError, Forbidden. */
export function bindNext(expression: CallExpression, scope: Scope, binder: Binder): Bound {
  const { operands, start, end } = expression
  if (scope.mayDraw !== true) {
    throw binder.error(expression, 'NEXT stands in SHOW, LET, and values of CREATE, UPSERT and SET alone')
  }
  requireWhole(binder.catalog, 'write')
  const [name] = operands
  if (name?.kind !== 'literal' || name.literal.type !== 'string' || operands.length > 1) {
    throw binder.error(expression, "NEXT takes the name of a sequence, as a text that is written there: NEXT('s')")
  }
  const { value } = name.literal
  const { state, sequenceByName } = binder.catalog
  if (sequenceByName(value) === undefined) {
    const known = state.sequences.map((sequence) => sequence.name)
    throw binder.error(name, `there is no sequence '${truncateForMessage(value)}'${hint(value, known)}`)
  }
  return { kind: 'next', sequence: value, type: integerType, start, end }
}
