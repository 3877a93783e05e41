/** GROUP BY, and aggregates over all rows: one row a group, kept until all are seen: in memory, or, beyond what it may hold, on disk. */
import { TextMap } from '../../budget/text-map.ts'
import { inSlices } from '../../store/time-slice.ts'
import { type Bound, type BoundClauses, partsOf } from '../bind/bound.ts'
import { accumulatorsOf } from '../evaluate/aggregate.ts'
import { type Evaluate, type EvaluationContext, needsFetch } from '../evaluate/evaluation-context.ts'
import { textBytes, valueBytes } from '../evaluate/value-bytes.ts'
import { groupKey, keyWriter, type WriteKey } from '../evaluate/value-key.ts'
import { evaluateRows, evaluateWhile } from '../execute/evaluate-rows.ts'
import type { RowConsumer } from '../execute/pushed-rows.ts'
import { enterOutput, type OutputRow } from '../execute/row.ts'
import { type ExplainNode, rowOperatorPlan } from '../explain/explain-node.ts'
import {
  type AggregatePlan,
  accumulate,
  areSelected,
  type Group,
  groupBytes,
  newGroup,
  selectedResults,
} from './aggregation.ts'
import { GroupsByValues } from './groups-by-values.ts'
import type { Planning } from './planning.ts'
import { type Flow, later, type Pipeline, type PlanOperator, pipeline } from './row-operator.ts'
import { SortedRows } from './sorted-rows.ts'
import { groupsOnDisk, writeGroups } from './spilled-groups.ts'

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
      const groups = groupRows(input, plan, operator, { kind, evaluation, context })
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

/** Rows that are added to their groups before the next look at the clock, less one; all its bits are ones. */
const rowsBetweenLooks = 7

type GroupFlow<R> = Pick<Flow<R>, 'kind' | 'evaluation' | 'context'>

/** In the order of their first rows. */
async function* groupRows<R>(
  { source, push }: Pipeline<R>,
  plan: GroupPlan,
  operator: ExplainNode,
  flow: GroupFlow<R>,
): AsyncGenerator<readonly OutputRow<R>[]> {
  const groups = new Groups(plan, operator, flow)
  try {
    if (push !== undefined) await push(groups)
    else for await (const rows of source) await groups.takeAll(rows)
    const rows = await rowsOfGroups(groups.all(), plan, flow)
    yield* later(async () => (plan.having === undefined ? rows : having(rows, plan.having, flow)))
    if (groups.others === undefined) return
    // Those that memory did not hold begin after all that it holds.
    for await (const others of groupsOnDisk(groups.others, plan.aggregates, operator, flow)) {
      const kept = plan.having === undefined ? others : await having(others, plan.having, flow)
      if (kept.length > 0) yield kept
    }
  } finally {
    await groups.others?.close()
  }
}

/**
 * Groups by their keys, and those that rows were added to by the values of the keys. Once there is no room for more groups, rows of others go to
 * disk; where what the aggregates of those that are there hold on to still takes more room, these go there too.
 */
class Groups<R> implements RowConsumer<R> {
  private readonly plan: GroupPlan
  private readonly operator: ExplainNode
  private readonly flow: GroupFlow<R>
  private readonly writers: readonly WriteKey[]
  private groups: Group<R>[] = []
  private byKey = new TextMap<Group<R>>()
  private byValues: GroupsByValues<Group<R>>
  /** Of the row at hand. */
  private readonly values: unknown[]
  private readonly operands: unknown[]
  private arrived = 0
  /** What is charged for groups, and what their aggregates hold of it since no more are made. */
  private bytes = 0
  private grownBytes = 0
  private onDisk: SortedRows<R> | undefined

  constructor(plan: GroupPlan, operator: ExplainNode, flow: GroupFlow<R>) {
    this.plan = plan
    this.operator = operator
    this.flow = flow
    this.writers = plan.keys.map(({ write }) => write)
    this.byValues = new GroupsByValues(this.hold)
    this.values = plan.keys.map(() => null)
    this.operands = plan.aggregates.map(() => undefined)
  }

  /** Rows of groups that memory does not hold; undefined where it holds all. */
  get others(): SortedRows<R> | undefined {
    return this.onDisk
  }

  consume(row: R): boolean {
    if (this.onDisk !== undefined && this.isWaiting(this.onDisk)) return false
    const { plan, values, operands } = this
    const { kind, evaluation } = this.flow
    kind.enter(evaluation, row)
    try {
      const { keys, aggregates } = plan
      for (let i = 0; i < keys.length; i++) values[i] = keys[i]?.evaluate(evaluation)
      for (let i = 0; i < aggregates.length; i++) operands[i] = aggregates[i]?.operand?.(evaluation)
    } catch (error) {
      if (error !== needsFetch) throw error
      return false
    }
    const known = this.byValues.find(values)
    if (known !== undefined) this.addTo(known, operands)
    else this.addByKey(groupKey(this.writers, values), row, operands, values)
    this.arrived++
    return true
  }

  consumeCopies(rows: readonly R[]): Promise<void> {
    return this.takeAll(rows)
  }

  async takeAll(rows: readonly R[]): Promise<void> {
    for (let rest = rows; rest.length > 0; ) {
      const taken = await this.takeFirst(rest)
      rest = taken === rest.length ? [] : rest.slice(taken)
      const pause = this.flow.context.yieldIfDue()
      if (pause !== undefined) await pause
    }
  }

  all(): readonly Group<R>[] {
    const { groups, plan, onDisk } = this
    const isEmpty = groups.length === 0 && onDisk === undefined && plan.keys.length === 0
    // Aggregates over nothing are still a row; groups of nothing are none.
    return isEmpty ? [newGroup<R>(plan.aggregates, '', 0, undefined)] : groups
  }

