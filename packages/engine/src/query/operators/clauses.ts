/** Plans and runs the operators of a statement's clauses, in the order in which rows pass them. */
import type { BoundClauses } from '../bind/bound.ts'
import type { EvaluationContext } from '../evaluate/evaluation-context.ts'
import type { PushRows } from '../execute/pushed-rows.ts'
import type { OutputRow, RowBatches, RowKind } from '../execute/row.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import type { ExplainNode } from '../explain/explain-node.ts'
import { planDistinct } from './distinct.ts'
import { isCountOnly, planGroup } from './group.ts'
import { planLimit } from './limit.ts'
import type { Planning } from './planning.ts'
import { type ProjectionPlans, planProjections, returned } from './project.ts'
import { planRowLimits, type RowLimits } from './row-limits.ts'
import { type Flow, noAggregates, type Pipeline, type PlanOperator, type RowOperator } from './row-operator.ts'
import { planSort } from './sort.ts'
import { planWindows } from './window.ts'

const rowOperators: readonly PlanOperator[] = [planGroup, planWindows, planDistinct, planSort, planLimit]

/** Operators that process the qualifying rows. */
export interface ClausesPlan {
  readonly operators: readonly RowOperator[]
  readonly limits: RowLimits
  readonly projections: ProjectionPlans
  /** The projections are added to the attributes of the object. */
  readonly isWithAll: boolean
  /** Number of aggregates if the statement needs nothing but the number of rows. */
  readonly countsOnly: number | undefined
}

export function planClauses(clauses: BoundClauses, planning: Planning): ClausesPlan {
  const operators = rowOperators.flatMap((plan) => plan(clauses, planning) ?? [])
  // Any operator besides the aggregation needs the rows themselves.
  const isCounted = operators.length === 1 && isCountOnly(clauses)
  return {
    operators,
    limits: planRowLimits(clauses, planning),
    projections: planProjections(clauses, planning),
    isWithAll: clauses.isWithAll,
    countsOnly: isCounted ? clauses.aggregates.length : undefined,
  }
}

export async function runClauses<R>(
  input: Input<R>,
  plan: ClausesPlan,
  kind: RowKind<R>,
  evaluation: EvaluationContext,
  context: StatementContext,
): Promise<Pipeline<R>> {
  return returned(await runOperators(input, plan, kind, evaluation, context), plan, context)
}

interface Input<R> {
  readonly rows: RowBatches<R>
  readonly push?: PushRows<R> | undefined
  readonly operator: ExplainNode
  readonly isOrdered: boolean
}

/** `runClauses` without the projections. `isOrdered`: the rows already have the requested order. */
export async function runOperators<R>(
  input: Input<R>,
  { operators, limits }: ClausesPlan,
  kind: RowKind<R>,
  evaluation: EvaluationContext,
  context: StatementContext,
): Promise<Pipeline<R>> {
  const flow: Flow<R> = { kind, evaluation, context, limits }
  let pipeline: Pipeline<R> = { ...input, rows: outputRows(input.rows), source: input.rows }
  for (const operator of operators) pipeline = await operator.run(pipeline, flow)
  return pipeline
}

async function* outputRows<R>(batches: RowBatches<R>): AsyncGenerator<readonly OutputRow<R>[]> {
  for await (const rows of batches) yield rows.map((row) => ({ row, aggregates: noAggregates }))
}
