/** GROUP BY and aggregates over all rows. Groups are held in memory until the input ends, and spill to disk when memory runs out. */
import { TextMap } from '../../budget/text-map.ts'
import { inSlices } from '../../store/time-slice.ts'
import { type Bound, type BoundClauses, operandsOf } from '../bind/bound.ts'
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
import { batchesOf, type Pipeline, type PlanOperator, pipeline, type RowFlow } from './row-operator.ts'
import { SortedRows } from './sorted-rows.ts'
import { groupsOnDisk, writeGroups } from './spilled-groups.ts'

interface GroupPlan {
  readonly keys: readonly { readonly evaluate: Evaluate; readonly write: WriteKey }[]
  readonly aggregates: readonly AggregatePlan[]
  readonly having: Evaluate | undefined
}

/** Always the first operator: it consumes the rows of the source directly. */
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

/** Whether grouping and projections need only the number of rows. */
export function isCountOnly({ groupBy, aggregates, having, projections }: BoundClauses): boolean {
  const isPlain = groupBy?.length === 0 && having === undefined
  const isCount = aggregates.every(({ function: name, operand }) => name === 'COUNT' && operand === undefined)
  const dependsOnRow = (bound: Bound): boolean => 'slot' in bound || operandsOf(bound).some(dependsOnRow)
  return isPlain && isCount && projections?.some(({ expression }) => dependsOnRow(expression)) === false
}

/** Bit mask of rows between clock checks. */
const timeCheckMask = 7

/** Groups in the order of their first rows. */
async function* groupRows<R>(
  { source, push }: Pipeline<R>,
  plan: GroupPlan,
  operator: ExplainNode,
  flow: RowFlow<R>,
): AsyncGenerator<readonly OutputRow<R>[]> {
  const groups = new Groups(plan, operator, flow)
  try {
    if (push !== undefined) await push(groups)
    else for await (const rows of source) await groups.addAll(rows)
    const rows = await groupRowsInMemory(groups.all(), plan, flow)
    yield* batchesOf(async () => (plan.having === undefined ? rows : having(rows, plan.having, flow)))
    if (groups.overflow === undefined) return
    // Groups that did not fit in memory begin after all that did.
    for await (const rows of groupsOnDisk(groups.overflow, plan.aggregates, operator, flow)) {
      const selected = plan.having === undefined ? rows : await having(rows, plan.having, flow)
      if (selected.length > 0) yield selected
    }
  } finally {
    await groups.overflow?.close()
  }
}

/** Hash table of groups by key and by key values. When it is full, rows of new groups go to disk; groups follow if their aggregates keep growing. */
class Groups<R> implements RowConsumer<R> {
  private readonly plan: GroupPlan
  private readonly operator: ExplainNode
  private readonly flow: RowFlow<R>
  private readonly writers: readonly WriteKey[]
  private groups: Group<R>[] = []
  private byKey = new TextMap<Group<R>>()
  private byValues: GroupsByValues<Group<R>>
  /** Scratch space for the current row. */
  private readonly values: unknown[]
  private readonly operands: unknown[]
  private rowCount = 0
  /** Bytes charged for groups, and the part added by aggregates since no more groups are created. */
  private bytes = 0
  private grownBytes = 0
  private onDisk: SortedRows<R> | undefined

  constructor(plan: GroupPlan, operator: ExplainNode, flow: RowFlow<R>) {
    this.plan = plan
    this.operator = operator
    this.flow = flow
    this.writers = plan.keys.map(({ write }) => write)
    this.byValues = new GroupsByValues(this.hold)
    this.values = plan.keys.map(() => null)
    this.operands = plan.aggregates.map(() => undefined)
  }

  /** Rows of groups that do not fit in memory; undefined where all fit. */
  get overflow(): SortedRows<R> | undefined {
    return this.onDisk
  }

  consume(row: R): boolean {
    if (this.onDisk !== undefined && this.isWriteDue(this.onDisk)) return false
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
    const found = this.byValues.find(values)
    if (found !== undefined) this.addTo(found, operands)
    else this.addByKey(groupKey(this.writers, values), row, operands, values)
    this.rowCount++
    return true
  }

  consumeCopies(rows: readonly R[]): Promise<void> {
    return this.addAll(rows)
  }

  async addAll(rows: readonly R[]): Promise<void> {
    for (let rest = rows; rest.length > 0; ) {
      const count = await this.addFirst(rest)
      rest = count === rest.length ? [] : rest.slice(count)
      const pause = this.flow.context.yieldIfDue()
      if (pause !== undefined) await pause
    }
  }

