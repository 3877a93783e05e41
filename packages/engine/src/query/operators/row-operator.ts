/** What an operator on rows is: planned with the clauses of a statement, shown by EXPLAIN, and run on the rows as they come. */
import type { BoundClauses } from '../bind/bound.ts'
import type { EvaluationContext } from '../evaluate/evaluation-context.ts'
import type { PushRows } from '../execute/pushed-rows.ts'
import type { OutputRow, RowBatches, RowKind } from '../execute/row.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import type { ExplainNode } from '../explain/explain-node.ts'
import type { Planning } from './planning.ts'
import type { RowLimits } from './row-limits.ts'

/** Undefined where the clauses do not ask for the operator. */
export type PlanOperator = (clauses: BoundClauses, planning: Planning) => RowOperator | undefined

export interface RowOperator {
  /** `input`: what comes out of the operators before this one. Nothing is read before somebody takes rows. */
  run<R>(input: Pipeline<R>, flow: Flow<R>): Pipeline<R> | Promise<Pipeline<R>>
}

/** Rows, and the operator from which they come. */
export interface Pipeline<R> {
  readonly rows: AsyncIterable<readonly OutputRow<R>[]>
  readonly operator: ExplainNode
  /** The rows of the source, for the first operator: either these or `rows` are taken. */
  readonly source: RowBatches<R>
  /** The same, pushed one by one, where the source can do that; undefined behind the first operator. */
  readonly push?: PushRows<R> | undefined
  /** The rows come in the order asked for. */
  readonly isOrdered: boolean
}

/** What operators evaluate the rows with. */
export interface Flow<R> {
  readonly kind: RowKind<R>
  readonly evaluation: EvaluationContext
  readonly context: StatementContext
  readonly limits: RowLimits
}

/** The rows that the operator makes of its input, counted, and measured where the statement is analyzed. */
export function pipeline<R>(
  rows: AsyncIterable<readonly OutputRow<R>[]>,
  operator: ExplainNode,
  input: Pipeline<R>,
  context: StatementContext,
): Pipeline<R> {
  return { ...input, push: undefined, rows: context.measured(counted(rows, operator), operator), operator }
}

/** The rows as they come; the operator knows how many. */
export async function* counted<T>(
  batches: AsyncIterable<readonly T[]>,
  operator: ExplainNode,
): AsyncGenerator<readonly T[]> {
  for await (const rows of batches) {
    operator.returned += rows.length
    yield rows
  }
}

/** Of rows that are no groups. */
export const noAggregates: readonly unknown[] = []

const batchRows = 256

/** Rows that are there all at once, in batches. */
export async function* later<T>(make: () => Promise<readonly T[]>): AsyncGenerator<readonly T[]> {
  const rows = await make()
  for (let at = 0; at < rows.length; at += batchRows) yield rows.slice(at, at + batchRows)
}
