/** From qualifying rows to the rows of the reply: GROUP BY, ORDER BY, SKIP, TAKE. */

import { type Run, unknownValue } from '../evaluate/run.ts'
import { type OperatorPlan, operatorPlan } from '../explain/operator-plan.ts'
import type { ClausesPlan } from '../plan/plan-select.ts'
import { groupRows } from './group-rows.ts'
import { countOf, limitRows } from './limit-rows.ts'
import type { OutputRow, RowBatches, RowKind } from './row.ts'
import { sortRows } from './sort-rows.ts'
import type { StatementContext } from './statement-context.ts'

export interface Pipeline<R> {
  readonly rows: AsyncIterable<readonly OutputRow<R>[]>
  readonly operator: OperatorPlan
}

/** `isOrdered`: the rows come in the order asked for. */
export async function runClauses<R>(
  input: { readonly rows: RowBatches<R>; readonly operator: OperatorPlan; readonly isOrdered: boolean },
  plan: ClausesPlan,
  kind: RowKind<R>,
  run: Run,
  context: StatementContext,
): Promise<Pipeline<R>> {
  const { group, orderBy, skip, take } = plan
  let operator = input.operator
  let rows: AsyncIterable<readonly OutputRow<R>[]> = asOutput(input.rows)
  if (group !== undefined) {
    const aggregates = group.aggregates.map(({ function: name }) => name)
    const details = { keys: group.keys.length, aggregates, ...group.texts }
    operator = operatorPlan('group', details, [operator])
    const grouped = counted(
      later(() => groupRows(input.rows, group, kind, run, context)),
      operator,
    )
    rows = context.measured(grouped, operator)
  }
  if (orderBy.length > 0 && !input.isOrdered) {
    const wanted = await rowsWanted(plan, run, context)
    const unsorted = rows
    operator = operatorPlan('sort', { by: plan.orderText, ...(wanted === undefined ? {} : { first: wanted }) }, [
      operator,
    ])
    const sorted = counted(
      later(() => sortRows(unsorted, orderBy, wanted, kind, run, context)),
      operator,
    )
    rows = context.measured(sorted, operator)
  }
  if (skip !== undefined || take !== undefined) {
    const details = {
      ...(skip === undefined ? {} : { skip: skip.text }),
      ...(take === undefined ? {} : { take: take.text }),
    }
    operator = operatorPlan('limit', details, [operator])
    rows = context.measured(counted(limitRows(rows, plan, kind, run, context), operator), operator)
  }
  return { rows, operator }
}

/** How many of the first rows are looked at; undefined where that is not known before. */
export async function rowsWanted(
  { skip, take }: ClausesPlan,
  run: Run,
  context: StatementContext,
): Promise<number | undefined> {
  if (skip?.kind === 'while' || take === undefined || take.kind === 'while') return undefined
  try {
    return ((await countOf(skip, run, context)) ?? 0) + ((await countOf(take, run, context)) ?? 0)
  } catch (error) {
    if (error !== unknownValue) throw error
    return undefined
  }
}

const noAggregates: readonly unknown[] = []

async function* asOutput<R>(batches: RowBatches<R>): AsyncGenerator<readonly OutputRow<R>[]> {
  for await (const rows of batches) yield rows.map((row) => ({ row, aggregates: noAggregates }))
}

const batchRows = 256

/** Rows that are there all at once, in batches. */
async function* later<T>(make: () => Promise<readonly T[]>): AsyncGenerator<readonly T[]> {
  const rows = await make()
  for (let at = 0; at < rows.length; at += batchRows) yield rows.slice(at, at + batchRows)
}

/** The rows as they come; the operator knows how many. */
export async function* counted<T>(
  batches: AsyncIterable<readonly T[]>,
  operator: OperatorPlan,
): AsyncGenerator<readonly T[]> {
  for await (const rows of batches) {
    operator.returned += rows.length
    yield rows
  }
}