  /** As many of the rows as memory has room for; how many. */
  private async takeFirst(rows: readonly R[]): Promise<number> {
    if (this.onDisk !== undefined && this.isWaiting(this.onDisk)) await this.write(this.onDisk)
    const { plan, writers, flow } = this
    const { kind, evaluation, context } = flow
    const { keys, aggregates } = plan
    const { memory } = evaluation
    let bytes = 0
    const hold = (value: unknown): void => {
      const more = valueBytes(value)
      bytes += more
      memory.chargeStatement(more)
    }
    const evaluate = (row: R): TakenRow => {
      kind.enter(evaluation, row)
      const values = keys.map(({ evaluate: of }) => of(evaluation))
      const operands = aggregates.map(({ operand }) => operand?.(evaluation))
      for (const value of values) hold(value)
      for (const operand of operands) hold(operand)
      return { key: groupKey(writers, values), operands }
    }
    const seen = evaluateWhile(
      context,
      rows,
      () => context.isSpillDue(0, bytes),
      evaluate,
      () => undefined,
      keys.length + aggregates.length,
    )
    const evaluated = seen instanceof Promise ? await seen : seen
    memory.chargeStatement(-bytes)
    for (const [i, { key, operands }] of evaluated.entries()) {
      this.addByKey(key, rows[i] as R, operands, undefined)
      this.arrived++
      if (this.onDisk !== undefined && this.isWaiting(this.onDisk)) await this.write(this.onDisk)
      if ((i & rowsBetweenLooks) === rowsBetweenLooks && context.isTurnDue) await context.turn()
    }
    return evaluated.length
  }

  private readonly hold = (bytes: number): void => {
    this.flow.context.hold(0, bytes)
    this.bytes += bytes
  }

  private readonly grow = (bytes: number): void => {
    this.hold(bytes)
    if (this.onDisk !== undefined) this.grownBytes += bytes
    // The only group there is would be needed as a whole again.
    else if (this.groups.length > 1 && this.flow.context.isSpillDue(0, this.bytes)) this.openOthers()
  }

  private addTo(group: Group<R>, operands: readonly unknown[]): void {
    accumulate(group.accumulators, this.plan.aggregates, operands, this.flow.evaluation, this.grow)
  }

  /** `values`: of the keys, where they are to be remembered. */
  private addByKey(key: string, row: R, operands: readonly unknown[], values: readonly unknown[] | undefined): void {
    const group = this.byKey.get(key) ?? this.madeFor(key, row)
    if (group !== undefined) {
      if (values !== undefined) this.byValues.add(values, group)
      this.addTo(group, operands)
      return
    }
    const output = { row: this.flow.kind.kept(row), aggregates: [...operands] }
    this.onDisk?.add(Buffer.from(key, 'latin1'), this.arrived, output)
  }

  /** Undefined where there is no room for another one. */
  private madeFor(key: string, row: R): Group<R> | undefined {
    const { kind, context } = this.flow
    const bytes = groupBytes + textBytes(key.length) + kind.bytesOf(row)
    const isDue = this.groups.length > 0 && context.isSpillDue(this.groups.length + 1, this.bytes + bytes)
    if (this.onDisk === undefined && isDue) this.openOthers()
    if (this.onDisk !== undefined) return undefined
    const group = newGroup(this.plan.aggregates, key, this.arrived, kind.kept(row))
    context.holdRows(1)
    this.hold(bytes)
    this.groups.push(group)
    this.byKey.set(key, group)
    return group
  }

  private openOthers(): void {
    const { kind, context } = this.flow
    this.onDisk = new SortedRows<R>(kind, context, this.operator, { ofEqualKeys: 'firstWhole' })
  }

  /** Something is to be written before more rows are taken. */
  private isWaiting(onDisk: SortedRows<R>): boolean {
    return onDisk.isFull || (this.groups.length > 1 && this.flow.context.isSpillDue(0, this.grownBytes))
  }

  private async write(onDisk: SortedRows<R>): Promise<void> {
    await onDisk.settle()
    if (!this.isWaiting(onDisk)) return
    const { groups, bytes, flow } = this
    await writeGroups(groups, onDisk, flow.context)
    this.groups = []
    this.byKey = new TextMap()
    this.byValues = new GroupsByValues(this.hold)
    flow.context.hold(-groups.length, -bytes)
    this.bytes = 0
    this.grownBytes = 0
  }
}

interface TakenRow {
  readonly key: string
  readonly operands: readonly unknown[]
}

async function rowsOfGroups<R>(
  groups: readonly Group<R>[],
  { aggregates }: GroupPlan,
  { evaluation, context }: GroupFlow<R>,
): Promise<OutputRow<R>[]> {
  const rows: OutputRow<R>[] = []
  if (!areSelected(aggregates)) {
    const push = ({ row, accumulators }: Group<R>): void => {
      rows.push({ row, aggregates: accumulators.map((accumulator) => accumulator.result()) })
    }
    await inSlices(groups, push, context.script.slice)
    return rows
  }
  for (const { row, accumulators } of groups) {
    rows.push({ row, aggregates: await selectedResults(accumulators, aggregates, evaluation, context) })
    const pause = context.yieldIfDue()
    if (pause !== undefined) await pause
  }
  return rows
}

async function having<R>(
  rows: readonly OutputRow<R>[],
  predicate: (evaluation: EvaluationContext) => unknown,
  { kind, evaluation, context }: GroupFlow<R>,
): Promise<OutputRow<R>[]> {
  const kept = await evaluateRows(context, rows, (group) => {
    enterOutput(group, kind, evaluation)
    return predicate(evaluation) === true
  })
  return rows.filter((_row, i) => kept[i])
}
