/**
 * OVER: the rows are sorted once for each text that stands between its parentheses, and gone through from the first to the last: in memory, or,
 * beyond what it may hold, on disk. They leave in the order in which they came.
 */
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
import { type Flow, later, type PlanOperator, pipeline } from './row-operator.ts'
import { SpilledWindows, type WindowPlan } from './spilled-windows.ts'
import {
  type FunctionPlan,
  type Given,
  type MadeRow,
  planFunction,
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
  /** Among all of the statement. */
  readonly index: number
}

/** Of those whose rows are the same. */
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
  /** Of all functions. */
  readonly count: number
}

type WindowFlow<R> = Pick<Flow<R>, 'kind' | 'evaluation' | 'context'>

async function* withWindows<R>(
  batches: AsyncIterable<readonly OutputRow<R>[]>,
  windows: Windows,
  operator: ExplainNode,
  flow: WindowFlow<R>,
): AsyncGenerator<readonly OutputRow<R>[]> {
  const held = new HeldRows(windows, operator, flow)
  try {
    for await (const batch of batches) await held.takeAll(batch)
    const { onDisk } = held
    if (onDisk === undefined) yield* later(() => resultsInMemory(held, windows, flow))
    else yield* onDisk.rows((plan) => givenOf(plan, flow))
  } finally {
    await held.onDisk?.close()
  }
}

/** Rows as they came, with what each window needs of them. */
class HeldRows<R> {
  /** Undefined while memory has room for all. */
  onDisk: SpilledWindows<R> | undefined
  rows: OutputRow<R>[] = []
  made: MadeRow[][] = []
  private readonly windows: Windows
  private readonly operator: ExplainNode
  private readonly flow: WindowFlow<R>
  private bytes = 0

  constructor(windows: Windows, operator: ExplainNode, flow: WindowFlow<R>) {
    this.windows = windows
    this.operator = operator
    this.flow = flow
  }

  async takeAll(batch: readonly OutputRow<R>[]): Promise<void> {
    const { context } = this.flow
    for (let rest = batch; rest.length > 0; ) {
      const taken = await this.takeFirst(rest)
      rest = taken === rest.length ? [] : rest.slice(taken)
      // From then on nothing is held until there is more of it.
      if (this.onDisk !== undefined || this.isFull()) await this.write()
      const pause = context.yieldIfDue()
      if (pause !== undefined) await pause
    }
  }

  /** All that is held, which is then no longer. */
  private async write(): Promise<void> {
    const { rows, made, bytes, flow, windows, operator } = this
    // Its memory is that of the rows on their way.
    flow.context.hold(-rows.length, -bytes)
    this.rows = []
    this.made = []
    this.bytes = 0
    this.onDisk ??= new SpilledWindows(windows.plans, windows.count, operator, flow)
    await this.onDisk.add(rows, made)
  }

  /** `more`: rows that are not yet among those that are held. */
  private isFull(more = 0): boolean {
    return this.flow.context.isSpillDue(this.rows.length + more, this.bytes)
  }

  /** As many of the rows as memory has room for; how many. */
  private async takeFirst(batch: readonly OutputRow<R>[]): Promise<number> {
    const { windows, flow } = this
    const { kind, evaluation, context } = flow
    let count = 0
    const evaluated = evaluateWhile(
      context,
      batch,
      () => this.isFull(count),
      (row) => {
        enterOutput(row, kind, evaluation)
        const made = windows.plans.map((plan) => madeRow(plan, evaluation))
        let bytes = rowBytes + windows.count * elementBytes
        for (const one of made) bytes += bytesOf(one)
        this.charge(bytes)
        count++
        return { made, bytes }
      },
      ({ bytes }) => {
        this.charge(-bytes)
        count--
      },
    )
    const taken = evaluated instanceof Promise ? await evaluated : evaluated
    for (const [i, { made }] of taken.entries()) {
      const row = batch[i] as OutputRow<R>
      this.charge(row.row === undefined ? 0 : kind.bytesOf(row.row))
      this.rows.push(row)
      this.made.push(made)
    }
    context.holdRows(taken.length, 'windows')
    return taken.length
  }

  private charge(bytes: number): void {
    this.flow.evaluation.memory.chargeStatement(bytes, 'windows')
    this.bytes += bytes
  }
}

async function resultsInMemory<R>(
  { rows, made }: HeldRows<R>,
  { plans, count }: Windows,
  flow: WindowFlow<R>,
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
    const ofRow = made[position] as MadeRow[]
    for (let plan = 0; plan < ofRow.length; plan++) {
      const { key, order, values } = ofRow[plan] as MadeRow
      rowsOfPlans[plan]?.push({ position, key, order, values })
    }
  }
  await inSlices(rows, take, context.script.slice)
  for (const [i, plan] of plans.entries()) {
    const sorted = context.sorted(rowsOfPlans[i] as WindowRow[], inOrder)
    const given = await givenOf(plan, flow)
    for (const [place, one] of plan.functions.entries()) {
      await windowResults(one, place, sorted, given[place] as Given, results, evaluation, context)
    }
  }
  return output
}

function madeRow({ partitionBy, orderBy, functions }: WindowPlan, evaluation: EvaluationContext): MadeRow {
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

function bytesOf({ key, order, values }: MadeRow): number {
  let bytes = textBytes(key.length) + order.length
  for (const value of values) bytes += elementBytes + valueBytes(value)
  return bytes
}

function inOrder(one: WindowRow, other: WindowRow): number {
  if (one.key !== other.key) return one.key < other.key ? -1 : 1
  return Buffer.compare(one.order, other.order)
}

/** For each function. Throws QueryError. */
async function givenOf<R>({ functions }: WindowPlan, { evaluation, context }: WindowFlow<R>): Promise<Given[]> {
  const given: Given[] = []
  for (const one of functions) {
    const distance = await distanceOf(one, evaluation, context)
    const fraction = one.fraction && (await evaluateConstant(one.fraction, evaluation, context))
    given.push({ distance, fraction })
  }
  return given
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
