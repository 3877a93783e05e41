/** The order of rows as bytes: those of ORDER BY are compared as index keys are. */
import type { BoundOrderItem } from '../bind/bound.ts'
import type { Evaluate, EvaluationContext } from './evaluation-context.ts'
import type { ExpressionCompiler } from './expression-compiler.ts'
import { valueBytes } from './value-bytes.ts'
import { beginKey, keyWriter, type WriteKey } from './value-key.ts'

export interface OrderPlan {
  readonly evaluate: Evaluate
  readonly write: WriteKey
  readonly isDescending: boolean
}

export function planOrder(orderBy: readonly BoundOrderItem[], compiler: ExpressionCompiler): OrderPlan[] {
  return orderBy.map(({ expression, type, isDescending }) => {
    return { evaluate: compiler.compile(expression), write: keyWriter(type), isDescending }
  })
}

/** Nulls last where it ascends, first where it descends: a descending part has all its bytes turned. */
export function sortKey(orderBy: readonly OrderPlan[], evaluation: EvaluationContext): Buffer {
  const values = orderBy.map(({ evaluate }) => evaluate(evaluation))
  for (const value of values) evaluation.memory.chargeRow(valueBytes(value))
  const writer = beginKey()
  for (const [i, { write, isDescending }] of orderBy.entries()) {
    const start = writer.to.length
    write(values[i], writer)
    if (!isDescending) continue
    const { bytes, length } = writer.to
    for (let at = start; at < length; at++) bytes[at] = ~(bytes[at] as number) & 0xff
  }
  return writer.to.copy()
}
