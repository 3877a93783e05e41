/** Window functions beyond memory: inputs are sorted on disk by partition and order; results are sorted into input order and merged with the rows. */
import type { Evaluate } from '../evaluate/evaluation-context.ts'
import type { OrderPlan } from '../evaluate/sort-key.ts'
import type { WriteKey } from '../evaluate/value-key.ts'
import type { OutputRow } from '../execute/row.ts'
import type { ExplainNode } from '../explain/explain-node.ts'
import { noAggregates, type RowFlow } from './row-operator.ts'
import { type MergedRow, SortedRows } from './sorted-rows.ts'
import {
  type FunctionPlan,
  isSharedByPeers,
  PartitionTotals,
  type WindowArguments,
  type WindowInput,
} from './window-functions.ts'

/** Functions that share partitioning and order. */
export interface WindowPlan {
  readonly partitionBy: readonly { readonly evaluate: Evaluate; readonly write: WriteKey }[]
  readonly orderBy: readonly OrderPlan[]
  readonly functions: readonly FunctionPlan[]
  readonly span: { readonly start: number; readonly end: number }
}

/** Bit mask of rows between clock checks. */
const timeCheckMask = 15

/** Results of up to this many windows are read from all their runs: the blocks of each take at most 1/8 of the memory. */
const unmergedResultsMax = 2

export class SpilledWindows<R> {
  private readonly plans: readonly WindowPlan[]
  private readonly count: number
  private readonly operator: ExplainNode
  private readonly flow: RowFlow<R>
  private readonly inputRows: SortedRows<R>
  /** For each plan: the inputs of its functions, and then the results. */
  private readonly sorted: readonly SortedRows<R>[]
  private readonly results: SortedRows<R>[] = []

  constructor(plans: readonly WindowPlan[], count: number, operator: ExplainNode, flow: RowFlow<R>) {
    this.plans = plans
    this.count = count
    this.operator = operator
    this.flow = flow
    this.inputRows = this.newRows()
    this.sorted = plans.map(() => this.newRows(true))
  }

  /** `inputs`: of each row, for each plan. Throws LimitExceeded and ServerBusy. */
  async add(rows: readonly OutputRow<R>[], inputs: readonly (readonly WindowInput[])[]): Promise<void> {
    const { inputRows, sorted, flow } = this
    for (let at = 0; at < rows.length; at++) {
      const number = inputRows.count
      inputRows.addNumbered(number, rows[at] as OutputRow<R>)
      if (inputRows.isFull) await inputRows.settle()
      const rowInputs = inputs[at] as readonly WindowInput[]
      for (let plan = 0; plan < sorted.length; plan++) {
        const { key, order, values } = rowInputs[plan] as WindowInput
        const to = sorted[plan] as SortedRows<R>
        const length = writeWindowKey(key, order)
        to.add(keyBuffer, number, { row: undefined, aggregates: values }, length)
        if (to.isFull) await to.settle()
      }
      if ((at & timeCheckMask) === timeCheckMask && flow.context.isYieldDue) await flow.context.yieldToEventLoop()
    }
  }

  /** All rows with their results. `argumentsOf`: the constant arguments of a plan's functions. */
  async *rows(
    argumentsOf: (plan: WindowPlan) => Promise<readonly WindowArguments[]>,
  ): AsyncGenerator<readonly OutputRow<R>[]> {
    for (const rows of [this.inputRows, ...this.sorted]) await rows.end()
    for (const [i, plan] of this.plans.entries()) {
      const sorted = this.sorted[i] as SortedRows<R>
      this.results.push(await this.resultsOf(plan, sorted, await argumentsOf(plan)))
      await sorted.close()
    }
    const cursors = this.results.map((results) => new Cursor(results.merged()))
    try {
      for await (const batch of this.inputRows.merged()) {
        const rows: OutputRow<R>[] = []
        for (const { row } of batch) {
          const windows = new Array<unknown>(this.count).fill(null)
          for (let i = 0; i < cursors.length; i++) {
            const cursor = cursors[i] as Cursor<R>
            if (cursor.isAtEnd) await cursor.read()
            this.fill(windows, i, cursor.next())
          }
          rows.push({ row: row.row, aggregates: row.aggregates, windows })
        }
        yield rows
      }
    } finally {
      for (const cursor of cursors) await cursor.end()
    }
  }

  /** Must be called in any case. */
  async close(): Promise<void> {
    for (const rows of [this.inputRows, ...this.sorted, ...this.results]) await rows.close()
  }

  private fill(windows: unknown[], plan: number, row: MergedRow<R> | undefined): void {
    const results = row?.row.aggregates ?? noAggregates
    const { functions } = this.plans[plan] as WindowPlan
    for (let ordinal = 0; ordinal < functions.length; ordinal++)
      windows[(functions[ordinal] as FunctionPlan).index] = results[ordinal]
  }

  private newRows(withKeys = false): SortedRows<R> {
    const { kind, context } = this.flow
    return new SortedRows<R>(kind, context, this.operator, { withKeys, spilledSiblings: this.plans.length })
  }

