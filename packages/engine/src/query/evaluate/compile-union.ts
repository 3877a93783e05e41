/** Compiles UNION in expressions: the rows of all operands, with duplicates of the distinct ones removed. */
import { TextMap } from '../../budget/text-map.ts'
import type { Bound } from '../bind/bound.ts'
import type { Evaluate, EvaluationContext } from './evaluation-context.ts'
import type { ExpressionCompiler } from './expression-compiler.ts'
import { elementBytes, valueBytes } from './value-bytes.ts'
import { groupKey, keyWriter, type WriteKey } from './value-key.ts'

/** Work steps per row that is appended, and per row that is compared. */
const [appendSteps, distinctSteps] = [2, 60]

export function compileUnion(
  { operands, distinctParts, types, isOneColumn }: Extract<Bound, { kind: 'union' }>,
  compiler: ExpressionCompiler,
): Evaluate {
  const parts = compiler.compileAll(operands)
  const writers = types.map(keyWriter)
  return (evaluation) => {
    const { memory, work } = evaluation
    const rows = parts.map((part) => part(evaluation) as readonly unknown[])
    const all = distinct(rows.slice(0, distinctParts), writers, isOneColumn, evaluation)
    for (const appended of rows.slice(distinctParts)) {
      // The rows themselves belong to the operands.
      memory.chargeStatement(appended.length * elementBytes, 'values')
      work.spend(appended.length * appendSteps)
      for (const row of appended) all.push(row)
    }
    return all
  }
}

/** The first of equal rows, in order. */
function distinct(
  parts: readonly (readonly unknown[])[],
  writers: readonly WriteKey[],
  isOneColumn: boolean,
  { memory, work }: EvaluationContext,
): unknown[] {
  const all: unknown[] = []
  const seen = new TextMap<true>()
  for (const rows of parts) {
    for (const row of rows) {
      const key = groupKey(writers, isOneColumn ? [row] : (row as readonly unknown[]))
      // Keys may be as long as texts.
      work.spend((1 + (key.length >> 8)) * distinctSteps)
      if (seen.has(key)) continue
      memory.chargeStatement(2 * elementBytes + valueBytes(key), 'values')
      seen.set(key, true)
      all.push(row)
    }
  }
  return all
}
