/** What window functions give for rows that are sorted by partition and order. */

import type { Awaitable } from '../../store/store.ts'
import type { AggregateName, BoundWindow, WindowName } from '../bind/bound.ts'
import { type Accumulator, accumulatorsOf } from '../evaluate/aggregate.ts'
import type { Compiler } from '../evaluate/compile-expression.ts'
import type { Evaluate, EvaluationContext } from '../evaluate/evaluation-context.ts'
import { elementBytes, valueBytes } from '../evaluate/value-bytes.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import { queryError } from '../language/query-error.ts'
import { isNullOf } from '../values/compare.ts'
import type { ValueType } from '../values/value-type.ts'

export interface FunctionPlan {
  readonly function: WindowName
  /** Among the results of a row. */
  readonly index: number
  /** Among the values of a row. */
  readonly operand: Evaluate | undefined
  readonly operandType: ValueType | undefined
  readonly otherwise: Evaluate | undefined
  readonly distance: Evaluate | undefined
  readonly fraction: Evaluate | undefined
  /** Of aggregates. */
  readonly newAccumulator: (() => Accumulator) | undefined
  readonly isOrdered: boolean
  readonly type: ValueType
  readonly span: { readonly start: number; readonly end: number }
}

export interface WindowRow {
  /** Among all rows, as they came. */
  readonly position: number
  /** The same for the rows of a partition. */
  readonly key: string
  /** The same for peers. */
  readonly order: Buffer
  /** Of each function two: its operand, and what LAG and LEAD give where there is no row. */
  readonly values: readonly unknown[]
}

/** What a window needs of a row. */
export type MadeRow = Omit<WindowRow, 'position'>

export function planFunction(window: BoundWindow, index: number, compiler: Compiler): FunctionPlan {
  const { operand, otherwise, distance, fraction, isDistinct, orderBy, type, start, end } = window
  const aggregate = aggregateOf(window.function)
  return {
    function: window.function,
    index,
    operand: operand && compiler.compile(operand),
    operandType: operand?.type,
    otherwise: otherwise && compiler.compile(otherwise),
    distance: distance && compiler.compile(distance),
    fraction: fraction && compiler.compile(fraction),
    newAccumulator: aggregate && accumulatorsOf(aggregate, operand?.type, isDistinct),
    isOrdered: orderBy.length > 0,
    type,
    span: { start, end },
  }
}

function aggregateOf(name: WindowName): AggregateName | undefined {
  switch (name) {
    case 'ROW_NUMBER':
    case 'RANK':
    case 'DENSE_RANK':
    case 'LAG':
    case 'LEAD':
    case 'FIRST_VALUE':
    case 'LAST_VALUE':
      return undefined
    default:
      return name
  }
}

/** What a function is given beside the rows. */
export interface Given {
  /** Of LAG and LEAD. */
  readonly distance: number
  /** Of PERCENTILE. */
  readonly fraction: unknown
}

/** What the results are worked out with. */
interface Work extends Given {
  readonly plan: FunctionPlan
  /** Which of the functions of the window it is. */
  readonly place: number
  readonly sorted: readonly WindowRow[]
  /** By the positions of the rows. */
  readonly results: readonly unknown[][]
  readonly evaluation: EvaluationContext
  readonly context: StatementContext
}

/** Fills in the results; others have their turns. `sorted`: by partition, then by order. */
export async function windowResults(
  plan: FunctionPlan,
  place: number,
  sorted: readonly WindowRow[],
  given: Given,
  results: readonly unknown[][],
  evaluation: EvaluationContext,
  context: StatementContext,
): Promise<void> {
  const work: Work = { ...given, plan, place, sorted, results, evaluation, context }
  for (let from = 0; from < sorted.length; ) {
    const to = await endOf(sorted, from, sameKey, context)
    await resultsOfPartition(work, from, to)
    from = to
  }
}

const rowsBetweenLooks = 256

type IsSame = (one: WindowRow, other: WindowRow) => boolean

function sameKey(one: WindowRow, other: WindowRow): boolean {
  return one.key === other.key
}

function samePeers(one: WindowRow, other: WindowRow): boolean {
  return one.key === other.key && one.order.equals(other.order)
}

/** Behind the last row that is the same as the first. */
async function endOf(
  sorted: readonly WindowRow[],
  from: number,
  isSame: IsSame,
  context: StatementContext,
): Promise<number> {
  const first = sorted[from] as WindowRow
  let to = from + 1
  while (to < sorted.length && isSame(first, sorted[to] as WindowRow)) {
    to++
    if (to % rowsBetweenLooks === 0 && context.isTurnDue) await context.turn()
  }
  return to
}

/** A partition, or a part of it whose rows are peers: from a row to before another. */
interface Span {
  readonly from: number
  readonly to: number
}

