/** Sorts the objects of an access path: all of them, or only the first ones. */
import type { ObjectView } from '../evaluate/object-view.ts'
import type { OrderPlan } from '../evaluate/sort-key.ts'
import { type OutputRow, objectRowKind } from '../execute/row.ts'
import { noAggregates } from '../operators/row-operator.ts'
import { sortRows } from '../operators/sort.ts'
import type { ObjectScan } from './object-scan.ts'

/** `wanted`: how many of the first are needed; undefined = all. */
export async function* sortedObjects(
  { filter, evaluation, context, source }: ObjectScan,
  batches: AsyncIterable<ObjectView[]>,
  order: readonly OrderPlan[],
  wanted: number | undefined,
): AsyncGenerator<ObjectView[]> {
  const kind = objectRowKind(filter.slot)
  const sort = { wanted, operator: source }
  for await (const rows of sortRows(asOutput(batches), order, sort, { kind, evaluation, context })) {
    yield rows.flatMap(({ row }) => row ?? [])
  }
}

async function* asOutput(batches: AsyncIterable<ObjectView[]>): AsyncGenerator<OutputRow<ObjectView>[]> {
  for await (const views of batches) yield views.map((row) => ({ row, aggregates: noAggregates }))
}
