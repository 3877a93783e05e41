/** SKIP and TAKE, by number or as long as a predicate is true. */

import type { Run } from '../evaluate/run.ts'
import { queryError } from '../language/query-error.ts'
import type { LimiterPlan } from '../plan/plan-select.ts'
import { constantOf } from './access-oids.ts'
import { evaluateRows } from './evaluate-rows.ts'
import { enterOutput } from './group-rows.ts'
import type { OutputRow, RowKind } from './row.ts'
import type { StatementContext } from './statement-context.ts'

/** Undefined without the clause, and where it is a predicate. Throws QueryError. */
export async function countOf(
  limiter: LimiterPlan | undefined,
  run: Run,
  context: StatementContext,
): Promise<number | undefined> {
  if (limiter === undefined || limiter.kind === 'while') return undefined
  const value = await constantOf(limiter.evaluate, run, context)
  if (value !== null && Number(value) >= 0) return Number(value)
  throw queryError(run.text, limiter.span, `a number of rows is 0 or more, not ${value}`)
}

export async function* limitRows<R>(
  batches: AsyncIterable<readonly OutputRow<R>[]>,
  limits: { readonly skip: LimiterPlan | undefined; readonly take: LimiterPlan | undefined },
  kind: RowKind<R>,
  run: Run,
  context: StatementContext,
): AsyncGenerator<readonly OutputRow<R>[]> {
  const { skip, take } = limits
  let toSkip = (await countOf(skip, run, context)) ?? 0
  let toTake = (await countOf(take, run, context)) ?? Number.POSITIVE_INFINITY
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
      const first = await firstUntrue(skip, rows, kind, run, context)
      isSkipping = first === rows.length
      rows = rows.slice(first)
    }
    let isLast = false
    if (take?.kind === 'while') {
      const first = await firstUntrue(take, rows, kind, run, context)
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

/** The position of the first row for which the predicate is not true. */
async function firstUntrue<R>(
  { evaluate }: LimiterPlan,
  rows: readonly OutputRow<R>[],
  kind: RowKind<R>,
  run: Run,
  context: StatementContext,
): Promise<number> {
  const results = await evaluateRows(context, rows, (row) => {
    enterOutput(row, kind, run)
    return evaluate(run) === true
  })
  const first = results.indexOf(false)
  return first < 0 ? rows.length : first
}
