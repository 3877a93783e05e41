/** OVER: sorts the rows once per window specification and computes its functions, in memory or on disk. The input order is kept. */
import { inSlices } from '../../store/time-slice.ts'
import type { BoundWindow } from '../bind/bound.ts'
import type { EvaluationContext } from '../evaluate/evaluation-context.ts'
import { planOrder, sortKey } from '../evaluate/sort-key.ts'
import { elementBytes, textBytes, valueBytes } from '../evaluate/value-bytes.ts'
import { groupKey, keyWriter } from '../evaluate/value-key.ts'
import { evaluateConstant, evaluateWhile } from '../execute/evaluate-rows.ts'
import { enterOutput, type OutputRow } from '../execute/row.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import { type ExplainNode, rowOperatorPlan } from '../explain/explain-node.ts'
import { queryError } from '../language/query-error.ts'
import type { Planning } from './planning.ts'
import { batchesOf, type PlanOperator, pipeline, type RowFlow } from './row-operator.ts'
import { SpilledWindows, type WindowPlan } from './spilled-windows.ts'
import {
  type FunctionPlan,
  planFunction,
  type WindowArguments,
  type WindowInput,
  type WindowRow,
  windowResults,
} from './window-functions.ts'

export const planWindows: PlanOperator = ({ windows }, planning) => {
  if (windows.length === 0) return undefined
  const byOver = new Map<string, Numbered[]>()
  for (const [index, window] of windows.entries()) {
    const same = byOver.get(window.over)
    if (same === undefined) byOver.set(window.over, [{ window, index }])
    else same.push({ window, index })
  }
  const plans = [...byOver.values()].map((same) => planWindow(same, planning))
  const details = { over: plans.map(({ span }) => planning.text.slice(span.start, span.end)) }
  return {
    run(input, { kind, evaluation, context }) {
      const operator = rowOperatorPlan('window', details, [input.operator])
      const rows = withWindows(input.rows, { plans, count: windows.length }, operator, { kind, evaluation, context })
      return pipeline(rows, operator, input, context)
    },
  }
}

interface Numbered {
  readonly window: BoundWindow
  /** Index among all window functions of the statement. */
  readonly index: number
}

/** Plan for the functions that share a window specification. */
function planWindow(same: readonly Numbered[], planning: Planning): WindowPlan {
  const { window: first } = same[0] as Numbered
  const { compiler } = planning
  return {
    partitionBy: first.partitionBy.map((key) => ({ evaluate: compiler.compile(key), write: keyWriter(key.type) })),
    orderBy: planOrder(first.orderBy, compiler),
    functions: same.map(({ window, index }) => planFunction(window, index, compiler)),
    span: { start: first.start, end: first.end },
  }
}

const rowBytes = 200

interface Windows {
  readonly plans: readonly WindowPlan[]
  /** Number of functions. */
  readonly count: number
}

async function* withWindows<R>(
  batches: AsyncIterable<readonly OutputRow<R>[]>,
  windows: Windows,
  operator: ExplainNode,
  flow: RowFlow<R>,
): AsyncGenerator<readonly OutputRow<R>[]> {
  const buffered = new BufferedRows(windows, operator, flow)
  try {
    for await (const batch of batches) await buffered.addAll(batch)
    const { onDisk } = buffered
    if (onDisk === undefined) yield* batchesOf(() => resultsInMemory(buffered, windows, flow))
    else yield* onDisk.rows((plan) => windowArguments(plan, flow))
  } finally {
    await buffered.onDisk?.close()
  }
}

/** Buffered input rows, with the inputs of each window. */
class BufferedRows<R> {
  /** Undefined while all rows fit in memory. */
  onDisk: SpilledWindows<R> | undefined
  rows: OutputRow<R>[] = []
  inputs: WindowInput[][] = []
  private readonly windows: Windows
  private readonly operator: ExplainNode
  private readonly flow: RowFlow<R>
  private bytes = 0

  constructor(windows: Windows, operator: ExplainNode, flow: RowFlow<R>) {
    this.windows = windows
    this.operator = operator
    this.flow = flow
  }

  async addAll(batch: readonly OutputRow<R>[]): Promise<void> {
    const { context } = this.flow
    for (let rest = batch; rest.length > 0; ) {
      const count = await this.addFirst(rest)
      rest = count === rest.length ? [] : rest.slice(count)
      // Once rows are on disk, each batch is written at once.
      if (this.onDisk !== undefined || this.isFull()) await this.write()
      const pause = context.yieldIfDue()
      if (pause !== undefined) await pause
    }
  }

