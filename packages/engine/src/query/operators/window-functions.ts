/** Window functions over rows that are sorted by partition and order. */

import type { AggregateName, BoundWindow, WindowName } from '../bind/bound.ts'
import { type Accumulator, accumulatorsOf, addValue } from '../evaluate/aggregate.ts'
import type { Compiler } from '../evaluate/compile-expression.ts'
import type { Evaluate, EvaluationContext } from '../evaluate/evaluation-context.ts'
import { elementBytes } from '../evaluate/value-bytes.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import type { ValueType } from '../values/value-type.ts'

export interface FunctionPlan {
  readonly function: WindowName
  /** Index among the results of a row. */
  readonly index: number
  readonly operand: Evaluate | undefined
  readonly operandType: ValueType | undefined
  readonly otherwise: Evaluate | undefined
  readonly distance: Evaluate | undefined
  readonly fraction: Evaluate | undefined
  /** Set for aggregates. */
  readonly newAccumulator: (() => Accumulator) | undefined
  readonly isOrdered: boolean
  readonly type: ValueType
  readonly span: { readonly start: number; readonly end: number }
}

export interface WindowRow {
  /** Index in the input. */
  readonly position: number
  /** Equal for the rows of a partition. */
  readonly key: string
  /** Equal for peers. */
  readonly order: Buffer
  /** Two per function: its operand, and the default of LAG and LEAD. */
  readonly values: readonly unknown[]
}

/** Inputs that a window takes from a row. */
export type WindowInput = Omit<WindowRow, 'position'>

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

/** Constant arguments of a function. */
export interface WindowArguments {
  /** Offset of LAG and LEAD. */
  readonly distance: number
  /** Fraction of PERCENTILE. */
  readonly fraction: unknown
}

interface WindowRun extends WindowArguments {
  readonly plan: FunctionPlan
  /** Index of the function within its window. */
  readonly ordinal: number
  readonly sorted: readonly WindowRow[]
  /** Indexed by the positions of the rows. */
  readonly results: readonly unknown[][]
  readonly evaluation: EvaluationContext
  readonly context: StatementContext
}

/** Computes the results, yielding to the event loop. `sorted`: by partition, then by order. */
export async function windowResults(
  plan: FunctionPlan,
  ordinal: number,
  sorted: readonly WindowRow[],
  args: WindowArguments,
  results: readonly unknown[][],
  evaluation: EvaluationContext,
  context: StatementContext,
): Promise<void> {
  const work: WindowRun = { ...args, plan, ordinal, sorted, results, evaluation, context }
  for (let from = 0; from < sorted.length; ) {
    const to = await endOf(sorted, from, sameKey, context)
    await resultsOfPartition(work, from, to)
    from = to
  }
}

const rowsPerTimeCheck = 256

type IsSame = (one: WindowRow, other: WindowRow) => boolean

function sameKey(one: WindowRow, other: WindowRow): boolean {
  return one.key === other.key
}

function samePeers(one: WindowRow, other: WindowRow): boolean {
  return one.key === other.key && one.order.equals(other.order)
}

/** Index after the last row that equals the first. */
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
    if (to % rowsPerTimeCheck === 0 && context.isYieldDue) await context.yieldToEventLoop()
  }
  return to
}

/** Rows of a partition or a peer group; `to` is exclusive. */
interface Span {
  readonly from: number
  readonly to: number
}

async function resultsOfPartition(work: WindowRun, from: number, to: number): Promise<void> {
  const { plan, sorted, results, context } = work
  const accumulator = plan.newAccumulator?.()
  let denseRank = 0
  for (let at = from; at < to; ) {
    const peers: Span = { from: at, to: await endOf(sorted, at, samePeers, context) }
    denseRank++
    const total = accumulator && (await runningTotal(work, accumulator, peers))
    for (let row = at; row < peers.to; row++) {
      const result = results[(sorted[row] as WindowRow).position] as unknown[]
      result[plan.index] = accumulator === undefined ? resultOf(work, row, { from, to }, peers, denseRank) : total
      if (row % rowsPerTimeCheck === 0 && context.isYieldDue) await context.yieldToEventLoop()
    }
    at = peers.to
  }
}

