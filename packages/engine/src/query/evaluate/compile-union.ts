/** UNION: the rows of all its statements, equal ones once. */
import { SteadySet } from '../../budget/steady-map.ts'
import type { Bound } from '../bind/bound.ts'
import { LongWork, type Pieces } from '../functions/work.ts'
import type { Evaluate, EvaluationContext } from './evaluation-context.ts'
import type { ExpressionCompiler } from './expression-compiler.ts'
import { inParts } from './in-parts.ts'
import { elementBytes, valueBytes } from './value-bytes.ts'
import { groupKey, keyWriter, type WriteKey } from './value-key.ts'

/** Rows that are taken over without a turn for others, and steps of about 10 ns for each. */
const rowsAtOnce = 1_024
const [takenSteps, keptSteps] = [2, 60]

export function compileUnion(
  { operands, distinctParts, types, isOneColumn }: Extract<Bound, { kind: 'union' }>,
  compiler: ExpressionCompiler,
): Evaluate {
  const parts = compiler.compileAll(operands)
  const writers = types.map(keyWriter)
  return inParts(compiler, (evaluation) => {
    const rows = parts.map((part) => part(evaluation) as readonly unknown[])
    const distinct = distinctInPieces(rows.slice(0, distinctParts), writers, isOneColumn, evaluation)
    return new LongWork(allInPieces(distinct, rows.slice(distinctParts), evaluation))
  })
}

function* allInPieces(
  first: Generator<number, unknown[]>,
  rest: readonly (readonly unknown[])[],
  { memory }: EvaluationContext,
): Pieces {
  const all = yield* first
  for (const rows of rest) {
    // The rows themselves are those of the parts.
    memory.chargeStatement(rows.length * elementBytes, 'values')
    for (let at = 0; at < rows.length; at += rowsAtOnce) {
      all.push(...rows.slice(at, at + rowsAtOnce))
      yield rowsAtOnce * takenSteps
    }
  }
  return all
}

/** The first of equal rows, in the order in which they come. */
function* distinctInPieces(
  parts: readonly (readonly unknown[])[],
  writers: readonly WriteKey[],
  isOneColumn: boolean,
  { memory }: EvaluationContext,
): Generator<number, unknown[]> {
  const all: unknown[] = []
  const known = new SteadySet<string>()
  let sinceTurn = 0
  for (const rows of parts) {
    for (const row of rows) {
      const key = groupKey(writers, isOneColumn ? [row] : (row as readonly unknown[]))
      // A key may be as long as a text is.
      sinceTurn += 1 + (key.length >> 8)
      if (!known.has(key)) {
        memory.chargeStatement(2 * elementBytes + valueBytes(key), 'values')
        known.add(key)
        all.push(row)
      }
      if (sinceTurn < rowsAtOnce) continue
      yield sinceTurn * keptSteps
      sinceTurn = 0
    }
  }
  return all
}
