/** SKIP and TAKE, by number or while a predicate is true. */
import type { EvaluationContext } from '../evaluate/evaluation-context.ts'
import { evaluateRows } from '../execute/evaluate-rows.ts'
import { enterOutput, type OutputRow, type RowKind } from '../execute/row.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import { rowOperatorPlan } from '../explain/explain-node.ts'
import { countOf, type LimitPlan, type RowLimits } from './row-limits.ts'
import { type PlanOperator, pipeline, type RowOperator } from './row-operator.ts'

export const planLimit: PlanOperator = ({ skip, take }) => {
  return skip === undefined && take === undefined ? undefined : limit
}

const limit: RowOperator = {
  run(input, { limits, kind, evaluation, context }) {
    const { skip, take } = limits
    const details = {
      ...(skip === undefined ? {} : { skip: skip.text }),
      ...(take === undefined ? {} : { take: take.text }),
    }
    const operator = rowOperatorPlan('limit', details, [input.operator])
    return pipeline(limitRows(input.rows, limits, kind, evaluation, context), operator, input, context)
  },
}

async function* limitRows<R>(
  batches: AsyncIterable<readonly OutputRow<R>[]>,
  limits: RowLimits,
  kind: RowKind<R>,
  evaluation: EvaluationContext,
  context: StatementContext,
): AsyncGenerator<readonly OutputRow<R>[]> {
  const { skip, take } = limits
  let toSkip = (await countOf(skip, evaluation, context)) ?? 0
  let toTake = (await countOf(take, evaluation, context)) ?? Number.POSITIVE_INFINITY
  let isSkipping = skip?.kind === 'while'
  if (toTake === 0) return
  for await (const batch of batches) {
    let rows = batch
    if (toSkip > 0) {
      const skipped = Math.min(toSkip, rows.length)
      toSkip -= skipped
      rows = rows.slice(skipped)
    }
    if (isSkipping && skip !== undefined) {
      const first = await firstUntrue(skip, rows, kind, evaluation, context)
      isSkipping = first === rows.length
      rows = rows.slice(first)
    }
    let isLast = false
    if (take?.kind === 'while') {
      const first = await firstUntrue(take, rows, kind, evaluation, context)
      isLast = first < rows.length
      rows = rows.slice(0, first)
    }
    if (rows.length >= toTake) {
      rows = rows.slice(0, toTake)
      isLast = true
    }
    toTake -= rows.length
    if (rows.length > 0) yield rows
    if (isLast) return
  }
}

/** Index of the first row for which the predicate is not true. */
async function firstUntrue<R>(
  { evaluate }: LimitPlan,
  rows: readonly OutputRow<R>[],
  kind: RowKind<R>,
  evaluation: EvaluationContext,
  context: StatementContext,
): Promise<number> {
  const results = await evaluateRows(context, rows, (row) => {
    enterOutput(row, kind, evaluation)
    return evaluate(evaluation) === true
  })
  const first = results.indexOf(false)
  return first < 0 ? rows.length : first
}