  all(): readonly Group<R>[] {
    const { groups, plan, onDisk } = this
    const isEmpty = groups.length === 0 && onDisk === undefined && plan.keys.length === 0
    // Aggregates over an empty input return one row; GROUP BY returns none.
    return isEmpty ? [newGroup<R>(plan.aggregates, '', 0, undefined)] : groups
  }

  /** Adds the rows that fit in memory; returns their number. */
  private async addFirst(rows: readonly R[]): Promise<number> {
    if (this.onDisk !== undefined && this.isWriteDue(this.onDisk)) await this.write(this.onDisk)
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
    const evaluate = (row: R): EvaluatedRow => {
      kind.enter(evaluation, row)
      const values = keys.map(({ evaluate: of }) => of(evaluation))
      const operands = aggregates.map(({ operand }) => operand?.(evaluation))
      for (const value of values) hold(value)
      for (const operand of operands) hold(operand)
      return { key: groupKey(writers, values), operands }
    }
    const pending = evaluateWhile(
      context,
      rows,
      () => context.isSpillDue(0, bytes),
      evaluate,
      () => undefined,
      keys.length + aggregates.length,
    )
    const evaluated = pending instanceof Promise ? await pending : pending
    memory.chargeStatement(-bytes)
    for (const [i, { key, operands }] of evaluated.entries()) {
      this.addByKey(key, rows[i] as R, operands, undefined)
      this.rowCount++
      if (this.onDisk !== undefined && this.isWriteDue(this.onDisk)) await this.write(this.onDisk)
      if ((i & timeCheckMask) === timeCheckMask && context.isYieldDue) await context.yieldToEventLoop()
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
    // A single group would be read back as a whole.
    else if (this.groups.length > 1 && this.flow.context.isSpillDue(0, this.bytes)) this.openOverflow()
  }

  private addTo(group: Group<R>, operands: readonly unknown[]): void {
    accumulate(group.accumulators, this.plan.aggregates, operands, this.flow.evaluation, this.grow)
  }

  /** `values`: key values to be indexed. */
  private addByKey(key: string, row: R, operands: readonly unknown[], values: readonly unknown[] | undefined): void {
    const group = this.byKey.get(key) ?? this.groupFor(key, row)
    if (group !== undefined) {
      if (values !== undefined) this.byValues.add(values, group)
      this.addTo(group, operands)
      return
    }
    const output = { row: this.flow.kind.copy(row), aggregates: [...operands] }
    this.onDisk?.add(Buffer.from(key, 'latin1'), this.rowCount, output)
  }

  /** Undefined where there is no room for a new group. */
  private groupFor(key: string, row: R): Group<R> | undefined {
    const { kind, context } = this.flow
    const bytes = groupBytes + textBytes(key.length) + kind.bytesOf(row)
    const isDue = this.groups.length > 0 && context.isSpillDue(this.groups.length + 1, this.bytes + bytes)
    if (this.onDisk === undefined && isDue) this.openOverflow()
    if (this.onDisk !== undefined) return undefined
    const group = newGroup(this.plan.aggregates, key, this.rowCount, kind.copy(row))
    context.holdRows(1)
    this.hold(bytes)
    this.groups.push(group)
    this.byKey.set(key, group)
    return group
  }

  private openOverflow(): void {
    const { kind, context } = this.flow
    this.onDisk = new SortedRows<R>(kind, context, this.operator, { duplicateKeys: 'firstRow' })
  }

  /** Whether data must be written before more rows are added. */
  private isWriteDue(onDisk: SortedRows<R>): boolean {
    return onDisk.isFull || (this.groups.length > 1 && this.flow.context.isSpillDue(0, this.grownBytes))
  }

  private async write(onDisk: SortedRows<R>): Promise<void> {
    await onDisk.settle()
    if (!this.isWriteDue(onDisk)) return
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

interface EvaluatedRow {
  readonly key: string
  readonly operands: readonly unknown[]
}

async function groupRowsInMemory<R>(
  groups: readonly Group<R>[],
  { aggregates }: GroupPlan,
  { evaluation, context }: RowFlow<R>,
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
  { kind, evaluation, context }: RowFlow<R>,
): Promise<OutputRow<R>[]> {
  const selected = await evaluateRows(context, rows, (group) => {
    enterOutput(group, kind, evaluation)
    return predicate(evaluation) === true
  })
  return rows.filter((_row, i) => selected[i])
}
