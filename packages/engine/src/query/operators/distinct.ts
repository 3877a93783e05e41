/** DISTINCT: of rows with equal columns the first, as they come; the keys of those that were seen are kept in memory. */
import { SteadyMap } from '../../budget/steady-map.ts'
import type { Evaluate, EvaluationContext } from '../evaluate/evaluation-context.ts'
import { textBytes, valueBytes } from '../evaluate/value-bytes.ts'
import { groupKey, keyWriter, type WriteKey } from '../evaluate/value-key.ts'
import { evaluateRows } from '../execute/evaluate-rows.ts'
import { enterOutput, type OutputRow, type RowKind } from '../execute/row.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import { rowOperatorPlan } from '../explain/explain-node.ts'
import { type PlanOperator, pipeline } from './row-operator.ts'

interface DistinctPlan {
  readonly keys: readonly Evaluate[]
  readonly writers: readonly WriteKey[]
}

export const planDistinct: PlanOperator = ({ distinct }, { compiler }) => {
  if (distinct === undefined) return undefined
  const plan = { keys: compiler.compileAll(distinct), writers: distinct.map(({ type }) => keyWriter(type)) }
  return {
    run(input, { kind, evaluation, context }) {
      const operator = rowOperatorPlan('distinct', { keys: plan.keys.length }, [input.operator])
      return pipeline(distinctRows(input.rows, plan, kind, evaluation, context), operator, input, context)
    },
  }
}

const keyBytes = 100

async function* distinctRows<R>(
  batches: AsyncIterable<readonly OutputRow<R>[]>,
  { keys, writers }: DistinctPlan,
  kind: RowKind<R>,
  evaluation: EvaluationContext,
  context: StatementContext,
): AsyncGenerator<readonly OutputRow<R>[]> {
  const seen = new SteadyMap<string, true>()
  for await (const rows of batches) {
    const evaluated = evaluateRows(context, rows, (row) => {
      enterOutput(row, kind, evaluation)
      const values = keys.map((key) => key(evaluation))
      for (const value of values) evaluation.memory.chargeRow(valueBytes(value))
      return groupKey(writers, values)
    })
    const keysOfRows = evaluated instanceof Promise ? await evaluated : evaluated
    const kept: OutputRow<R>[] = []
    for (const [i, key] of keysOfRows.entries()) {
      if (seen.has(key)) continue
      context.hold(1, keyBytes + textBytes(key.length))
      seen.set(key, true)
      kept.push(rows[i] as OutputRow<R>)
    }
    if (kept.length > 0) yield kept
    const pause = context.yieldIfDue()
    if (pause !== undefined) await pause
  }
}
