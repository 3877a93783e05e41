/** UNION: the rows of all its statements, equal ones once. */
import { TextMap } from '../../budget/text-map.ts'
import type { Bound } from '../bind/bound.ts'
import type { Evaluate, EvaluationContext } from './evaluation-context.ts'
import type { ExpressionCompiler } from './expression-compiler.ts'
import { elementBytes, valueBytes } from './value-bytes.ts'
import { groupKey, keyWriter, type WriteKey } from './value-key.ts'

/** Of a row. */
const [takenSteps, keptSteps] = [2, 60]

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
    for (const others of rows.slice(distinctParts)) {
      // The rows themselves are those of the parts.
      memory.chargeStatement(others.length * elementBytes, 'values')
      work.spend(others.length * takenSteps)
      for (const row of others) all.push(row)
    }
    return all
  }
}

/** The first of equal rows, in the order in which they come. */
function distinct(
  parts: readonly (readonly unknown[])[],
  writers: readonly WriteKey[],
  isOneColumn: boolean,
  { memory, work }: EvaluationContext,
): unknown[] {
  const all: unknown[] = []
  const known = new TextMap<true>()
  for (const rows of parts) {
    for (const row of rows) {
      const key = groupKey(writers, isOneColumn ? [row] : (row as readonly unknown[]))
      // A key may be as long as a text is.
      work.spend((1 + (key.length >> 8)) * keptSteps)
      if (known.has(key)) continue
      memory.chargeStatement(2 * elementBytes + valueBytes(key), 'values')
      known.set(key, true)
      all.push(row)
    }
  }
  return all
}
