/** GROUP BY, and aggregates over all rows: one row a group, kept in memory until all are seen. */
import { SteadyMap } from '../../budget/steady-map.ts'
import { inSlices } from '../../store/time-slice.ts'
import { type AggregateName, type Bound, type BoundClauses, partsOf } from '../bind/bound.ts'
import { type Accumulator, accumulatorsOf } from '../evaluate/aggregate.ts'
import type { Evaluate, EvaluationContext } from '../evaluate/evaluation-context.ts'
import { elementBytes, textBytes, valueBytes } from '../evaluate/value-bytes.ts'
import { groupKey, keyWriter, type WriteKey } from '../evaluate/value-key.ts'
import { evaluateConstant, evaluateRows } from '../execute/evaluate-rows.ts'
import { enterOutput, type OutputRow, type RowBatches, type RowKind } from '../execute/row.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import { rowOperatorPlan } from '../explain/explain-node.ts'
import { queryError } from '../language/query-error.ts'
import { isNullOf } from '../values/compare.ts'
import type { ValueType } from '../values/value-type.ts'
import { inTurns } from './pieces-in-turns.ts'
import type { Planning } from './planning.ts'
import { later, type PlanOperator, pipeline } from './row-operator.ts'

interface AggregatePlan {
  readonly function: AggregateName
  readonly operand: Evaluate | undefined
  readonly operandType: ValueType | undefined
  readonly type: ValueType
  readonly newAccumulator: () => Accumulator
  readonly fraction: Evaluate | undefined
  readonly span: { readonly start: number; readonly end: number }
}

interface GroupPlan {
  readonly keys: readonly { readonly evaluate: Evaluate; readonly write: WriteKey }[]
  readonly aggregates: readonly AggregatePlan[]
  readonly having: Evaluate | undefined
}

/** Always the first operator, since it takes the rows of the source as they are. */
export const planGroup: PlanOperator = (clauses, planning) => {
  const plan = planGroups(clauses, planning)
  if (plan === undefined) return undefined
  const aggregates = plan.aggregates.map(({ function: name }) => name)
  const details = { keys: plan.keys.length, aggregates, ...groupTexts(clauses, planning.text) }
  return {
    run(input, { kind, evaluation, context }) {
      const operator = rowOperatorPlan('group', details, [input.operator])
      const groups = later(() => groupRows(input.source, plan, kind, evaluation, context))
      return pipeline(groups, operator, input, context)
    },
  }
}

function planGroups({ groupBy, aggregates, having }: BoundClauses, { compiler }: Planning): GroupPlan | undefined {
  if (groupBy === undefined) return undefined
  return {
    keys: groupBy.map((key) => ({ evaluate: compiler.compile(key), write: keyWriter(key.type) })),
    aggregates: aggregates.map(({ function: name, operand, isDistinct, fraction, type, start, end }) => ({
      function: name,
      operand: operand === undefined ? undefined : compiler.compile(operand),
      operandType: operand?.type,
      type,
      newAccumulator: accumulatorsOf(name, operand?.type, isDistinct),
      fraction: fraction && compiler.compile(fraction),
      span: { start, end },
    })),
    having: having === undefined ? undefined : compiler.compile(having),
  }
}

function groupTexts({ groupBy = [], having }: BoundClauses, text: string): object {
  const textOf = ({ start, end }: Bound): string => text.slice(start, end)
  return {
    ...(groupBy.length === 0 ? {} : { by: groupBy.map(textOf) }),
    ...(having === undefined ? {} : { having: textOf(having) }),
  }
}

/** Nothing is asked of the rows but how many there are, as far as this operator and the columns ask. */
export function isCountOnly({ groupBy, aggregates, having, projections }: BoundClauses): boolean {
  const isPlain = groupBy?.length === 0 && having === undefined
  const isCount = aggregates.every(({ function: name, operand }) => name === 'COUNT' && operand === undefined)
  const isOfRow = (bound: Bound): boolean => 'slot' in bound || partsOf(bound).some(isOfRow)
  return isPlain && isCount && projections?.some(({ expression }) => isOfRow(expression)) === false
}

interface Group<R> {
  readonly row: R | undefined
  readonly accumulators: readonly Accumulator[]
}

const groupBytes = 200
/** Rows that are added to their groups before the next look at the clock, less one; all its bits are ones. */
const rowsBetweenLooks = 7

