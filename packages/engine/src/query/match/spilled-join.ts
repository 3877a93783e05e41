/** A join beyond memory: both sides are sorted by key and merged; the pairs are then sorted into the order of the in-memory join. */
import type { StatementContext } from '../execute/statement-context.ts'
import type { ExplainNode } from '../explain/explain-node.ts'
import { type Item, itemBytes, itemKind, itemRow } from '../operators/buffered-values.ts'
import { noAggregates } from '../operators/row-operator.ts'
import { type MergedRow, SortedRows } from '../operators/sorted-rows.ts'
import type { MatchFlow } from './match-operator.ts'
import { type MatchRow, matchRowKind } from './match-row.ts'
import { filterMatchRows, type PredicatePlan } from './predicates.ts'

export interface JoinedSides {
  readonly slot: number
  readonly predicates: readonly PredicatePlan[]
  readonly operator: ExplainNode
  readonly flow: MatchFlow
}

/** Rows with their join keys; a row without a key matches nothing. */
export interface KeyedBatch {
  readonly rows: readonly MatchRow[]
  readonly keys: readonly (string | undefined)[]
}

export function sortedItems({ flow, operator }: Pick<JoinedSides, 'flow' | 'operator'>): SortedRows<Item> {
  return new SortedRows(itemKind, flow.context, operator, { withKeys: true })
}

export async function addItem(items: SortedRows<Item>, key: string, value: unknown): Promise<void> {
  items.add(Buffer.from(key), items.count, itemRow(value))
  if (items.isFull) await items.settle()
}

/** Pairs each row with each item of its key. */
export async function* spilledPairs(
  items: SortedRows<Item>,
  batches: AsyncIterable<KeyedBatch>,
  sides: JoinedSides,
): AsyncGenerator<readonly MatchRow[]> {
  const { context } = sides.flow
  const rows = new SortedRows(matchRowKind, context, sides.operator, { withKeys: true })
  const pairs = new Pairs(sides)
  try {
    for await (const { rows: batch, keys } of batches) {
      for (const [i, row] of batch.entries()) {
        const key = keys[i]
        if (key === undefined) continue
        rows.add(Buffer.from(key), rows.count, { row, aggregates: noAggregates })
        if (rows.isFull) await rows.settle()
      }
      await rows.settle()
    }
    await joinSides(new Groups(items.merged()), new Groups(rows.merged()), pairs, sides)
    await pairs.flush()
    await items.close()
    await rows.close()
    for await (const batch of pairs.sorted.sorted()) yield batch.flatMap(({ row }) => row ?? [])
  } finally {
    await rows.close()
    await pairs.sorted.close()
  }
}

/** Pairs each row with all items, which are read once per row. */
export async function* spilledProduct(
  items: SortedRows<Item>,
  batches: AsyncIterable<KeyedBatch>,
  { slot, predicates, flow, operator }: JoinedSides,
): AsyncGenerator<readonly MatchRow[]> {
  for await (const { rows } of batches) {
    for (const row of rows) {
      for await (const some of items.sorted()) {
        const pairs = some.map((item) => ({ ...row, slots: row.slots.with(slot, item.row?.value) }))
        const qualifying = await filterMatchRows(predicates, pairs, flow)
        operator.returned += qualifying.length
        if (qualifying.length > 0) yield qualifying
        if (flow.context.isYieldDue) await flow.context.yieldToEventLoop()
      }
    }
  }
}

async function joinSides(items: Groups<Item>, rows: Groups<MatchRow>, pairs: Pairs, sides: JoinedSides): Promise<void> {
  try {
    await items.begin()
    await rows.begin()
    while (items.key !== undefined && rows.key !== undefined) {
      const order = Buffer.compare(items.key, rows.key)
      if (order < 0) await items.skip()
      else if (order > 0) await rows.skip()
      else await joinGroup(items, rows, pairs, sides)
    }
  } finally {
    await items.end()
    await rows.end()
  }
}

/** The maximum of items buffered per key, and of rows per pass over a key with more items. */
const bufferedItemsMax = 256
const rowsPerPass = 16_384

async function joinGroup(
  items: Groups<Item>,
  rows: Groups<MatchRow>,
  pairs: Pairs,
  { operator, flow }: JoinedSides,
): Promise<void> {
  const few = new ItemBuffer<Item>(flow.context)
  let many: SortedRows<Item> | undefined
  try {
    for (let merged = items.current; merged !== undefined; merged = await items.nextOfGroup()) {
      const item = merged.row.row as Item
      if (many === undefined && !few.isFull(bufferedItemsMax)) {
        few.add(item, itemBytes(item.value))
        continue
      }
      many ??= new SortedRows(itemKind, flow.context, operator)
      for (const row of [...few.take(), item]) many.addNumbered(many.count, { row, aggregates: noAggregates })
      if (many.isFull) await many.settle()
    }
    await items.skip()
    if (many === undefined) {
      for (let merged = rows.current; merged !== undefined; merged = await rows.nextOfGroup()) {
        for (const [place, item] of few.all.entries()) {
          const wait = pairs.add(merged, item, place)
          if (wait !== undefined) await wait
        }
      }
    } else await joinWithMany(many, rows, pairs, flow)
    await rows.skip()
  } finally {
    few.take()
    await many?.close()
    many?.forget()
  }
}

