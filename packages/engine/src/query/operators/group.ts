/** GROUP BY, and aggregates over all rows: one row a group, kept in memory until all are seen. */
import { SteadyMap } from '../../budget/steady-map.ts'
import { inSlices } from '../../store/time-slice.ts'
import { type AggregateName, type Bound, type BoundClauses, partsOf } from '../bind/bound.ts'
import { isOfRecord } from '../bind/of-record.ts'
import { type Accumulator, accumulatorsOf } from '../evaluate/aggregate.ts'
import type { Evaluate, EvaluationContext } from '../evaluate/evaluation-context.ts'
import { elementBytes, textBytes, valueBytes } from '../evaluate/value-bytes.ts'
import { groupKey, keyWriter, type WriteKey } from '../evaluate/value-key.ts'
import { evaluateConstant, evaluateRows } from '../execute/evaluate-rows.ts'
import type { RowTaker } from '../execute/lent-rows.ts'
import { enterOutput, type OutputRow, type RowKind } from '../execute/row.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import { rowOperatorPlan } from '../explain/explain-node.ts'
import { turnDue } from '../functions/work.ts'
import { queryError } from '../language/query-error.ts'
import { isNullOf } from '../values/compare.ts'
import type { ValueType } from '../values/value-type.ts'
import { GroupsByValues } from './groups-by-values.ts'
import { inTurns } from './pieces-in-turns.ts'
import type { Planning } from './planning.ts'
import { later, type Pipeline, type PlanOperator, pipeline } from './row-operator.ts'

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
  /** Keys and operands are of the rows' records alone: nothing has to be waited for. */
  readonly areOfRecords: boolean
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
      const groups = later(() => groupRows(input, plan, kind, evaluation, context))
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
    areOfRecords: [...groupBy, ...aggregates.map(({ operand }) => operand)].every(
      (bound) => !bound || isOfRecord(bound),
    ),
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
  { source, lent }: Pipeline<R>,
  plan: GroupPlan,
  kind: RowKind<R>,
  evaluation: EvaluationContext,
  context: StatementContext,
): Promise<OutputRow<R>[]> {
  const groups = new Groups(plan, kind, evaluation, context)
  if (lent !== undefined && plan.areOfRecords) await lent(groups)
  else for await (const rows of source) await groups.takeAll(rows)
  const rows = await rowsOfGroups(groups.all(), plan, evaluation, context)
  return plan.having === undefined ? rows : having(rows, plan.having, kind, evaluation, context)
}

/** Groups by their keys, and those that rows were added to by the values of the keys. */
class Groups<R> implements RowTaker<R> {
  private readonly plan: GroupPlan
  private readonly kind: RowKind<R>
  private readonly evaluation: EvaluationContext
  private readonly context: StatementContext
  private readonly writers: readonly WriteKey[]
  private readonly groups: Group<R>[] = []
  private readonly byKey = new SteadyMap<string, Group<R>>()
  private readonly byValues: GroupsByValues<Group<R>>
  /** Of the row at hand. */
  private readonly values: unknown[]
  private readonly operands: unknown[]

  constructor(plan: GroupPlan, kind: RowKind<R>, evaluation: EvaluationContext, context: StatementContext) {
    this.plan = plan
    this.kind = kind
    this.evaluation = evaluation
    this.context = context
    this.writers = plan.keys.map(({ write }) => write)
    this.byValues = new GroupsByValues((bytes) => context.hold(0, bytes))
    this.values = plan.keys.map(() => null)
    this.operands = plan.aggregates.map(() => undefined)
  }

  take(row: R): boolean {
    const { plan, evaluation, values, operands } = this
    this.kind.enter(evaluation, row)
    try {
      const { keys, aggregates } = plan
      for (let i = 0; i < keys.length; i++) values[i] = keys[i]?.evaluate(evaluation)
      for (let i = 0; i < aggregates.length; i++) operands[i] = aggregates[i]?.operand?.(evaluation)
    } catch (error) {
      if (error !== turnDue) throw error
      return false
    }
    const known = this.byValues.find(values)
    const group = known ?? this.groupOf(groupKey(this.writers, values), row)
    if (known === undefined) this.byValues.add(values, group)
    accumulate(group, plan.aggregates, operands, evaluation, this.context)
    return true
  }

  takeLater(row: R): Promise<void> {
    return this.takeAll([row])
  }

  async takeAll(rows: readonly R[]): Promise<void> {
    const { plan, kind, evaluation, context, writers } = this
    const { keys, aggregates } = plan
    const { memory } = evaluation
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
      accumulate(this.groupOf(key, rows[i] as R), aggregates, operands, evaluation, context)
      if ((i & rowsBetweenLooks) === rowsBetweenLooks && context.isTurnDue) await context.turn()
    }
    const pause = context.yieldIfDue()
    if (pause !== undefined) await pause
  }

  all(): readonly Group<R>[] {
    const { groups, plan } = this
    // Aggregates over nothing are still a row; groups of nothing are none.
    return groups.length === 0 && plan.keys.length === 0 ? [newGroup<R>(plan, undefined)] : groups
  }

  private groupOf(key: string, row: R): Group<R> {
    const found = this.byKey.get(key)
    if (found !== undefined) return found
    const { plan, kind } = this
    const group = newGroup<R>(plan, kind.kept(row))
    this.context.hold(1, groupBytes + textBytes(key.length) + kind.bytesOf(row))
    this.groups.push(group)
    this.byKey.set(key, group)
    return group
  }
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
