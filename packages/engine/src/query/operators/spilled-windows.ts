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
import type { Flow } from './row-operator.ts'
import { noAggregates } from './row-operator.ts'
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
const rowsBetweenLooks = 255

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
    const from = asTheyCame.count
    const each = async (to: SortedRows<R>, use: (at: number) => void): Promise<void> => {
      for (let at = 0; at < rows.length; at++) {
        use(at)
        if (to.isFull) await to.settle()
        if ((at & rowsBetweenLooks) === rowsBetweenLooks && flow.context.isTurnDue) await flow.context.turn()
      }
      await to.spill()
    }
    await each(asTheyCame, (at) => asTheyCame.addNumbered(from + at, rows[at] as OutputRow<R>))
    for (const [plan, to] of sorted.entries()) {
      await each(to, (at) => {
        const { key, order, values } = (made[at] as readonly MadeRow[])[plan] as MadeRow
        to.add(windowKey(key, order), from + at, { row: undefined, aggregates: values.flat() })
      })
    }
  }

  /** All of them, with their results. `givenOf`: what the functions of a plan are given beside the rows. */
  async *rows(givenOf: (plan: WindowPlan) => Promise<readonly Given[]>): AsyncGenerator<readonly OutputRow<R>[]> {
    for (const [i, plan] of this.plans.entries()) {
      const sorted = this.sorted[i] as SortedRows<R>
      this.results.push(await this.resultsOf(plan, sorted, await givenOf(plan)))
      await sorted.close()
    }
    const cursors = this.results.map((results) => new Cursor(results.merged()))
    try {
      for await (const batch of this.asTheyCame.merged()) {
        const rows: OutputRow<R>[] = []
        for (const { row } of batch) rows.push({ ...row, windows: await this.windowsOf(cursors) })
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

  /** Of the next row. */
  private async windowsOf(cursors: readonly Cursor<R>[]): Promise<unknown[]> {
    const windows = new Array<unknown>(this.count).fill(null)
    for (const [i, cursor] of cursors.entries()) {
      if (cursor.isAtEnd) await cursor.read()
      const results = cursor.next()?.row.aggregates ?? []
      for (const [place, { index }] of (this.plans[i] as WindowPlan).functions.entries())
        windows[index] = results[place]
    }
    return windows
  }

  private newRows(withKeys = false): SortedRows<R> {
    return new SortedRows<R>(this.flow.kind, this.flow.context, this.operator, { withKeys })
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
    const endPeers = async (): Promise<void> => {
      to.addNumbered(to.count, { row: undefined, aggregates: await totals.ofPeers() })
      if (to.isFull) await to.settle()
    }
    let isBegun = false
    for await (const batch of sorted.merged()) {
      for (const merged of batch) {
        if (merged.isFirst && isBegun) await endPeers()
        if (places.isNewPartition(merged)) totals.begin()
        isBegun = true
        totals.add(merged.row.aggregates)
        if (context.isTurnDue) await context.turn()
      }
    }
    if (isBegun) await endPeers()
    totals.begin()
  }

  private async addResults(readers: Readers<R>, totals: Cursor<R> | undefined, to: SortedRows<R>): Promise<void> {
    const { context } = this.flow
    let ofPeers: readonly unknown[] = noAggregates
    for (let row = await readers.next(); row !== undefined; row = await readers.next()) {
      if (row.isFirst && totals !== undefined) {
        if (totals.isAtEnd) await totals.read()
        ofPeers = totals.next()?.row.aggregates ?? noAggregates
      }
      to.addNumbered(row.order, { row: undefined, aggregates: readers.results(row, ofPeers) })
      if (to.isFull) await to.settle()
      if (context.isTurnDue) await context.turn()
    }
    await to.spill()
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

  /** To the next row; undefined after the last. */
  async next(): Promise<MergedRow<R> | undefined> {
    const row = await this.main.moveTo(this.main.at + 1)
    if (row === undefined) return undefined
    for (const [shift, cursor] of this.beside) await cursor.moveTo(this.main.at + shift)
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
    return this.plan.functions.map((one, place) => {
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
    })
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
  private readonly cursor: Cursor<R>
  private readonly places = new Places()

  constructor(batches: AsyncGenerator<readonly MergedRow<R>[]>) {
    this.cursor = new Cursor(batches)
  }

  /** Ahead; before the first row nothing is read. */
  async moveTo(at: number): Promise<MergedRow<R> | undefined> {
    while (this.at < at) {
      if (this.cursor.isAtEnd) await this.cursor.read()
      this.current = this.cursor.next()
      if (this.current === undefined) return undefined
      this.at++
      if (this.places.isNewPartition(this.current)) this.partition++
    }
    return this.current
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

/** Rows of a partition stand together, and in it peers, in their order. */
function windowKey(partition: string, order: Buffer): Buffer {
  const key = Buffer.allocUnsafe(lengthBytes + partition.length + order.length)
  key.writeUInt32BE(partition.length, 0)
  key.write(partition, lengthBytes, 'latin1')
  order.copy(key, lengthBytes + partition.length)
  return key
}