async function resultsOfPartition(work: Work, from: number, to: number): Promise<void> {
  const { plan, sorted, results, context } = work
  const accumulator = plan.newAccumulator?.()
  let dense = 0
  for (let at = from; at < to; ) {
    const peers: Span = { from: at, to: await endOf(sorted, at, samePeers, context) }
    dense++
    const total = accumulator && (await accumulated(work, accumulator, peers))
    for (let row = at; row < peers.to; row++) {
      const result = results[(sorted[row] as WindowRow).position] as unknown[]
      result[plan.index] = accumulator === undefined ? resultOf(work, row, { from, to }, peers, dense) : total
      if (row % rowsBetweenLooks === 0 && context.isTurnDue) await context.turn()
    }
    at = peers.to
  }
}

/** `dense`: how many groups of peers there are up to the row's. */
function resultOf(
  { plan, place, sorted, distance }: Work,
  row: number,
  partition: Span,
  peers: Span,
  dense: number,
): unknown {
  const valueAt = (at: number): unknown => sorted[at]?.values[2 * place] ?? null
  switch (plan.function) {
    case 'ROW_NUMBER':
      return row - partition.from + 1
    case 'RANK':
      return peers.from - partition.from + 1
    case 'DENSE_RANK':
      return dense
    case 'FIRST_VALUE':
      return valueAt(partition.from)
    case 'LAST_VALUE':
      return valueAt(peers.to - 1)
    default: {
      const beside = plan.function === 'LAG' ? row - distance : row + distance
      const isThere = beside >= partition.from && beside < partition.to
      return isThere ? valueAt(beside) : (sorted[row]?.values[2 * place + 1] ?? null)
    }
  }
}

/** The aggregate from the first row of the partition to these peers. Throws QueryError on overflow. */
async function accumulated(work: Work, accumulator: Accumulator, { from, to }: Span): Promise<unknown> {
  const { plan, place, sorted, evaluation, context, fraction } = work
  for (let row = from; row < to; row++) {
    const value = sorted[row]?.values[2 * place] ?? null
    context.hold(0, accumulate(accumulator, plan, value, evaluation), 'windows')
    if (row % rowsBetweenLooks === 0 && context.isTurnDue) await context.turn()
  }
  const result = totalOf(accumulator, fraction)
  if (Array.isArray(result)) context.hold(0, elementBytes * (result.length + 1), 'windows')
  return result
}

/** Returns about how many bytes more the accumulator holds. Throws QueryError on overflow. */
function accumulate(accumulator: Accumulator, plan: FunctionPlan, value: unknown, { text }: EvaluationContext): number {
  if (plan.operandType !== undefined && isNullOf(plan.operandType, value)) return 0
  const { held } = accumulator
  if (!accumulator.add(value)) {
    throw queryError(text, plan.span, `the sum is beyond what an ${plan.type.kind} holds`)
  }
  return (accumulator.held - held) * (elementBytes + valueBytes(value))
}

function totalOf(accumulator: Accumulator, fraction: unknown): unknown {
  const result = accumulator.result(fraction)
  // The same list goes on growing.
  return Array.isArray(result) ? [...result] : result
}

/** The result is the same for all peers, and known when the last of them was seen. */
export function isOfPeers({ function: name, newAccumulator }: FunctionPlan): boolean {
  return newAccumulator !== undefined || name === 'LAST_VALUE'
}

/** Such results, where rows come one after the other. */
export class PartitionTotals {
  private readonly functions: readonly FunctionPlan[]
  private readonly given: readonly Given[]
  private readonly evaluation: EvaluationContext
  private readonly context: StatementContext
  private accumulators: readonly (Accumulator | undefined)[] = []
  private values: readonly unknown[] = []
  private held = 0

  constructor(
    functions: readonly FunctionPlan[],
    given: readonly Given[],
    evaluation: EvaluationContext,
    context: StatementContext,
  ) {
    this.functions = functions
    this.given = given
    this.evaluation = evaluation
    this.context = context
  }

  /** Another partition; what is held of the one before is let go of. */
  begin(): void {
    this.context.hold(0, -this.held)
    this.held = 0
    this.accumulators = this.functions.map(({ newAccumulator }) => newAccumulator?.())
  }

  /** `values`: of each function its operand and another one. Throws QueryError on overflow, LimitExceeded and ServerBusy. */
  add(values: readonly unknown[]): void {
    this.values = values
    for (const [place, accumulator] of this.accumulators.entries()) {
      if (accumulator === undefined) continue
      const plan = this.functions[place] as FunctionPlan
      const more = accumulate(accumulator, plan, values[2 * place] ?? null, this.evaluation)
      if (more === 0) continue
      this.context.hold(0, more, 'windows')
      this.held += more
    }
  }

  /** Of the last row and its peers, for each function; undefined where the result is another one for each row. */
  ofPeers(): Awaitable<unknown[]> {
    let isLater = false
    const totals = this.functions.map((plan, place) => {
      const accumulator = this.accumulators[place]
      if (accumulator === undefined) return plan.function === 'LAST_VALUE' ? this.values[2 * place] : undefined
      const total = totalOf(accumulator, this.given[place]?.fraction)
      isLater ||= total instanceof Promise
      return total
    })
    return isLater ? Promise.all(totals) : totals
  }
}
