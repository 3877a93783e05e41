/** Hash join: the rows of a source are hashed by the join keys, or all joined with each row if there are none; spills to disk. */
import { TextMap } from '../../budget/text-map.ts'
import { Decimal } from '../../types/decimal-number.ts'
import { elementBytes, textBytes } from '../evaluate/value-bytes.ts'
import { evaluateRows } from '../execute/evaluate-rows.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import { type ExplainNode, rowOperatorPlan } from '../explain/explain-node.ts'
import { type Item, itemBytes } from '../operators/buffered-values.ts'
import type { SortedRows } from '../operators/sorted-rows.ts'
import { itemsOf } from './first-source.ts'
import { inputsOf, type MatchFlow, type MatchOperator } from './match-operator.ts'
import { type MatchBatches, type MatchRow, matchRowKind } from './match-row.ts'
import { filterMatchRows, type PredicatePlan, predicateTexts } from './predicates.ts'
import type { JoinKey, SourceRows } from './source-rows.ts'
import { addItem, type KeyedBatch, sortedItems, spilledPairs, spilledProduct } from './spilled-join.ts'

const batchRows = 256
const entryBytes = 100

interface HashJoin {
  readonly slot: number
  readonly keys: readonly JoinKey[]
  readonly predicates: readonly PredicatePlan[]
}

export function hashJoin(
  { slot, name }: { readonly slot: number; readonly name: string },
  source: SourceRows,
  keys: readonly JoinKey[],
  predicates: readonly PredicatePlan[],
): MatchOperator {
  return {
    run(input, flow) {
      const { items, operator: from } = itemsOf(source, flow)
      const by = keys.length === 0 ? {} : { keys: keys.map(({ text }) => text) }
      const operator = rowOperatorPlan(
        keys.length === 0 ? 'product' : 'hashJoin',
        { name, ...by, ...predicateTexts(predicates) },
        inputsOf(input.operator, from),
      )
      const rows = joined({ slot, keys, predicates }, input.rows, items, operator, flow)
      return { rows: flow.context.measured(rows, operator), operator }
    },
  }
}

interface Table {
  readonly inMemory: TextMap<unknown[]>
  /** Replaces the table in memory. */
  readonly onDisk: SortedRows<Item> | undefined
}

async function* joined(
  join: HashJoin,
  input: MatchBatches,
  items: AsyncIterable<readonly unknown[]>,
  operator: ExplainNode,
  flow: MatchFlow,
): AsyncGenerator<readonly MatchRow[]> {
  const { context } = flow
  const { slot, keys, predicates } = join
  let table: Table | undefined
  const batches = withKeys(join, input, flow)
  try {
    for await (const first of batches) {
      table ??= await tableOf(join, items, operator, flow)
      if (table.onDisk !== undefined) {
        const sides = { slot, predicates, operator, flow }
        const pairs = keys.length === 0 ? spilledProduct : spilledPairs
        yield* pairs(table.onDisk, startingWith(first, batches), sides)
        return
      }
      for (const found of pairsOf(first, table.inMemory, slot)) {
        const qualifying = await filterMatchRows(predicates, found, flow)
        operator.returned += qualifying.length
        if (qualifying.length > 0) yield qualifying
        if (context.isYieldDue) await context.yieldToEventLoop()
      }
      const pause = context.yieldIfDue()
      if (pause !== undefined) await pause
    }
  } finally {
    await table?.onDisk?.close()
  }
}

async function* withKeys(join: HashJoin, input: MatchBatches, flow: MatchFlow): AsyncGenerator<KeyedBatch> {
  const { evaluation, context } = flow
  for await (const rows of input) {
    const keys = await evaluateRows(context, rows, (row) => {
      matchRowKind.enter(evaluation, row)
      return hashKey(join.keys.map(({ other }) => other(evaluation)))
    })
    yield { rows, keys }
  }
}

async function* startingWith(first: KeyedBatch, others: AsyncGenerator<KeyedBatch>): AsyncGenerator<KeyedBatch> {
  yield first
  yield* others
}

/** Pairs each row with each item of its key, in batches. */
function* pairsOf({ rows, keys }: KeyedBatch, table: Table['inMemory'], slot: number): Generator<readonly MatchRow[]> {
  let found: MatchRow[] = []
  for (const [i, row] of rows.entries()) {
    const key = keys[i]
    for (const item of key === undefined ? [] : (table.get(key) ?? [])) {
      found.push({ ...row, slots: row.slots.with(slot, item) })
      if (found.length < batchRows) continue
      yield found
      found = []
    }
  }
  if (found.length > 0) yield found
}

/** The memory is charged until the statement ends; the table spills to disk beyond it. Throws LimitExceeded and ServerBusy. */
async function tableOf(
  { slot, keys }: HashJoin,
  items: AsyncIterable<readonly unknown[]>,
  operator: ExplainNode,
  flow: MatchFlow,
): Promise<Table> {
  const { evaluation, context } = flow
  const table = new HashTable(context)
  let onDisk: SortedRows<Item> | undefined
  try {
    for await (const batch of items) {
      const found = await evaluateRows(context, batch, (item) => {
        evaluation.slots[slot] = item
        return hashKey(keys.map(({ own }) => own(evaluation)))
      })
      for (const [i, item] of batch.entries()) {
        const key = found[i]
        if (key === undefined) continue
        if (onDisk === undefined && table.isFull) {
          onDisk = sortedItems({ flow, operator })
          await table.moveTo(onDisk)
        }
        if (onDisk === undefined) table.add(key, item)
        else await addItem(onDisk, key, item)
      }
      const pause = context.yieldIfDue()
      if (pause !== undefined) await pause
    }
    await onDisk?.settle()
    return { inMemory: table.items, onDisk }
  } catch (error) {
    await onDisk?.close()
    throw error
  }
}

class HashTable {
  items = new TextMap<unknown[]>()
  private readonly context: StatementContext
  private rows = 0
  private bytes = 0

  constructor(context: StatementContext) {
    this.context = context
  }

  get isFull(): boolean {
    return this.context.isSpillDue(this.rows, this.bytes)
  }

  add(key: string, item: unknown): void {
    const others = this.items.get(key)
    const bytes = entryBytes + elementBytes + itemBytes(item) + (others === undefined ? textBytes(key.length) : 0)
    this.context.hold(1, bytes)
    this.rows++
    this.bytes += bytes
    if (others !== undefined) others.push(item)
    else this.items.set(key, [item])
  }

  /** Moves the items to disk and empties the table. */
  async moveTo(onDisk: SortedRows<Item>): Promise<void> {
    const { items, context } = this
    // The memory is needed for rows in transit.
    context.hold(-this.rows, -this.bytes)
    this.items = new TextMap()
    for (const key of items.keys()) {
      for (const item of items.get(key) ?? []) {
        await addItem(onDisk, key, item)
        if (context.isYieldDue) await context.yieldToEventLoop()
      }
    }
    await onDisk.spill()
  }
}

/** Equal values have equal keys, and so may unequal ones, so predicates are evaluated as well. Undefined for null, which equals nothing. */
function hashKey(values: readonly unknown[]): string | undefined {
  let key = ''
  for (const value of values) {
    if (value === null || value === undefined) return undefined
    // Integers and reals of both widths are comparable: equal values are equal after rounding to 32 bits.
    const isNumber = typeof value === 'number' || typeof value === 'bigint' || value instanceof Decimal
    const part = isNumber ? Math.fround(Number(value)) + 0 : String(value)
    key += `${String(part).length} ${part}`
  }
  return key
}
