/** ORDER BY: sorts all rows, or only the leading ones where their number is limited. */
import { needsFetch } from '../evaluate/evaluation-context.ts'
import { type OrderPlan, planOrder, RefusedNumbers, sortKeyBelow } from '../evaluate/sort-key.ts'
import { evaluateWhile } from '../execute/evaluate-rows.ts'
import type { PushRows, RowConsumer } from '../execute/pushed-rows.ts'
import { enterOutput, type OutputRow } from '../execute/row.ts'
import { type ExplainNode, rowOperatorPlan } from '../explain/explain-node.ts'
import { requiredRows } from './row-limits.ts'
import { noAggregates, type PlanOperator, pipeline, type RowFlow } from './row-operator.ts'
import { type KeyedRow, SortedRows } from './sorted-rows.ts'

export const planSort: PlanOperator = ({ orderBy }, planning) => {
  const [first, last] = [orderBy[0]?.expression, orderBy.at(-1)]
  if (first === undefined || last === undefined) return undefined
  const order = planOrder(orderBy, planning.compiler)
  const by = `${planning.text.slice(first.start, last.expression.end)}${last.isDescending ? ' DESC' : ''}`
  return {
    async run(input, { limits, kind, evaluation, context }) {
      if (input.isOrdered) return input
      const limit = await requiredRows(limits, evaluation, context)
      const details = { by, ...(limit === undefined ? {} : { first: limit }) }
      const operator = rowOperatorPlan('sort', details, [input.operator])
      const sorted = sortRows(input.push ?? input.rows, order, { limit, operator }, { kind, evaluation, context })
      return pipeline(sorted, operator, input, context)
    },
  }
}

interface Sort {
  /** Number of leading rows that are needed; undefined = all. */
  readonly limit: number | undefined
  /** Records spilling. */
  readonly operator: ExplainNode | undefined
}

/** Stable. */
export async function* sortRows<R>(
  rows: AsyncIterable<readonly OutputRow<R>[]> | PushRows<R>,
  orderBy: readonly OrderPlan[],
  { limit, operator }: Sort,
  flow: RowFlow<R>,
): AsyncGenerator<readonly OutputRow<R>[]> {
  const sorted = new SortedRows(flow.kind, flow.context, operator, { limit })
  const sorter = new Sorter(sorted, orderBy, flow)
  try {
    if (typeof rows === 'function') {
      await rows(sorter)
      await sorted.settle()
    } else for await (const batch of rows) await sorter.addAll(batch)
    yield* sorted.sorted()
  } finally {
    await sorted.close()
  }
}

/** Result for rows that are beyond the limit. */
const beyondLimit = {}

class Sorter<R> implements RowConsumer<R> {
  private readonly sorted: SortedRows<R>
  private readonly orderBy: readonly OrderPlan[]
  private readonly flow: RowFlow<R>
  private readonly refused: RefusedNumbers

  constructor(sorted: SortedRows<R>, orderBy: readonly OrderPlan[], flow: RowFlow<R>) {
    this.sorted = sorted
    this.orderBy = orderBy
    this.flow = flow
    this.refused = new RefusedNumbers(orderBy)
  }

  consume(row: R): boolean {
    const { sorted, orderBy } = this
    const { kind, evaluation } = this.flow
    if (sorted.isUnsettled) return false
    kind.enter(evaluation, row)
    let key: Buffer | undefined
    try {
      key = sortKeyBelow(orderBy, evaluation, sorted.worst, this.refused)
    } catch (error) {
      if (error !== needsFetch) throw error
      return false
    }
    if (key !== undefined) sorted.push(sorted.keyed(key, { row: kind.copy(row), aggregates: noAggregates }))
    return true
  }

  async consumeCopies(rows: readonly R[]): Promise<void> {
    await this.sorted.settle()
    await this.addAll(rows.map((row) => ({ row, aggregates: noAggregates })))
  }

  async addAll(rows: readonly OutputRow<R>[]): Promise<void> {
    const { sorted, orderBy } = this
    const { kind, evaluation, context } = this.flow
    const evaluate = (row: OutputRow<R>): KeyedRow<R> | typeof beyondLimit => {
      enterOutput(row, kind, evaluation)
      const key = sortKeyBelow(orderBy, evaluation, sorted.worst)
      return key === undefined ? beyondLimit : sorted.keyed(key, row)
    }
    const drop = (result: KeyedRow<R> | typeof beyondLimit): void => {
      if (isKeyed(result)) sorted.drop(result)
    }
    for (let rest = rows; rest.length > 0; ) {
      const evaluated = evaluateWhile(context, rest, () => sorted.isFull, evaluate, drop, orderBy.length)
      const accepted = evaluated instanceof Promise ? await evaluated : evaluated
      for (const one of accepted) if (isKeyed(one)) sorted.push(one)
      rest = accepted.length === rest.length ? [] : rest.slice(accepted.length)
      await sorted.settle()
    }
    const pause = context.yieldIfDue()
    if (pause !== undefined) await pause
  }
}

function isKeyed<R>(result: KeyedRow<R> | typeof beyondLimit): result is KeyedRow<R> {
  return result !== beyondLimit
}
