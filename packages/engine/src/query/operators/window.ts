/**
 * OVER: all rows in memory, sorted once for each text that stands between its parentheses, and gone through from the first to the last. The rows
 * leave in the order in which they came.
 */
import type { BoundWindow } from '../bind/bound.ts'
import type { Evaluate, EvaluationContext } from '../evaluate/evaluation-context.ts'
import { type OrderPlan, planOrder, sortKey } from '../evaluate/sort-key.ts'
import { elementBytes, textBytes, valueBytes } from '../evaluate/value-bytes.ts'
import { groupKey, keyWriter, type WriteKey } from '../evaluate/value-key.ts'
import { evaluateConstant, evaluateRows } from '../execute/evaluate-rows.ts'
import { enterOutput, type OutputRow, type RowKind } from '../execute/row.ts'
import { sortInTurns } from '../execute/sort-in-turns.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import { rowOperatorPlan } from '../explain/explain-node.ts'
import { queryError } from '../language/query-error.ts'
import type { Planning } from './planning.ts'
import { later, type PlanOperator, pipeline } from './row-operator.ts'
import { type FunctionPlan, planFunction, type WindowRow, windowResults } from './window-functions.ts'

/** Functions over the same rows in the same order. */
interface WindowPlan {
  readonly partitionBy: readonly { readonly evaluate: Evaluate; readonly write: WriteKey }[]
  readonly orderBy: readonly OrderPlan[]
  readonly functions: readonly FunctionPlan[]
  readonly span: { readonly start: number; readonly end: number }
}

export const planWindows: PlanOperator = ({ windows }, planning) => {
  if (windows.length === 0) return undefined
  const plans = [...new Set(windows.map(({ over }) => over))].map((over) => planWindow(over, windows, planning))
  const details = { over: plans.map(({ span }) => planning.text.slice(span.start, span.end)) }
  return {
    run(input, { kind, evaluation, context }) {
      const operator = rowOperatorPlan('window', details, [input.operator])
      const rows = later(() => withWindows(input.rows, plans, windows.length, kind, evaluation, context))
      return pipeline(rows, operator, input, context)
    },
  }
}

function planWindow(over: string, windows: readonly BoundWindow[], planning: Planning): WindowPlan {
  const first = windows.find((window) => window.over === over) as BoundWindow
  const { compiler } = planning
  return {
    partitionBy: first.partitionBy.map((key) => ({ evaluate: compiler.compile(key), write: keyWriter(key.type) })),
    orderBy: planOrder(first.orderBy, compiler),
    functions: windows.flatMap((window, index) =>
      window.over === over ? [planFunction(window, index, compiler)] : [],
    ),
    span: { start: first.start, end: first.end },
  }
}

const rowBytes = 200

async function withWindows<R>(
  batches: AsyncIterable<readonly OutputRow<R>[]>,
  plans: readonly WindowPlan[],
  count: number,
  kind: RowKind<R>,
  evaluation: EvaluationContext,
  context: StatementContext,
): Promise<OutputRow<R>[]> {
  const rows: OutputRow<R>[] = []
  const windows: unknown[][] = []
  const rowsOfPlans: WindowRow[][] = plans.map(() => [])
  for await (const batch of batches) {
    const evaluated = evaluateRows(context, batch, (row) => {
      enterOutput(row, kind, evaluation)
      return plans.map((plan) => windowRow(plan, evaluation))
    })
    const made = evaluated instanceof Promise ? await evaluated : evaluated
    for (const [i, row] of batch.entries()) {
      const position = rows.length
      const bytes = rowBytes + count * elementBytes + (row.row === undefined ? 0 : kind.bytesOf(row.row))
      context.hold(1, bytes, 'windows')
      const results = new Array<unknown>(count).fill(null)
      windows.push(results)
      rows.push({ ...row, windows: results })
      for (const [plan, { key, order, values }] of (made[i] as MadeRow[]).entries()) {
        rowsOfPlans[plan]?.push({ position, key, order, values })
      }
    }
    const pause = context.yieldIfDue()
    if (pause !== undefined) await pause
  }
  for (const [i, plan] of plans.entries()) {
    const sorted = await sortInTurns(rowsOfPlans[i] as WindowRow[], inOrder, () => context.yieldIfDue(), orderBytes)
    for (const [place, one] of plan.functions.entries()) {
      const distance = await distanceOf(one, evaluation, context)
      const fraction = one.fraction && (await evaluateConstant(one.fraction, evaluation, context))
      await windowResults(one, place, sorted, { distance, fraction }, windows, evaluation, context)
    }
  }
  return rows
}

type MadeRow = Omit<WindowRow, 'position'>

/** What it takes is held until the statement ends. */
function windowRow({ partitionBy, orderBy, functions }: WindowPlan, evaluation: EvaluationContext): MadeRow {
  const parts = partitionBy.map(({ evaluate }) => evaluate(evaluation))
  const key = groupKey(
    partitionBy.map(({ write }) => write),
    parts,
  )
  const order = sortKey(orderBy, evaluation)
  const values = functions.map(({ operand, otherwise }) => [
    operand?.(evaluation) ?? null,
    otherwise?.(evaluation) ?? null,
  ])
  let bytes = textBytes(key.length) + order.length
  for (const pair of values) bytes += 2 * elementBytes + valueBytes(pair[0]) + valueBytes(pair[1])
  evaluation.memory.chargeStatement(bytes, 'windows')
  return { key, order, values }
}

function orderBytes({ key, order }: WindowRow): number {
  return key.length + order.length
}

function inOrder(one: WindowRow, other: WindowRow): number {
  if (one.key !== other.key) return one.key < other.key ? -1 : 1
  return Buffer.compare(one.order, other.order)
}

/** Throws QueryError. */
async function distanceOf(
  { distance, span }: FunctionPlan,
  evaluation: EvaluationContext,
  context: StatementContext,
): Promise<number> {
  if (distance === undefined) return 1
  const rows = await evaluateConstant(distance, evaluation, context)
  if (rows !== null && Number(rows) >= 0) return Number(rows)
  throw queryError(evaluation.text, span, `a number of rows is 0 or more, not ${rows}`)
}