async function joinWithMany(
  items: SortedRows<Item>,
  rows: Groups<MatchRow>,
  pairs: Pairs,
  { context }: MatchFlow,
): Promise<void> {
  const some = new ItemBuffer<MergedRow<MatchRow>>(context)
  const join = async (): Promise<void> => {
    let place = 0
    for await (const batch of items.sorted()) {
      for (const row of some.all) {
        for (const [i, item] of batch.entries()) {
          const wait = pairs.add(row, item.row as Item, place + i)
          if (wait !== undefined) await wait
        }
      }
      place += batch.length
    }
    some.take()
  }
  try {
    for (let merged = rows.current; merged !== undefined; merged = await rows.nextOfGroup()) {
      some.add(merged, matchRowKind.bytesOf(merged.row.row as MatchRow))
      if (some.isFull(rowsPerPass)) await join()
    }
    await join()
  } finally {
    some.take()
  }
}

/** Buffered elements of one key, with their memory charged. */
class ItemBuffer<T> {
  all: T[] = []
  private readonly context: StatementContext
  private bytes = 0

  constructor(context: StatementContext) {
    this.context = context
  }

  isFull(max: number): boolean {
    return this.all.length >= max || this.context.isSpillDue(0, this.bytes)
  }

  add(one: T, bytes: number): void {
    this.context.hold(0, bytes)
    this.bytes += bytes
    this.all.push(one)
  }

  take(): readonly T[] {
    const { all } = this
    if (this.bytes > 0) this.context.hold(0, -this.bytes)
    this.all = []
    this.bytes = 0
    return all
  }
}

const pairsPerBatch = 256

/** Pairs for which the predicates are true, sorted by the positions of row and item. */
class Pairs {
  readonly sorted: SortedRows<MatchRow>
  private readonly sides: JoinedSides
  private rows: MatchRow[] = []
  private keys: Buffer[] = []

  constructor(sides: JoinedSides) {
    this.sides = sides
    this.sorted = new SortedRows(matchRowKind, sides.flow.context, sides.operator)
  }

  add({ order, row }: MergedRow<MatchRow>, item: Item, place: number): Promise<void> | undefined {
    const joined = row.row as MatchRow
    this.keys.push(pairKey(order, place))
    return this.rows.push({ ...joined, slots: joined.slots.with(this.sides.slot, item.value) }) < pairsPerBatch
      ? undefined
      : this.flush()
  }

  async flush(): Promise<void> {
    const { rows, keys, sorted } = this
    const { predicates, flow, operator } = this.sides
    this.rows = []
    this.keys = []
    const qualifying = new Set(await filterMatchRows(predicates, rows, flow))
    operator.returned += qualifying.size
    for (const [i, row] of rows.entries()) {
      if (!qualifying.has(row)) continue
      sorted.add(keys[i] as Buffer, 0, { row, aggregates: noAggregates })
      if (sorted.isFull) await sorted.settle()
    }
    await sorted.settle()
    if (flow.context.isYieldDue) await flow.context.yieldToEventLoop()
  }
}

function pairKey(row: number, item: number): Buffer {
  const key = Buffer.allocUnsafe(12)
  key.writeUIntBE(row, 0, 6)
  key.writeUIntBE(item, 6, 6)
  return key
}

/** Rows in key order, group by group. */
class Groups<R> {
  /** Key of the current row; undefined at the end. */
  key: Buffer | undefined
  private readonly batches: AsyncGenerator<readonly MergedRow<R>[]>
  private batch: readonly MergedRow<R>[] = []
  private at = 0

  constructor(batches: AsyncGenerator<readonly MergedRow<R>[]>) {
    this.batches = batches
  }

  async begin(): Promise<void> {
    await this.toNext()
    this.key = this.current?.key
  }

  get current(): MergedRow<R> | undefined {
    return this.batch[this.at]
  }

  /** Returns undefined if the next row has another key. */
  async nextOfGroup(): Promise<MergedRow<R> | undefined> {
    await this.toNext()
    const { current } = this
    return current === undefined || current.isFirst ? undefined : current
  }

  async skip(): Promise<void> {
    // The current row is the first of the new key, or still belongs to the previous one.
    while (this.current !== undefined && !(this.current.isFirst && this.current.key !== this.key)) await this.toNext()
    this.key = this.current?.key
  }

  async end(): Promise<void> {
    await this.batches.return(undefined)
  }

  private async toNext(): Promise<void> {
    if (++this.at < this.batch.length) return
    const next = await this.batches.next()
    this.batch = next.done === true ? [] : next.value
    this.at = 0
  }
}