/** `denseRank`: number of peer groups up to the row's. */
function resultOf(
  { plan, ordinal, sorted, distance }: WindowRun,
  row: number,
  partition: Span,
  peers: Span,
  denseRank: number,
): unknown {
  const valueAt = (at: number): unknown => sorted[at]?.values[2 * ordinal] ?? null
  switch (plan.function) {
    case 'ROW_NUMBER':
      return row - partition.from + 1
    case 'RANK':
      return peers.from - partition.from + 1
    case 'DENSE_RANK':
      return denseRank
    case 'FIRST_VALUE':
      return valueAt(partition.from)
    case 'LAST_VALUE':
      return valueAt(peers.to - 1)
    default: {
      const target = plan.function === 'LAG' ? row - distance : row + distance
      const isInPartition = target >= partition.from && target < partition.to
      return isInPartition ? valueAt(target) : (sorted[row]?.values[2 * ordinal + 1] ?? null)
    }
  }
}

/** The aggregate from the start of the partition up to these peers. Throws QueryError on overflow. */
async function runningTotal(work: WindowRun, accumulator: Accumulator, { from, to }: Span): Promise<unknown> {
  const { plan, ordinal, sorted, evaluation, context, fraction } = work
  for (let row = from; row < to; row++) {
    const value = sorted[row]?.values[2 * ordinal] ?? null
    context.hold(0, addValue(accumulator, plan, value, evaluation), 'windows')
    if (row % rowsPerTimeCheck === 0 && context.isYieldDue) await context.yieldToEventLoop()
  }
  const result = totalOf(accumulator, fraction)
  if (Array.isArray(result)) context.hold(0, elementBytes * (result.length + 1), 'windows')
  return result
}

function totalOf(accumulator: Accumulator, fraction: unknown): unknown {
  const result = accumulator.result(fraction)
  // The accumulator continues to append to its list.
  return Array.isArray(result) ? [...result] : result
}

/** Whether all peers share the result, which is known after the last of them. */
export function isSharedByPeers({ function: name, newAccumulator }: FunctionPlan): boolean {
  return newAccumulator !== undefined || name === 'LAST_VALUE'
}

/** Computes shared results of peers while rows are added one by one. */
export class PartitionTotals {
  private readonly functions: readonly FunctionPlan[]
  private readonly args: readonly WindowArguments[]
  private readonly evaluation: EvaluationContext
  private readonly context: StatementContext
  private accumulators: readonly (Accumulator | undefined)[] = []
  private values: readonly unknown[] = []
  private retainedBytes = 0

  constructor(
    functions: readonly FunctionPlan[],
    args: readonly WindowArguments[],
    evaluation: EvaluationContext,
    context: StatementContext,
  ) {
    this.functions = functions
    this.args = args
    this.evaluation = evaluation
    this.context = context
  }

  /** Starts a partition and releases the memory of the previous one. */
  begin(): void {
    this.context.hold(0, -this.retainedBytes)
    this.retainedBytes = 0
    this.accumulators = this.functions.map(({ newAccumulator }) => newAccumulator?.())
  }

  /** `values`: operand and default of each function. Throws QueryError on overflow, LimitExceeded and ServerBusy. */
  add(values: readonly unknown[]): void {
    this.values = values
    for (const [ordinal, accumulator] of this.accumulators.entries()) {
      if (accumulator === undefined) continue
      const plan = this.functions[ordinal] as FunctionPlan
      const more = addValue(accumulator, plan, values[2 * ordinal] ?? null, this.evaluation)
      if (more === 0) continue
      this.context.hold(0, more, 'windows')
      this.retainedBytes += more
    }
  }

  /** Result of each function for the last row and its peers; undefined for functions whose results differ per row. */
  peerTotals(): unknown[] {
    return this.functions.map((plan, ordinal) => {
      const accumulator = this.accumulators[ordinal]
      if (accumulator === undefined) return plan.function === 'LAST_VALUE' ? this.values[2 * ordinal] : undefined
      return totalOf(accumulator, this.args[ordinal]?.fraction)
    })
  }
}