  /** Moves everything buffered to disk. */
  private async write(): Promise<void> {
    const { rows, inputs, bytes, flow, windows, operator } = this
    // Releases the memory first: the run is written from the same rows.
    flow.context.hold(-rows.length, -bytes)
    this.rows = []
    this.inputs = []
    this.bytes = 0
    this.onDisk ??= new SpilledWindows(windows.plans, windows.count, operator, flow)
    await this.onDisk.add(rows, inputs)
  }

  /** `more`: rows that are not buffered yet. */
  private isFull(more = 0): boolean {
    return this.flow.context.isSpillDue(this.rows.length + more, this.bytes)
  }

  /** Buffers the rows that fit in memory; returns their number. */
  private async addFirst(batch: readonly OutputRow<R>[]): Promise<number> {
    const { windows, flow } = this
    const { kind, evaluation, context } = flow
    let count = 0
    const evaluated = evaluateWhile(
      context,
      batch,
      () => this.isFull(count),
      (row) => {
        enterOutput(row, kind, evaluation)
        const inputs = windows.plans.map((plan) => windowInput(plan, evaluation))
        let bytes = rowBytes + windows.count * elementBytes
        for (const one of inputs) bytes += bytesOf(one)
        this.charge(bytes)
        count++
        return { inputs, bytes }
      },
      ({ bytes }) => {
        this.charge(-bytes)
        count--
      },
    )
    const evaluatedRows = evaluated instanceof Promise ? await evaluated : evaluated
    for (const [i, { inputs }] of evaluatedRows.entries()) {
      const row = batch[i] as OutputRow<R>
      this.charge(row.row === undefined ? 0 : kind.bytesOf(row.row))
      this.rows.push(row)
      this.inputs.push(inputs)
    }
    context.holdRows(evaluatedRows.length, 'windows')
    return evaluatedRows.length
  }

  private charge(bytes: number): void {
    this.flow.evaluation.memory.chargeStatement(bytes, 'windows')
    this.bytes += bytes
  }
}

async function resultsInMemory<R>(
  { rows, inputs }: BufferedRows<R>,
  { plans, count }: Windows,
  flow: RowFlow<R>,
): Promise<OutputRow<R>[]> {
  const { evaluation, context } = flow
  const results: unknown[][] = []
  const output: OutputRow<R>[] = []
  const rowsOfPlans: WindowRow[][] = plans.map(() => [])
  const take = (row: OutputRow<R>): void => {
    const position = output.length
    const windows = new Array<unknown>(count).fill(null)
    results.push(windows)
    output.push({ ...row, windows })
    const rowInputs = inputs[position] as WindowInput[]
    for (let plan = 0; plan < rowInputs.length; plan++) {
      const { key, order, values } = rowInputs[plan] as WindowInput
      rowsOfPlans[plan]?.push({ position, key, order, values })
    }
  }
  await inSlices(rows, take, context.script.slice)
  for (const [i, plan] of plans.entries()) {
    const sorted = context.sorted(rowsOfPlans[i] as WindowRow[], inOrder)
    const args = await windowArguments(plan, flow)
    for (const [ordinal, one] of plan.functions.entries()) {
      await windowResults(one, ordinal, sorted, args[ordinal] as WindowArguments, results, evaluation, context)
    }
  }
  return output
}

function windowInput({ partitionBy, orderBy, functions }: WindowPlan, evaluation: EvaluationContext): WindowInput {
  const parts = partitionBy.map(({ evaluate }) => evaluate(evaluation))
  const key = groupKey(
    partitionBy.map(({ write }) => write),
    parts,
  )
  const order = sortKey(orderBy, evaluation)
  const values: unknown[] = []
  for (const { operand, otherwise } of functions)
    values.push(operand?.(evaluation) ?? null, otherwise?.(evaluation) ?? null)
  return { key, order, values }
}

function bytesOf({ key, order, values }: WindowInput): number {
  let bytes = textBytes(key.length) + order.length
  for (const value of values) bytes += elementBytes + valueBytes(value)
  return bytes
}

function inOrder(one: WindowRow, other: WindowRow): number {
  if (one.key !== other.key) return one.key < other.key ? -1 : 1
  return Buffer.compare(one.order, other.order)
}

/** Constant arguments of each function. Throws QueryError. */
async function windowArguments<R>(
  { functions }: WindowPlan,
  { evaluation, context }: RowFlow<R>,
): Promise<WindowArguments[]> {
  const args: WindowArguments[] = []
  for (const one of functions) {
    const distance = await distanceOf(one, evaluation, context)
    const fraction = one.fraction && (await evaluateConstant(one.fraction, evaluation, context))
    args.push({ distance, fraction })
  }
  return args
}

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
