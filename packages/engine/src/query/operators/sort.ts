/** ORDER BY: all rows in memory, or only the first of them where so many are taken. */
import { inSlices } from '../../store/time-slice.ts'
import type { EvaluationContext } from '../evaluate/evaluation-context.ts'
import { type OrderPlan, planOrder, sortKey } from '../evaluate/sort-key.ts'
import { evaluateRows } from '../execute/evaluate-rows.ts'
import { enterOutput, type OutputRow, type RowKind } from '../execute/row.ts'
import { sortInTurns } from '../execute/sort-in-turns.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import { rowOperatorPlan } from '../explain/explain-node.ts'
import { rowsWanted } from './row-limits.ts'
import { later, type PlanOperator, pipeline } from './row-operator.ts'

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
      const sorted = later(() => sortRows(input.rows, order, wanted, kind, evaluation, context))
      return pipeline(sorted, operator, input, context)
    },
  }
}

interface Keyed<R> {
  /** Of key and row. */
  readonly bytes: number
  readonly key: Buffer
  readonly row: OutputRow<R>
}

const rowBytes = 150
/** Among so many more than are taken, the best are picked out from time to time: in all, each row is sorted a few times. */
const spareRows = (wanted: number): number => Math.max(1_024, wanted >> 1)
/** And where they take so much. */
const spareBytes = 16 * 2 ** 20

/** `wanted`: how many of the first rows are needed; undefined = all. Equal rows stay in the order they came in. */
export async function sortRows<R>(
  batches: AsyncIterable<readonly OutputRow<R>[]>,
  orderBy: readonly OrderPlan[],
  wanted: number | undefined,
  kind: RowKind<R>,
  evaluation: EvaluationContext,
  context: StatementContext,
): Promise<OutputRow<R>[]> {
  let kept: Keyed<R>[] = []
  let heldRows = 0
  let keptBytes = 0
  let addedBytes = 0
  for await (const rows of batches) {
    const added = evaluateRows(context, rows, (row) => {
      enterOutput(row, kind, evaluation)
      const key = sortKey(orderBy, evaluation)
      const bytes = rowBytes + key.length + (row.row === undefined ? 0 : kind.bytesOf(row.row))
      evaluation.memory.chargeStatement(bytes)
      addedBytes += bytes
      return { key, row, bytes }
    })
    for (const one of added instanceof Promise ? await added : added) kept.push(one)
    if (
      wanted !== undefined &&
      kept.length > wanted &&
      (kept.length - wanted > spareRows(wanted) || addedBytes > spareBytes)
    ) {
      kept = await firstOf(kept, wanted, context)
      let bytes = 0
      for (const one of kept) bytes += one.bytes
      evaluation.memory.chargeStatement(bytes - keptBytes - addedBytes)
      keptBytes = bytes
      addedBytes = 0
    }
    // What will be dropped again does not count.
    const grown = Math.min(kept.length, wanted ?? kept.length) - heldRows
    if (grown > 0) context.holdRows(grown)
    heldRows += Math.max(0, grown)
    const pause = context.yieldIfDue()
    if (pause !== undefined) await pause
  }
  const all = await firstOf(kept, wanted, context)
  const sorted: OutputRow<R>[] = []
  await inSlices(all, ({ row }) => void sorted.push(row), context.script.slice)
  return sorted
}

/** In their order. */
async function firstOf<R>(
  rows: readonly Keyed<R>[],
  wanted: number | undefined,
  context: StatementContext,
): Promise<Keyed<R>[]> {
  const sorted = await sortInTurns(rows, byKey, () => context.yieldIfDue())
  return wanted === undefined || sorted.length <= wanted ? sorted : sorted.slice(0, wanted)
}

function byKey(one: Keyed<unknown>, other: Keyed<unknown>): number {
  return Buffer.compare(one.key, other.key)
}
