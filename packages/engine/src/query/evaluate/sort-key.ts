/** The order of rows as bytes: those of ORDER BY are compared as index keys are. */
import type { BoundOrderItem } from '../bind/bound.ts'
import type { Evaluate, EvaluationContext } from './evaluation-context.ts'
import type { ExpressionCompiler } from './expression-compiler.ts'
import { valueBytes } from './value-bytes.ts'
import { beginKey, keyWriter, type WriteKey } from './value-key.ts'

/** For fewer, a view of words costs more than it spares. */
const turnedOneByOneMax = 256
const wordBytes = 4

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
    turnBytes(writer.to.bytes, start, writer.to.length)
  }
  return writer.to.taken()
}

/** Where there are many, four at a time. */
function turnBytes(bytes: Buffer, from: number, to: number): void {
  let at = from
  if (to - from > turnedOneByOneMax) {
    const first = Math.ceil((bytes.byteOffset + from) / wordBytes)
    const words = new Int32Array(
      bytes.buffer,
      first * wordBytes,
      Math.floor((bytes.byteOffset + to) / wordBytes) - first,
    )
    const wordsFrom = first * wordBytes - bytes.byteOffset
    for (; at < wordsFrom; at++) bytes[at] = ~(bytes[at] as number) & 0xff
    for (let i = 0; i < words.length; i++) words[i] = ~(words[i] as number)
    at += words.byteLength
  }
  for (; at < to; at++) bytes[at] = ~(bytes[at] as number) & 0xff
}
