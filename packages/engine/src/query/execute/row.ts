/** Row abstraction for operators: how a row fills the slots of an evaluation context, how it is copied, sized and serialized. */

import type { EvaluationContext } from '../evaluate/evaluation-context.ts'
import type { ObjectView } from '../evaluate/object-view.ts'

export interface RowKind<R> {
  /** Makes the row visible to expressions; undefined = no row at all, as for aggregates over an empty input. */
  enter(evaluation: EvaluationContext, row: R | undefined): void
  /** A copy that stays valid after a borrowed row is reused. */
  copy(row: R): R
  /** Approximate size in bytes of a retained row. */
  bytesOf(row: R): number
  /** Conversion to and from the value that is spilled to disk; see `ValueCodec`. */
  toValue(row: R): unknown
  fromValue(value: unknown): R
}

/** A row, or a group with its first row and the results of its aggregates. */
export interface OutputRow<R> {
  readonly row: R | undefined
  readonly aggregates: readonly unknown[]
  /** Results of window functions; undefined before they are computed, and in statements without window functions. */
  readonly windows?: readonly unknown[]
}

export type RowBatches<R> = AsyncIterable<readonly R[]>

/** Makes the row and its aggregates visible to expressions. */
export function enterOutput<R>(
  { row, aggregates, windows }: OutputRow<R>,
  kind: RowKind<R>,
  evaluation: EvaluationContext,
): void {
  kind.enter(evaluation, row)
  evaluation.aggregates = aggregates
  if (windows !== undefined) evaluation.windows = windows
}

/** Rows that are single objects, in one slot. */
export function objectRowKind(slot: number): RowKind<ObjectView> {
  return {
    enter(evaluation, row) {
      evaluation.slots[slot] = row
    },
    copy: (row) => row.copy(),
    bytesOf: ({ bytes }) => bytes + 100,
    toValue: (row) => row,
    fromValue: (value) => value as ObjectView,
  }
}
