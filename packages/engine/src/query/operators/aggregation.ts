/** Groups with the aggregates over their rows: what each is given, and what it comes to. */
import type { AggregateName } from '../bind/bound.ts'
import type { Accumulator } from '../evaluate/aggregate.ts'
import type { Evaluate, EvaluationContext } from '../evaluate/evaluation-context.ts'
import { elementBytes, valueBytes } from '../evaluate/value-bytes.ts'
import { evaluateConstant } from '../execute/evaluate-rows.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import { queryError } from '../language/query-error.ts'
import { isNullOf } from '../values/compare.ts'
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
  /** The place of its first row among all rows. */
  readonly order: number
  /** The first one; undefined of aggregates over nothing. */
  readonly row: R | undefined
  readonly accumulators: readonly Accumulator[]
}

/** What a group takes beside its key, its row and its values. */
export const groupBytes = 200

export function newGroup<R>(
  aggregates: readonly AggregatePlan[],
  key: string,
  order: number,
  row: R | undefined,
): Group<R> {
  return { key, order, row, accumulators: aggregates.map(({ newAccumulator }) => newAccumulator()) }
}

/** `hold`: is charged with what the aggregates hold on to. Throws QueryError where a sum is too large. */
export function accumulate(
  accumulators: readonly Accumulator[],
  aggregates: readonly AggregatePlan[],
  operands: readonly unknown[],
  evaluation: EvaluationContext,
  hold: (bytes: number) => void,
): void {
  for (let i = 0; i < accumulators.length; i++) {
    const accumulator = accumulators[i] as Accumulator
    const plan = aggregates[i] as AggregatePlan
    const value = operands[i]
    if (plan.operandType !== undefined && isNullOf(plan.operandType, value)) continue
    const { held } = accumulator
    if (!accumulator.add(value ?? null)) {
      throw queryError(evaluation.text, plan.span, `the sum is beyond what an ${plan.type.kind} holds`)
    }
    const more = accumulator.held - held
    if (more > 0) hold(more * (elementBytes + valueBytes(value)))
  }
}

/** MEDIAN and PERCENTILE select among their values, which may take long. */
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
    const given = fraction && (await evaluateConstant(fraction, evaluation, context))
    results.push(accumulator.result(given))
  }
  return results
}