  /** Results by row number; merged into one run where many are read concurrently. */
  private async resultsOf(
    plan: WindowPlan,
    sorted: SortedRows<R>,
    args: readonly WindowArguments[],
  ): Promise<SortedRows<R>> {
    if (plan.functions.some(isOffsetFunction)) await sorted.mergeAll()
    const results = this.newRows()
    const peerTotals = plan.functions.some(isSharedByPeers) ? this.newRows() : undefined
    const readers = new Readers(plan, sorted, args)
    try {
      if (peerTotals !== undefined) await this.totalsOf(plan, sorted, args, peerTotals)
      const totals = peerTotals && new Cursor(peerTotals.merged())
      try {
        await this.addResults(readers, totals, results)
      } finally {
        await totals?.end()
      }
      if (this.plans.length > unmergedResultsMax) await results.mergeAll()
      return results
    } catch (error) {
      await results.close()
      throw error
    } finally {
      await readers.end()
      await peerTotals?.close()
    }
  }

  /** Writes one row for each peer group, in order, with the results that its rows share. */
  private async totalsOf(
    { functions }: WindowPlan,
    sorted: SortedRows<R>,
    args: readonly WindowArguments[],
    to: SortedRows<R>,
  ): Promise<void> {
    const { evaluation, context } = this.flow
    const totals = new PartitionTotals(functions, args, evaluation, context)
    const tracker = new PartitionTracker()
    const endPeers = (): Promise<void> | undefined => {
      to.addNumbered(to.count, { row: undefined, aggregates: totals.peerTotals() })
      return to.isFull ? to.settle() : undefined
    }
    let rows = 0
    for await (const batch of sorted.merged()) {
      for (const merged of batch) {
        const wait = merged.isFirst && rows > 0 ? endPeers() : undefined
        if (wait !== undefined) await wait
        if (tracker.isNewPartition(merged)) totals.begin()
        totals.add(merged.row.aggregates)
        if ((rows++ & timeCheckMask) === timeCheckMask && context.isYieldDue) await context.yieldToEventLoop()
      }
    }
    if (rows > 0) await endPeers()
    totals.begin()
  }

  private async addResults(readers: Readers<R>, totals: Cursor<R> | undefined, to: SortedRows<R>): Promise<void> {
    const { context } = this.flow
    let peerTotals: readonly unknown[] = noAggregates
    for (let rows = 0; ; rows++) {
      const wait = readers.advance()
      if (wait !== undefined) await wait
      const row = readers.next()
      if (row === undefined) break
      if (row.isFirst && totals !== undefined) {
        if (totals.isAtEnd) await totals.read()
        peerTotals = totals.next()?.row.aggregates ?? noAggregates
      }
      to.addNumbered(row.order, { row: undefined, aggregates: readers.results(row, peerTotals) })
      if (to.isFull) await to.settle()
      if ((rows & timeCheckMask) === timeCheckMask && context.isYieldDue) await context.yieldToEventLoop()
    }
    await to.end()
  }
}

function isOffsetFunction({ function: name }: FunctionPlan): boolean {
  return name === 'LAG' || name === 'LEAD'
}

/** Iterates over the rows of a window, with additional cursors at the offsets of LAG and LEAD. */
class Readers<R> {
  private readonly plan: WindowPlan
  private readonly args: readonly WindowArguments[]
  private readonly main: PartitionCursor<R>
  /** By offset; negative is backward. */
  private readonly offsetCursors = new Map<number, PartitionCursor<R>>()
  private row = 0
  private rank = 0
  private denseRank = 0
  private partition = -1
  private first: readonly unknown[] = noAggregates

  constructor(plan: WindowPlan, sorted: SortedRows<R>, args: readonly WindowArguments[]) {
    this.plan = plan
    this.args = args
    this.main = new PartitionCursor(sorted.merged())
    for (const [ordinal, one] of plan.functions.entries()) {
      const offset = this.offsetOf(one, ordinal)
      if (offset !== undefined) this.offsetCursors.set(offset, new PartitionCursor(sorted.merged()))
    }
  }

  /** Moves to the next row. Returns a promise where rows must be read from disk. */
  advance(): Promise<void> | undefined {
    const { main, offsetCursors } = this
    const wait = main.moveTo(main.at + 1)
    if (wait !== undefined) return this.advanceAsync(wait)
    for (const [offset, cursor] of offsetCursors) {
      const otherWait = cursor.moveTo(main.at + offset)
      if (otherWait !== undefined) return this.advanceAsync(otherWait)
    }
    return undefined
  }

  private async advanceAsync(wait: Promise<void>): Promise<void> {
    await wait
    for (const [offset, cursor] of this.offsetCursors) await cursor.moveTo(this.main.at + offset)
  }

  /** The current row; undefined after the last. */
  next(): MergedRow<R> | undefined {
    const row = this.main.current
    if (row === undefined) return undefined
    if (this.main.partition !== this.partition) {
      this.partition = this.main.partition
      this.row = 0
      this.denseRank = 0
      this.first = row.row.aggregates
    }
    this.row++
    if (!row.isFirst) return row
    this.rank = this.row
    this.denseRank++
    return row
  }

