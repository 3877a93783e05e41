/** Groups of rows and their aggregates. */
import type { AggregateName } from '../bind/bound.ts'
import { type Accumulator, addValue } from '../evaluate/aggregate.ts'
import type { Evaluate, EvaluationContext } from '../evaluate/evaluation-context.ts'
import { evaluateConstant } from '../execute/evaluate-rows.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import type { ValueType } from '../values/value-type.ts'

export interface AggregatePlan {
  readonly function: AggregateName
  readonly operand: Evaluate | undefined
  readonly operandType: ValueType | undefined
  readonly type: ValueType
  readonly newAccumulator: () => Accumulator
  readonly fraction: Evaluate | undefined
  readonly span: { readonly start: number; readonly end: number }
}

export interface Group<R> {
  readonly key: string
  /** Position of its first row among all rows. */
  readonly order: number
  /** The first row; undefined for aggregates over an empty input. */
  readonly row: R | undefined
  readonly accumulators: readonly Accumulator[]
}

/** Memory of a group without its key, row and values. */
export const groupBytes = 200

export function newGroup<R>(
  aggregates: readonly AggregatePlan[],
  key: string,
  order: number,
  row: R | undefined,
): Group<R> {
  return { key, order, row, accumulators: aggregates.map(({ newAccumulator }) => newAccumulator()) }
}

/** Charges memory that the aggregates retain to `hold`. Throws QueryError where a sum overflows. */
export function accumulate(
  accumulators: readonly Accumulator[],
  aggregates: readonly AggregatePlan[],
  operands: readonly unknown[],
  evaluation: EvaluationContext,
  hold: (bytes: number) => void,
): void {
  for (let i = 0; i < accumulators.length; i++) {
    const bytes = addValue(accumulators[i] as Accumulator, aggregates[i] as AggregatePlan, operands[i], evaluation)
    if (bytes > 0) hold(bytes)
  }
}

/** Whether results need sorting, which may take long: MEDIAN and PERCENTILE. */
export function areSelected(aggregates: readonly AggregatePlan[]): boolean {
  return aggregates.some(({ function: name }) => name === 'MEDIAN' || name === 'PERCENTILE')
}

export async function selectedResults(
  accumulators: readonly Accumulator[],
  aggregates: readonly AggregatePlan[],
  evaluation: EvaluationContext,
  context: StatementContext,
): Promise<unknown[]> {
  const results: unknown[] = []
  for (const [i, accumulator] of accumulators.entries()) {
    const { fraction } = aggregates[i] as AggregatePlan
    const value = fraction && (await evaluateConstant(fraction, evaluation, context))
    results.push(accumulator.result(value))
  }
  return results
}
