/**
 * Hash join: the rows of a source are kept in memory by the values that are compared; without such values, each row is
 * joined with all of them.
 */
import { SteadyMap } from '../../budget/steady-map.ts'
import { ObjectView } from '../evaluate/object-view.ts'
import { elementBytes, textBytes, valueBytes } from '../evaluate/value-bytes.ts'
import { evaluateRows } from '../execute/evaluate-rows.ts'
import { type ExplainNode, rowOperatorPlan } from '../explain/explain-node.ts'
import { itemsOf } from './first-source.ts'
import { inputsOf, type MatchFlow, type MatchOperator } from './match-operator.ts'
import { type MatchBatches, type MatchRow, matchRowKind } from './match-row.ts'
import { type PredicatePlan, predicateTexts, qualified } from './predicates.ts'
import type { JoinKey, SourceRows } from './source-rows.ts'

/** Rows are handed on when there are so many. */
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

type Table = SteadyMap<string, unknown[]>

async function* joined(
  join: HashJoin,
  input: MatchBatches,
  items: AsyncIterable<readonly unknown[]>,
  operator: ExplainNode,
  flow: MatchFlow,
): AsyncGenerator<readonly MatchRow[]> {
  const { evaluation, context } = flow
  let table: Table | undefined
  for await (const batch of input) {
    table ??= await tableOf(join, items, flow)
    const keys = await evaluateRows(context, batch, (row) => {
      matchRowKind.enter(evaluation, row)
      return hashKey(join.keys.map(({ other }) => other(evaluation)))
    })
    for (const found of pairsOf(batch, keys, table, join.slot)) {
      const kept = await qualified(join.predicates, found, flow)
      operator.returned += kept.length
      if (kept.length > 0) yield kept
      if (context.isTurnDue) await context.turn()
    }
    const pause = context.yieldIfDue()
    if (pause !== undefined) await pause
  }
}

/** Each row with each item of its key, some at a time. */
function* pairsOf(
  rows: readonly MatchRow[],
  keys: readonly (string | undefined)[],
  table: Table,
  slot: number,
): Generator<readonly MatchRow[]> {
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

/** Charged until the statement ends. Throws LimitExceeded. */
async function tableOf(
  { slot, keys }: HashJoin,
  items: AsyncIterable<readonly unknown[]>,
  { evaluation, context }: MatchFlow,
): Promise<Table> {
  const table: Table = new SteadyMap()
  for await (const batch of items) {
    const found = await evaluateRows(context, batch, (item) => {
      evaluation.slots[slot] = item
      return hashKey(keys.map(({ own }) => own(evaluation)))
    })
    for (const [i, item] of batch.entries()) {
      const key = found[i]
      if (key === undefined) continue
      context.hold(1, entryBytes + elementBytes + bytesOf(item))
      const others = table.get(key)
      if (others !== undefined) others.push(item)
      else {
        context.hold(0, textBytes(key.length))
        table.set(key, [item])
      }
    }
    const pause = context.yieldIfDue()
    if (pause !== undefined) await pause
  }
  return table
}

function bytesOf(item: unknown): number {
  return item instanceof ObjectView ? item.record.length : valueBytes(item)
}

/** Equal values have equal keys, others may: the predicates are asked again. Undefined where one is null, which is equal to nothing. */
function hashKey(values: readonly unknown[]): string | undefined {
  let key = ''
  for (const value of values) {
    if (value === null || value === undefined) return undefined
    // Integers and reals, of 64 bits and of 32, are compared with each other: what is equal is equal when it is rounded.
    const part = typeof value === 'number' || typeof value === 'bigint' ? Math.fround(Number(value)) + 0 : String(value)
    key += `${String(part).length} ${part}`
  }
  return key
}
