/** ORDER BY: all rows, or only the first of them where so many are taken. */
import type { EvaluationContext } from '../evaluate/evaluation-context.ts'
import { type OrderPlan, planOrder, sortKey } from '../evaluate/sort-key.ts'
import { evaluateWhile } from '../execute/evaluate-rows.ts'
import { enterOutput, type OutputRow, type RowKind } from '../execute/row.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import { type ExplainNode, rowOperatorPlan } from '../explain/explain-node.ts'
import { rowsWanted } from './row-limits.ts'
import { type PlanOperator, pipeline } from './row-operator.ts'
import { SortedRows } from './sorted-rows.ts'

export const planSort: PlanOperator = ({ orderBy }, planning) => {
  const [first, last] = [orderBy[0]?.expression, orderBy.at(-1)]
  if (first === undefined || last === undefined) return undefined
  const order = planOrder(orderBy, planning.compiler)
  const by = `${planning.text.slice(first.start, last.expression.end)}${last.isDescending ? ' DESC' : ''}`
  return {
    async run(input, { limits, kind, evaluation, context }) {
      if (input.isOrdered) return input
      const wanted = await rowsWanted(limits, evaluation, context)
      const details = { by, ...(wanted === undefined ? {} : { first: wanted }) }
      const operator = rowOperatorPlan('sort', details, [input.operator])
      const sorted = sortRows(input.rows, order, { wanted, operator }, kind, evaluation, context)
      return pipeline(sorted, operator, input, context)
    },
  }
}

interface Sort {
  /** How many of the first rows are needed; undefined = all. */
  readonly wanted: number | undefined
  /** Is told what goes to disk. */
  readonly operator: ExplainNode | undefined
}

/** Equal rows stay in the order they came in. */
export async function* sortRows<R>(
  batches: AsyncIterable<readonly OutputRow<R>[]>,
  orderBy: readonly OrderPlan[],
  { wanted, operator }: Sort,
  kind: RowKind<R>,
  evaluation: EvaluationContext,
  context: StatementContext,
): AsyncGenerator<readonly OutputRow<R>[]> {
  const sorted = new SortedRows(kind, context, operator, { wanted })
  const isFull = (): boolean => sorted.isFull
  try {
    for await (const rows of batches) {
      for (let rest = rows; rest.length > 0; ) {
        const evaluated = evaluateWhile(
          context,
          rest,
          isFull,
          (row) => {
            enterOutput(row, kind, evaluation)
            return sorted.keyed(sortKey(orderBy, evaluation), row)
          },
          (made) => sorted.drop(made),
        )
        const taken = evaluated instanceof Promise ? await evaluated : evaluated
        for (const one of taken) sorted.push(one)
        rest = taken.length === rest.length ? [] : rest.slice(taken.length)
        await sorted.settle()
      }
      const pause = context.yieldIfDue()
      if (pause !== undefined) await pause
    }
    yield* sorted.sorted()
  } finally {
    await sorted.close()
  }
}
