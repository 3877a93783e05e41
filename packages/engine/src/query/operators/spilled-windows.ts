/**
 * Windows beyond memory. What each of them needs of the rows is sorted on disk by partition and order, and gone through: once where a result depends on
 * rows behind (totals, LAST_VALUE), then for the results, with readers of their own for LAG and LEAD. The results are put in the order in which the
 * rows came, and met with these.
 */
import type { Evaluate } from '../evaluate/evaluation-context.ts'
import type { OrderPlan } from '../evaluate/sort-key.ts'
import type { WriteKey } from '../evaluate/value-key.ts'
import type { OutputRow } from '../execute/row.ts'
import type { ExplainNode } from '../explain/explain-node.ts'
import { type Flow, noAggregates } from './row-operator.ts'
import { type MergedRow, SortedRows } from './sorted-rows.ts'
import { type FunctionPlan, type Given, isOfPeers, type MadeRow, PartitionTotals } from './window-functions.ts'

/** Functions over the same rows in the same order. */
export interface WindowPlan {
  readonly partitionBy: readonly { readonly evaluate: Evaluate; readonly write: WriteKey }[]
  readonly orderBy: readonly OrderPlan[]
  readonly functions: readonly FunctionPlan[]
  readonly span: { readonly start: number; readonly end: number }
}

type WindowFlow<R> = Pick<Flow<R>, 'kind' | 'evaluation' | 'context'>

/** How often rows are taken over before others are asked for their turn, less one; all its bits are ones. */
const rowsBetweenLooks = 15

/** Results of so many windows are read from all their runs at once: their blocks take an eighth of the memory each, at most. */
const runsAtOnce = 2

export class SpilledWindows<R> {
  private readonly plans: readonly WindowPlan[]
  private readonly count: number
  private readonly operator: ExplainNode
  private readonly flow: WindowFlow<R>
  private readonly asTheyCame: SortedRows<R>
  /** Of each plan: what it needs of the rows, and then the results. */
  private readonly sorted: readonly SortedRows<R>[]
  private readonly results: SortedRows<R>[] = []

  constructor(plans: readonly WindowPlan[], count: number, operator: ExplainNode, flow: WindowFlow<R>) {
    this.plans = plans
    this.count = count
    this.operator = operator
    this.flow = flow
    this.asTheyCame = this.newRows()
    this.sorted = plans.map(() => this.newRows(true))
  }

  /** `made`: of each row, for each plan. Throws LimitExceeded and ServerBusy. */
  async add(rows: readonly OutputRow<R>[], made: readonly (readonly MadeRow[])[]): Promise<void> {
    const { asTheyCame, sorted, flow } = this
    for (let at = 0; at < rows.length; at++) {
      const number = asTheyCame.count
      asTheyCame.addNumbered(number, rows[at] as OutputRow<R>)
      if (asTheyCame.isFull) await asTheyCame.settle()
      const ofRow = made[at] as readonly MadeRow[]
      for (let plan = 0; plan < sorted.length; plan++) {
        const { key, order, values } = ofRow[plan] as MadeRow
        const to = sorted[plan] as SortedRows<R>
        const length = writeWindowKey(key, order)
        to.add(written, number, { row: undefined, aggregates: values }, length)
        if (to.isFull) await to.settle()
      }
      if ((at & rowsBetweenLooks) === rowsBetweenLooks && flow.context.isTurnDue) await flow.context.turn()
    }
  }

