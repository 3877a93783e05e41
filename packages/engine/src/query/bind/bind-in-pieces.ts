/** Expressions of very many operands, bound in pieces between which others may have their turn. */
import type { Expression } from '../language/ast.ts'
import { bindCaseInPieces } from './bind-case.ts'
import { bindJunctionInPieces, isJunction } from './bind-operation.ts'
import type { Bound } from './bound.ts'
import type { Binder, Scope } from './scope.ts'

/** How deep junctions within each other are bound in pieces: each piece passes through all those around it. */
const depthMax = 8

/** As `Binder.bind`: AND and OR, and those within them, part by part, and CASE branch by branch. Throws QueryError. */
export function* bindInPieces(
  expression: Expression,
  scope: Scope,
  binder: Binder,
  depth = 0,
): Generator<undefined, Bound> {
  if (depth < depthMax && expression.kind === 'operation' && isJunction(expression)) {
    const bindPart = (operand: Expression) => bindInPieces(operand, scope, binder, depth + 1)
    return yield* bindJunctionInPieces(expression, bindPart, binder)
  }
  if (expression.kind === 'case') return binder.asGroupKey(yield* bindCaseInPieces(expression, scope, binder), scope)
  return binder.bind(expression, scope)
}
