/** Interface of row operators: planned with the clauses of a statement, shown by EXPLAIN, and run on batches of rows. */
import type { BoundClauses } from '../bind/bound.ts'
import type { EvaluationContext } from '../evaluate/evaluation-context.ts'
import type { PushRows } from '../execute/pushed-rows.ts'
import type { OutputRow, RowBatches, RowKind } from '../execute/row.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import type { ExplainNode } from '../explain/explain-node.ts'
import type { Planning } from './planning.ts'
import type { RowLimits } from './row-limits.ts'

/** Undefined where the clauses do not need the operator. */
export type PlanOperator = (clauses: BoundClauses, planning: Planning) => RowOperator | undefined

export interface RowOperator {
  /** `input`: output of the previous operator. Nothing is read before rows are requested. */
  run<R>(input: Pipeline<R>, flow: Flow<R>): Pipeline<R> | Promise<Pipeline<R>>
}

/** Rows, and the operator that produces them. */
export interface Pipeline<R> {
  readonly rows: AsyncIterable<readonly OutputRow<R>[]>
  readonly operator: ExplainNode
  /** Rows of the source, for the first operator, which consumes either these or `rows`. */
  readonly source: RowBatches<R>
  /** Push-based access to the source, where it supports that; undefined after the first operator. */
  readonly push?: PushRows<R> | undefined
  /** The rows are in the requested order. */
  readonly isOrdered: boolean
}

export interface RowFlow<R> {
  readonly kind: RowKind<R>
  readonly evaluation: EvaluationContext
  readonly context: StatementContext
}

export interface Flow<R> extends RowFlow<R> {
  readonly limits: RowLimits
}

/** Output of an operator, counted, and measured where the statement is analyzed. */
export function pipeline<R>(
  rows: AsyncIterable<readonly OutputRow<R>[]>,
  operator: ExplainNode,
  input: Pipeline<R>,
  context: StatementContext,
): Pipeline<R> {
  return { ...input, push: undefined, rows: context.measured(counted(rows, operator), operator), operator }
}

/** Adds the rows to the operator's count. */
export async function* counted<T>(
  batches: AsyncIterable<readonly T[]>,
  operator: ExplainNode,
): AsyncGenerator<readonly T[]> {
  for await (const rows of batches) {
    operator.returned += rows.length
    yield rows
  }
}

/** For rows that are not groups. */
export const noAggregates: readonly unknown[] = []

const batchRows = 256

/** Splits rows into batches. */
export async function* batchesOf<T>(make: () => Promise<readonly T[]>): AsyncGenerator<readonly T[]> {
  const rows = await make()
  for (let at = 0; at < rows.length; at += batchRows) yield rows.slice(at, at + batchRows)
}
