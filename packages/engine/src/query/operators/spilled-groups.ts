/** Groups beyond memory: rows are sorted by key and aggregated in input order, as in memory; groups are then sorted by their first rows. */
import type { Accumulator } from '../evaluate/aggregate.ts'
import { elementBytes, valueBytes } from '../evaluate/value-bytes.ts'
import type { OutputRow } from '../execute/row.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import type { ExplainNode } from '../explain/explain-node.ts'
import {
  type AggregatePlan,
  accumulate,
  areSelected,
  type Group,
  groupBytes,
  newGroup,
  selectedResults,
} from './aggregation.ts'
import type { RowFlow } from './row-operator.ts'
import { SortedRows } from './sorted-rows.ts'

/** Marks a record as the state of a group's aggregates instead of the operands of a row. */
const stateMarker: readonly unknown[] = [true]

/** Writes groups as aggregate states, to which rows that follow are added. */
export async function writeGroups<R>(
  groups: readonly Group<R>[],
  to: SortedRows<R>,
  context: StatementContext,
): Promise<void> {
  await to.spill()
  const states = []
  for (const { key, order, row, accumulators } of groups) {
    const aggregates = accumulators.map((accumulator) => accumulator.save())
    states.push({ key: Buffer.from(key, 'latin1'), order, bytes: 0, row: { row, aggregates, windows: stateMarker } })
    const pause = context.yieldIfDue()
    if (pause !== undefined) await pause
  }
  await to.spillRun(states)
}

/** All groups, in the order of their first rows. */
export async function* groupsOnDisk<R>(
  rows: SortedRows<R>,
  aggregates: readonly AggregatePlan[],
  operator: ExplainNode,
  { kind, evaluation, context }: RowFlow<R>,
): AsyncGenerator<readonly OutputRow<R>[]> {
  const inOrder = new SortedRows(kind, context, operator)
  let retainedBytes = 0
  const hold = (bytes: number): void => {
    retainedBytes += bytes
    context.hold(0, bytes)
  }
  const isSelected = areSelected(aggregates)
  const finish = ({ order, row, accumulators }: Group<R>): Promise<void> | undefined => {
    if (isSelected) {
      return selectedResults(accumulators, aggregates, evaluation, context).then((results) => add(order, row, results))
    }
    return add(
      order,
      row,
      accumulators.map((accumulator) => accumulator.result()),
    )
  }
  const add = (order: number, row: R | undefined, results: readonly unknown[]): Promise<void> | undefined => {
    hold(-retainedBytes)
    inOrder.addNumbered(order, { row, aggregates: results })
    return inOrder.isFull ? inOrder.settle() : undefined
  }
  try {
    let group: Group<R> | undefined
    for await (const batch of rows.merged()) {
      for (const { isFirst, order, row: output } of batch) {
        const wait = isFirst && group !== undefined ? finish(group) : undefined
        if (wait !== undefined) await wait
        if (isFirst || group === undefined) {
          group = newGroup(aggregates, '', order, output.row)
          hold(groupBytes + (output.row === undefined ? 0 : kind.bytesOf(output.row)))
        }
        const { accumulators } = group
        if (output.windows === undefined) accumulate(accumulators, aggregates, output.aggregates, evaluation, hold)
        else restore(accumulators, output.aggregates, hold)
        if (context.isYieldDue) await context.yieldToEventLoop()
      }
    }
    if (group !== undefined) await finish(group)
    await rows.close()
    await inOrder.settle()
    yield* inOrder.sorted()
  } finally {
    await inOrder.close()
  }
}

function restore(
  accumulators: readonly Accumulator[],
  states: readonly unknown[],
  hold: (bytes: number) => void,
): void {
  for (const [i, accumulator] of accumulators.entries()) {
    const saved = states[i] as readonly unknown[]
    accumulator.restore(saved)
    hold(accumulator.retained * elementBytes + valueBytes(saved))
  }
}
