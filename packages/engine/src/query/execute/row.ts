/** Rows on their way: something that fills the slots of an evaluation context, and how much memory it takes to keep it. */

import type { EvaluationContext } from '../evaluate/evaluation-context.ts'
import type { ObjectView } from '../evaluate/object-view.ts'

export interface RowKind<R> {
  /** Makes the row the one that expressions see; undefined = no row at all, as for aggregates over nothing. */
  enter(evaluation: EvaluationContext, row: R | undefined): void
  /** One that stays valid where the row is borrowed. */
  kept(row: R): R
  /** About how many bytes a kept row takes. */
  bytesOf(row: R): number
  /** What a kept row is written to disk as, and read from it again; see `ValueCodec`. */
  toValue(row: R): unknown
  ofValue(value: unknown): R
}

/** A row, or a group with its first row and the results of its aggregates. */
export interface OutputRow<R> {
  readonly row: R | undefined
  readonly aggregates: readonly unknown[]
  /** Results of window functions; undefined before they are worked out, and without any. */
  readonly windows?: readonly unknown[]
}

export type RowBatches<R> = AsyncIterable<readonly R[]>

/** Makes it the row that expressions see, with its aggregates. */
export function enterOutput<R>(
  { row, aggregates, windows }: OutputRow<R>,
  kind: RowKind<R>,
  evaluation: EvaluationContext,
): void {
  kind.enter(evaluation, row)
  evaluation.aggregates = aggregates
  if (windows !== undefined) evaluation.windows = windows
}

/** Rows that are objects, in one slot. */
export function objectRowKind(slot: number): RowKind<ObjectView> {
  return {
    enter(evaluation, row) {
      evaluation.slots[slot] = row
    },
    kept: (row) => row.copy(),
    bytesOf: ({ bytes }) => bytes + 100,
    toValue: (row) => row,
    ofValue: (value) => value as ObjectView,
  }
}