  /** All of them, with their results. `givenOf`: what the functions of a plan are given beside the rows. */
  async *rows(givenOf: (plan: WindowPlan) => Promise<readonly Given[]>): AsyncGenerator<readonly OutputRow<R>[]> {
    for (const rows of [this.asTheyCame, ...this.sorted]) await rows.end()
    for (const [i, plan] of this.plans.entries()) {
      const sorted = this.sorted[i] as SortedRows<R>
      this.results.push(await this.resultsOf(plan, sorted, await givenOf(plan)))
      await sorted.close()
    }
    const cursors = this.results.map((results) => new Cursor(results.merged()))
    try {
      for await (const batch of this.asTheyCame.merged()) {
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

  /** To be called whatever has happened. */
  async close(): Promise<void> {
    for (const rows of [this.asTheyCame, ...this.sorted, ...this.results]) await rows.close()
  }

  private fill(windows: unknown[], plan: number, row: MergedRow<R> | undefined): void {
    const results = row?.row.aggregates ?? noAggregates
    const { functions } = this.plans[plan] as WindowPlan
    for (let place = 0; place < functions.length; place++)
      windows[(functions[place] as FunctionPlan).index] = results[place]
  }

  private newRows(withKeys = false): SortedRows<R> {
    const { kind, context } = this.flow
    return new SortedRows<R>(kind, context, this.operator, { withKeys, onDiskBeside: this.plans.length })
  }

  /** By the numbers of the rows; where many are read at once, in one run. */
  private async resultsOf(plan: WindowPlan, sorted: SortedRows<R>, given: readonly Given[]): Promise<SortedRows<R>> {
    if (plan.functions.some(isBeside)) await sorted.mergeAll()
    const results = this.newRows()
    const ofPeers = plan.functions.some(isOfPeers) ? this.newRows() : undefined
    const readers = new Readers(plan, sorted, given)
    try {
      if (ofPeers !== undefined) await this.totalsOf(plan, sorted, given, ofPeers)
      const totals = ofPeers && new Cursor(ofPeers.merged())
      try {
        await this.addResults(readers, totals, results)
      } finally {
        await totals?.end()
      }
      if (this.plans.length > runsAtOnce) await results.mergeAll()
      return results
    } catch (error) {
      await results.close()
      throw error
    } finally {
      await readers.end()
      await ofPeers?.close()
    }
  }

  /** Of each group of peers one row, in their order, with what its rows share. */
  private async totalsOf(
    { functions }: WindowPlan,
    sorted: SortedRows<R>,
    given: readonly Given[],
    to: SortedRows<R>,
  ): Promise<void> {
    const { evaluation, context } = this.flow
    const totals = new PartitionTotals(functions, given, evaluation, context)
    const places = new Places()
    const endPeers = (): Promise<void> | undefined => {
      const aggregates = totals.ofPeers()
      if (aggregates instanceof Promise) return aggregates.then(addPeers)
      return addPeers(aggregates)
    }
    const addPeers = (aggregates: readonly unknown[]): Promise<void> | undefined => {
      to.addNumbered(to.count, { row: undefined, aggregates })
      return to.isFull ? to.settle() : undefined
    }
    let rows = 0
    for await (const batch of sorted.merged()) {
      for (const merged of batch) {
        const wait = merged.isFirst && rows > 0 ? endPeers() : undefined
        if (wait !== undefined) await wait
        if (places.isNewPartition(merged)) totals.begin()
        totals.add(merged.row.aggregates)
        if ((rows++ & rowsBetweenLooks) === rowsBetweenLooks && context.isTurnDue) await context.turn()
      }
    }
    if (rows > 0) await endPeers()
    totals.begin()
  }

  private async addResults(readers: Readers<R>, totals: Cursor<R> | undefined, to: SortedRows<R>): Promise<void> {
    const { context } = this.flow
    let ofPeers: readonly unknown[] = noAggregates
    for (let rows = 0; ; rows++) {
      const wait = readers.advance()
      if (wait !== undefined) await wait
      const row = readers.next()
      if (row === undefined) break
      if (row.isFirst && totals !== undefined) {
        if (totals.isAtEnd) await totals.read()
        ofPeers = totals.next()?.row.aggregates ?? noAggregates
      }
      to.addNumbered(row.order, { row: undefined, aggregates: readers.results(row, ofPeers) })
      if (to.isFull) await to.settle()
      if ((rows & rowsBetweenLooks) === rowsBetweenLooks && context.isTurnDue) await context.turn()
    }
    await to.end()
  }
}

function isBeside({ function: name }: FunctionPlan): boolean {
  return name === 'LAG' || name === 'LEAD'
}

/** The rows of a window from the first to the last, and beside each those that LAG and LEAD name. */
class Readers<R> {
  private readonly plan: WindowPlan
  private readonly given: readonly Given[]
  private readonly main: PlacedCursor<R>
  /** By the number of rows that they are ahead; below 0 behind. */
  private readonly beside = new Map<number, PlacedCursor<R>>()
  private row = 0
  private rank = 0
  private dense = 0
  private partition = -1
  private first: readonly unknown[] = noAggregates

  constructor(plan: WindowPlan, sorted: SortedRows<R>, given: readonly Given[]) {
    this.plan = plan
    this.given = given
    this.main = new PlacedCursor(sorted.merged())
    for (const [place, one] of plan.functions.entries()) {
      const shift = this.shiftOf(one, place)
      if (shift !== undefined) this.beside.set(shift, new PlacedCursor(sorted.merged()))
    }
  }

  /** To the next row. A promise where rows have to be read. */
  advance(): Promise<void> | undefined {
    const { main, beside } = this
    const wait = main.moveTo(main.at + 1)
    if (wait !== undefined) return this.advanceLater(wait)
    for (const [shift, cursor] of beside) {
      const other = cursor.moveTo(main.at + shift)
      if (other !== undefined) return this.advanceLater(other)
    }
    return undefined
  }

  private async advanceLater(wait: Promise<void>): Promise<void> {
    await wait
    for (const [shift, cursor] of this.beside) await cursor.moveTo(this.main.at + shift)
  }

  /** The row at hand; undefined after the last. */
  next(): MergedRow<R> | undefined {
    const row = this.main.current
    if (row === undefined) return undefined
    if (this.main.partition !== this.partition) {
      this.partition = this.main.partition
      this.row = 0
      this.dense = 0
      this.first = row.row.aggregates
    }
    this.row++
    if (!row.isFirst) return row
    this.rank = this.row
    this.dense++
    return row
  }

  /** Of each function, for the row at hand. */
  results({ row: { aggregates: values } }: MergedRow<R>, ofPeers: readonly unknown[]): unknown[] {
    const { functions } = this.plan
    const results: unknown[] = []
    for (let place = 0; place < functions.length; place++)
      results.push(this.resultOf(functions[place] as FunctionPlan, place, values, ofPeers))
    return results
  }

  private resultOf(one: FunctionPlan, place: number, values: readonly unknown[], ofPeers: readonly unknown[]): unknown {
    switch (one.function) {
      case 'ROW_NUMBER':
        return this.row
      case 'RANK':
        return this.rank
      case 'DENSE_RANK':
        return this.dense
      case 'FIRST_VALUE':
        return this.first[2 * place]
      case 'LAG':
      case 'LEAD': {
        const cursor = this.beside.get(this.shiftOf(one, place) as number)
        const isThere = cursor?.current !== undefined && cursor.partition === this.partition
        return isThere ? cursor.current?.row.aggregates[2 * place] : values[2 * place + 1]
      }
      default:
        return ofPeers[place]
    }
  }

  async end(): Promise<void> {
    for (const cursor of [this.main, ...this.beside.values()]) await cursor.end()
  }

  private shiftOf({ function: name }: FunctionPlan, place: number): number | undefined {
    const { distance } = this.given[place] as Given
    if (name === 'LEAD') return distance
    return name === 'LAG' ? -distance : undefined
  }
}

/** Rows one after the other. */
class Cursor<R> {
  private readonly batches: AsyncGenerator<readonly MergedRow<R>[]>
  private batch: readonly MergedRow<R>[] = []
  private position = 0

  constructor(batches: AsyncGenerator<readonly MergedRow<R>[]>) {
    this.batches = batches
  }

  /** `read` is to be called before `next`. */
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

/** Knows in which partition the row at hand is, and where among all rows. */
class PlacedCursor<R> {
  at = -1
  partition = -1
  /** Undefined before the first row and after the last. */
  current: MergedRow<R> | undefined
  private isOver = false
  private readonly cursor: Cursor<R>
  private readonly places = new Places()

  constructor(batches: AsyncGenerator<readonly MergedRow<R>[]>) {
    this.cursor = new Cursor(batches)
  }

  /** Ahead; before the first row nothing is read. A promise where rows have to be read. */
  moveTo(at: number): Promise<void> | undefined {
    while (this.at < at && !this.isOver) {
      if (this.cursor.isAtEnd) return this.readAndMoveTo(at)
      this.current = this.cursor.next() as MergedRow<R>
      this.at++
      if (this.places.isNewPartition(this.current)) this.partition++
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

/** Tells where partitions begin. */
class Places {
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

/** The key that was written last; rows have theirs one after the other. */
let written = Buffer.allocUnsafe(256)
/** What a long key has made of it is let go of again. */
const writtenBytesMax = 65_536

/** Rows of a partition stand together, and in it peers, in their order. How many bytes it has. */
function writeWindowKey(partition: string, order: Buffer): number {
  const length = lengthBytes + partition.length + order.length
  if (length > written.length || written.length > writtenBytesMax)
    written = Buffer.allocUnsafe(Math.max(256, 2 * length))
  written.writeUInt32BE(partition.length, 0)
  if (partition.length > 0) written.write(partition, lengthBytes, 'latin1')
  order.copy(written, lengthBytes + partition.length)
  return length
}