async function groupRows<R>(
  batches: RowBatches<R>,
  plan: GroupPlan,
  kind: RowKind<R>,
  evaluation: EvaluationContext,
  context: StatementContext,
): Promise<OutputRow<R>[]> {
  const { keys, aggregates } = plan
  const { memory } = evaluation
  const writers = keys.map(({ write }) => write)
  const groups: Group<R>[] = []
  const byKey = new SteadyMap<string, Group<R>>()
  for await (const rows of batches) {
    let bytes = 0
    const hold = (value: unknown): void => {
      const more = valueBytes(value)
      bytes += more
      memory.chargeStatement(more)
    }
    const seen = evaluateRows(context, rows, (row) => {
      kind.enter(evaluation, row)
      const values = keys.map(({ evaluate }) => evaluate(evaluation))
      const operands = aggregates.map(({ operand }) => operand?.(evaluation))
      for (const value of values) hold(value)
      for (const operand of operands) hold(operand)
      return { key: groupKey(writers, values), operands }
    })
    const evaluated = seen instanceof Promise ? await seen : seen
    memory.chargeStatement(-bytes)
    for (const [i, { key, operands }] of evaluated.entries()) {
      let group = byKey.get(key)
      if (group === undefined) {
        group = newGroup<R>(plan, rows[i] as R)
        context.hold(1, groupBytes + textBytes(key.length) + kind.bytesOf(rows[i] as R))
        groups.push(group)
        byKey.set(key, group)
      }
      accumulate(group, aggregates, operands, evaluation, context)
      if ((i & rowsBetweenLooks) === rowsBetweenLooks && context.isTurnDue) await context.turn()
    }
    const pause = context.yieldIfDue()
    if (pause !== undefined) await pause
  }
  // Aggregates over nothing are still a row; groups of nothing are none.
  if (groups.length === 0 && keys.length === 0) groups.push(newGroup<R>(plan, undefined))
  const rows = await rowsOfGroups(groups, plan, evaluation, context)
  return plan.having === undefined ? rows : having(rows, plan.having, kind, evaluation, context)
}

async function rowsOfGroups<R>(
  groups: readonly Group<R>[],
  { aggregates }: GroupPlan,
  evaluation: EvaluationContext,
  context: StatementContext,
): Promise<OutputRow<R>[]> {
  const rows: OutputRow<R>[] = []
  const isSelected = aggregates.some(({ function: name }) => name === 'MEDIAN' || name === 'PERCENTILE')
  if (!isSelected) {
    const push = ({ row, accumulators }: Group<R>): void => {
      rows.push({ row, aggregates: accumulators.map((accumulator) => accumulator.result()) })
    }
    await inSlices(groups, push, context.script.slice)
    return rows
  }
  for (const { row, accumulators } of groups) {
    const results: unknown[] = []
    for (const [i, accumulator] of accumulators.entries()) {
      const { fraction } = aggregates[i] as AggregatePlan
      const given = fraction && (await evaluateConstant(fraction, evaluation, context))
      const pieces = accumulator.select?.(given)
      results.push(pieces === undefined ? accumulator.result() : await inTurns(pieces, context))
    }
    rows.push({ row, aggregates: results })
    const pause = context.yieldIfDue()
    if (pause !== undefined) await pause
  }
  return rows
}

function newGroup<R>({ aggregates }: GroupPlan, row: R | undefined): Group<R> {
  return {
    row,
    accumulators: aggregates.map(({ newAccumulator }) => newAccumulator()),
  }
}

function accumulate<R>(
  { accumulators }: Group<R>,
  aggregates: readonly AggregatePlan[],
  operands: readonly unknown[],
  evaluation: EvaluationContext,
  context: StatementContext,
): void {
  for (const [i, accumulator] of accumulators.entries()) {
    const plan = aggregates[i] as AggregatePlan
    const value = operands[i]
    if (plan.operandType !== undefined && isNullOf(plan.operandType, value)) continue
    const { held } = accumulator
    if (!accumulator.add(value ?? null)) {
      throw queryError(evaluation.text, plan.span, `the sum is beyond what an ${plan.type.kind} holds`)
    }
    const more = accumulator.held - held
    if (more > 0) context.hold(0, more * (elementBytes + valueBytes(value)))
  }
}

async function having<R>(
  rows: readonly OutputRow<R>[],
  predicate: (evaluation: EvaluationContext) => unknown,
  kind: RowKind<R>,
  evaluation: EvaluationContext,
  context: StatementContext,
): Promise<OutputRow<R>[]> {
  const kept = await evaluateRows(context, rows, (group) => {
    enterOutput(group, kind, evaluation)
    return predicate(evaluation) === true
  })
  return rows.filter((_row, i) => kept[i])
}
