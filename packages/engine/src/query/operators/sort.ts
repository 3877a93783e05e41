/** ORDER BY: all rows, or only the first of them where so many are taken. */
import { needsFetch } from '../evaluate/evaluation-context.ts'
import { type OrderPlan, planOrder, RefusedNumbers, sortKeyBelow } from '../evaluate/sort-key.ts'
import { evaluateWhile } from '../execute/evaluate-rows.ts'
import type { PushRows, RowConsumer } from '../execute/pushed-rows.ts'
import { enterOutput, type OutputRow } from '../execute/row.ts'
import { type ExplainNode, rowOperatorPlan } from '../explain/explain-node.ts'
import { rowsWanted } from './row-limits.ts'
import { type Flow, noAggregates, type PlanOperator, pipeline } from './row-operator.ts'
import { type KeyedRow, SortedRows } from './sorted-rows.ts'

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
      const sorted = sortRows(input.push ?? input.rows, order, { wanted, operator }, { kind, evaluation, context })
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

type SortFlow<R> = Pick<Flow<R>, 'kind' | 'evaluation' | 'context'>

/** Equal rows stay in the order they came in. */
export async function* sortRows<R>(
  rows: AsyncIterable<readonly OutputRow<R>[]> | PushRows<R>,
  orderBy: readonly OrderPlan[],
  { wanted, operator }: Sort,
  flow: SortFlow<R>,
): AsyncGenerator<readonly OutputRow<R>[]> {
  const sorted = new SortedRows(flow.kind, flow.context, operator, { wanted })
  const sorter = new Sorter(sorted, orderBy, flow)
  try {
    if (typeof rows === 'function') {
      await rows(sorter)
      await sorted.settle()
    } else for await (const batch of rows) await sorter.takeAll(batch)
    yield* sorted.sorted()
  } finally {
    await sorted.close()
  }
}

/** Keys of rows of which so many are before them that they are not kept. */
const tooLate = {}

class Sorter<R> implements RowConsumer<R> {
  private readonly sorted: SortedRows<R>
  private readonly orderBy: readonly OrderPlan[]
  private readonly flow: SortFlow<R>
  private readonly refused: RefusedNumbers

  constructor(sorted: SortedRows<R>, orderBy: readonly OrderPlan[], flow: SortFlow<R>) {
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
    if (key !== undefined) sorted.push(sorted.keyed(key, { row: kind.kept(row), aggregates: noAggregates }))
    return true
  }

  async consumeCopies(rows: readonly R[]): Promise<void> {
    await this.sorted.settle()
    await this.takeAll(rows.map((row) => ({ row, aggregates: noAggregates })))
  }

  async takeAll(rows: readonly OutputRow<R>[]): Promise<void> {
    const { sorted, orderBy } = this
    const { kind, evaluation, context } = this.flow
    const evaluate = (row: OutputRow<R>): KeyedRow<R> | typeof tooLate => {
      enterOutput(row, kind, evaluation)
      const key = sortKeyBelow(orderBy, evaluation, sorted.worst)
      return key === undefined ? tooLate : sorted.keyed(key, row)
    }
    const drop = (made: KeyedRow<R> | typeof tooLate): void => {
      if (isKeyed(made)) sorted.drop(made)
    }
    for (let rest = rows; rest.length > 0; ) {
      const evaluated = evaluateWhile(context, rest, () => sorted.isFull, evaluate, drop, orderBy.length)
      const taken = evaluated instanceof Promise ? await evaluated : evaluated
      for (const one of taken) if (isKeyed(one)) sorted.push(one)
      rest = taken.length === rest.length ? [] : rest.slice(taken.length)
      await sorted.settle()
    }
    const pause = context.yieldIfDue()
    if (pause !== undefined) await pause
  }
}

function isKeyed<R>(made: KeyedRow<R> | typeof tooLate): made is KeyedRow<R> {
  return made !== tooLate
}
