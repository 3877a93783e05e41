/** Sorts the objects of an access path, all of them or only the first ones. */
import type { ObjectView } from '../evaluate/object-view.ts'
import type { OrderPlan } from '../evaluate/sort-key.ts'
import type { PushRows } from '../execute/pushed-rows.ts'
import { type OutputRow, objectRowKind } from '../execute/row.ts'
import { noAggregates } from '../operators/row-operator.ts'
import { sortRows } from '../operators/sort.ts'
import type { ObjectScan } from './object-scan.ts'

/** `rowLimit`: the number of first objects needed; undefined for all. */
export async function* sortedObjects(
  { filter, evaluation, context, source }: ObjectScan,
  objects: AsyncIterable<ObjectView[]> | PushRows<ObjectView>,
  order: readonly OrderPlan[],
  rowLimit: number | undefined,
): AsyncGenerator<ObjectView[]> {
  const kind = objectRowKind(filter.slot)
  const sort = { limit: rowLimit, operator: source }
  const rows = typeof objects === 'function' ? objects : asOutput(objects)
  for await (const sorted of sortRows(rows, order, sort, { kind, evaluation, context })) {
    yield sorted.flatMap(({ row }) => row ?? [])
  }
}

async function* asOutput(batches: AsyncIterable<ObjectView[]>): AsyncGenerator<OutputRow<ObjectView>[]> {
  for await (const views of batches) yield views.map((row) => ({ row, aggregates: noAggregates }))
}