  /** Results of each function for the current row. */
  results({ row: { aggregates: values } }: MergedRow<R>, peerTotals: readonly unknown[]): unknown[] {
    const { functions } = this.plan
    const results: unknown[] = []
    for (let ordinal = 0; ordinal < functions.length; ordinal++)
      results.push(this.resultOf(functions[ordinal] as FunctionPlan, ordinal, values, peerTotals))
    return results
  }

  private resultOf(
    one: FunctionPlan,
    ordinal: number,
    values: readonly unknown[],
    peerTotals: readonly unknown[],
  ): unknown {
    switch (one.function) {
      case 'ROW_NUMBER':
        return this.row
      case 'RANK':
        return this.rank
      case 'DENSE_RANK':
        return this.denseRank
      case 'FIRST_VALUE':
        return this.first[2 * ordinal]
      case 'LAG':
      case 'LEAD': {
        const cursor = this.offsetCursors.get(this.offsetOf(one, ordinal) as number)
        const isInPartition = cursor?.current !== undefined && cursor.partition === this.partition
        return isInPartition ? cursor.current?.row.aggregates[2 * ordinal] : values[2 * ordinal + 1]
      }
      default:
        return peerTotals[ordinal]
    }
  }

  async end(): Promise<void> {
    for (const cursor of [this.main, ...this.offsetCursors.values()]) await cursor.end()
  }

  private offsetOf({ function: name }: FunctionPlan, ordinal: number): number | undefined {
    const { distance } = this.args[ordinal] as WindowArguments
    if (name === 'LEAD') return distance
    return name === 'LAG' ? -distance : undefined
  }
}

/** Iterates over single rows. */
class Cursor<R> {
  private readonly batches: AsyncGenerator<readonly MergedRow<R>[]>
  private batch: readonly MergedRow<R>[] = []
  private position = 0

  constructor(batches: AsyncGenerator<readonly MergedRow<R>[]>) {
    this.batches = batches
  }

  /** `read` must be called before `next`. */
  get isAtEnd(): boolean {
    return this.position >= this.batch.length
  }

  async read(): Promise<void> {
    const next = await this.batches.next()
    this.batch = next.done === true ? [] : next.value
    this.position = 0
  }

  /** Undefined after the last. */
  next(): MergedRow<R> | undefined {
    return this.batch[this.position++]
  }

  async end(): Promise<void> {
    await this.batches.return(undefined)
  }
}

/** Tracks the current row's partition and its position among all rows. */
class PartitionCursor<R> {
  at = -1
  partition = -1
  /** Undefined before the first row and after the last. */
  current: MergedRow<R> | undefined
  private isOver = false
  private readonly cursor: Cursor<R>
  private readonly tracker = new PartitionTracker()

  constructor(batches: AsyncGenerator<readonly MergedRow<R>[]>) {
    this.cursor = new Cursor(batches)
  }

  /** Moves forward to a position. Returns a promise where rows must be read from disk. */
  moveTo(at: number): Promise<void> | undefined {
    while (this.at < at && !this.isOver) {
      if (this.cursor.isAtEnd) return this.readAndMoveTo(at)
      this.current = this.cursor.next() as MergedRow<R>
      this.at++
      if (this.tracker.isNewPartition(this.current)) this.partition++
    }
    return undefined
  }

  private async readAndMoveTo(at: number): Promise<void> {
    await this.cursor.read()
    if (this.cursor.isAtEnd) {
      this.isOver = true
      this.current = undefined
    } else await this.moveTo(at)
  }

  end(): Promise<void> {
    return this.cursor.end()
  }
}

/** Detects where partitions begin. */
class PartitionTracker {
  private last: Buffer | undefined

  isNewPartition({ isFirst, key }: MergedRow<unknown>): boolean {
    if (!isFirst || key === undefined) return false
    const partition = key.subarray(0, lengthBytes + key.readUInt32BE(0))
    if (this.last?.equals(partition) === true) return false
    this.last = partition
    return true
  }
}

const lengthBytes = 4

/** Scratch buffer for the last key written; keys are written one at a time. */
let keyBuffer = Buffer.allocUnsafe(256)
/** A buffer that a long key has enlarged beyond this is discarded. */
const keyBufferMax = 65_536

/** Sorts by partition, then by order. Returns the length in bytes. */
function writeWindowKey(partition: string, order: Buffer): number {
  const length = lengthBytes + partition.length + order.length
  if (length > keyBuffer.length || keyBuffer.length > keyBufferMax)
    keyBuffer = Buffer.allocUnsafe(Math.max(256, 2 * length))
  keyBuffer.writeUInt32BE(partition.length, 0)
  if (partition.length > 0) keyBuffer.write(partition, lengthBytes, 'latin1')
  order.copy(keyBuffer, lengthBytes + partition.length)
  return length
}
