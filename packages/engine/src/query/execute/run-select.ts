/** FROM … RETURN and LOOKUP carried out: as JSON text for a reply, or as values for a statement around it. */
import { containerExtent } from '../../records/object-key.ts'
import { compareOids, type Oid } from '../../types/oid.ts'
import type { ObjectView } from '../evaluate/object-view.ts'
import type { Run } from '../evaluate/run.ts'
import { elementBytes, valueBytes } from '../evaluate/value-bytes.ts'
import { operatorPlan } from '../explain/operator-plan.ts'
import type { ClausesPlan, SelectPlan } from '../plan/plan-select.ts'
import { evaluateRows } from './evaluate-rows.ts'
import { enterOutput } from './group-rows.ts'
import { type ChosenAccess, chooseAccess, objectRows } from './object-rows.ts'
import type { OutputRow, RowKind } from './row.ts'
import { counted, type Pipeline, rowsWanted, runClauses } from './row-pipeline.ts'
import type { StatementContext } from './statement-context.ts'
import { projectionWriter, type WriteRow, writeObject, writeRows } from './write-rows.ts'

export interface Inputs {
  readonly variables: ReadonlyMap<string, unknown>
  /** Values of the nested statements, in order. */
  readonly nested: readonly unknown[]
}

export function newRun(slots: number, constants: number, inputs: Inputs, context: StatementContext): Run {
  const { now, text, memory, limits } = context.texts
  return {
    slots: new Array(slots).fill(undefined),
    reader: context.reader,
    constants: new Array(constants).fill(undefined),
    variables: inputs.variables,
    nested: inputs.nested,
    aggregates: [],
    now,
    text,
    memory,
    work: context.work,
    textCharactersMax: limits.textCharactersMax,
  }
}

/** Rows that are objects, in one slot. */
export function objectRowKind(slot: number): RowKind<ObjectView> {
  return {
    enter(run, row) {
      run.slots[slot] = row
    },
    bytesOf: ({ record }) => record.length + 100,
  }
}

interface StartedSelect {
  readonly run: Run
  readonly kind: RowKind<ObjectView>
  readonly pipeline: Pipeline<ObjectView>
}

async function startSelect(plan: SelectPlan, inputs: Inputs, context: StatementContext): Promise<StartedSelect> {
  const run = newRun(plan.slots, plan.constants, inputs, context)
  const kind = objectRowKind(plan.objects.slot)
  const wanted = await rowsWanted(plan.clauses, run, context)
  const chosen: ChosenAccess = await chooseAccess(plan.objects, run, context, wanted)
  const { rows, operator } = objectRows(plan.objects, chosen, run, context, wanted, plan.clauses.orderBy)
  if (chosen.access.kind === 'extent' && isCountOfAll(plan)) {
    return { run, kind, pipeline: returned(countAll(plan, context), plan.clauses, context) }
  }
  const isOrdered = chosen.access.kind === 'ordered'
  const pipeline = await runClauses({ rows, operator, isOrdered }, plan.clauses, kind, run, context)
  return { run, kind, pipeline: returned(pipeline, plan.clauses, context) }
}

/** What a reply is made of; where the statement is explained, its plan is known by then. */
export function returned<R>(
  pipeline: Pipeline<R>,
  { projections }: ClausesPlan,
  { probe }: StatementContext,
): Pipeline<R> {
  if (probe === undefined) return pipeline
  const columns = projections?.map(({ name }) => name) ?? '*'
  const operator = operatorPlan('return', { columns }, [pipeline.operator])
  probe.root = operator
  return { operator, rows: counted(pipeline.rows, operator) }
}

/** For the plan of a statement that is not carried out. */
export async function planSelectRun(plan: SelectPlan, inputs: Inputs, context: StatementContext): Promise<void> {
  await startSelect(plan, inputs, context)
}

function isCountOfAll({ objects, clauses }: SelectPlan): boolean {
  return clauses.group?.isCountOnly === true && objects.whereText === undefined
}

/** How many objects there are: their keys tell. */
function countAll(plan: SelectPlan, context: StatementContext): Pipeline<ObjectView> {
  const operator = operatorPlan('extentCount', { class: plan.objects.cls.name })
  async function* rows(): AsyncGenerator<OutputRow<ObjectView>[]> {
    let count = 0
    const containers = await context.containersOf(plan.objects.classNumbers)
    const extents = containers.map(({ database, container }) => containerExtent(database, container))
    for await (const batch of context.scanAll(extents, () => undefined, { keysOnly: true, batch: countedAtOnce })) {
      context.check()
      count += batch.length
    }
    operator.examined = count
    operator.returned = 1
    yield [{ row: undefined, aggregates: (plan.clauses.group?.aggregates ?? []).map(() => count) }]
  }
  return { rows: context.measured(rows(), operator), operator }
}

const countedAtOnce = 4_096

export async function* selectChunks(
  plan: SelectPlan,
  inputs: Inputs,
  context: StatementContext,
  separator: string,
): AsyncGenerator<Buffer> {
  const { run, kind, pipeline } = await startSelect(plan, inputs, context)
  yield* writeRows(pipeline.rows, rowWriter(plan, kind, run, context), separator, context)
}

function rowWriter(
  plan: SelectPlan,
  kind: RowKind<ObjectView>,
  run: Run,
  context: StatementContext,
): WriteRow<ObjectView> {
  const { projections } = plan.clauses
  if (projections !== undefined) return projectionWriter(projections, kind, run, context)
  return (json, { row }) => {
    if (row === undefined) json.ascii('null')
    else writeObject(json, row, run)
  }
}

/** The value of each row: a reference, a value, or the values of a record's fields. */
export async function selectValues(plan: SelectPlan, inputs: Inputs, context: StatementContext): Promise<unknown[]> {
  const { run, kind, pipeline } = await startSelect(plan, inputs, context)
  const { projections } = plan.clauses
  const values: unknown[] = []
  for await (const rows of pipeline.rows) {
    const batch = await evaluateRows(context, rows, (row: OutputRow<ObjectView>) => {
      enterOutput(row, kind, run)
      if (projections === undefined) return held(row.row?.oid ?? null, run)
      const results = projections.map(({ evaluate }) => evaluate(run) ?? null)
      return held(results.length === 1 ? results[0] : results, run)
    })
    context.holdRows(batch.length)
    for (const value of batch) values.push(value)
  }
  return values
}

/** A value that stays until the statement ends. */
export function held(value: unknown, { memory }: Run): unknown {
  memory.hold(elementBytes + valueBytes(value))
  return value
}

/** LOOKUP: the match with the lowest OID, or null. */
export async function lookUp(plan: SelectPlan, inputs: Inputs, context: StatementContext): Promise<Oid | null> {
  const { pipeline } = await startSelect(plan, inputs, context)
  let lowest: Oid | null = null
  for await (const rows of pipeline.rows) {
    for (const { row } of rows) {
      if (row !== undefined && (lowest === null || compareOids(row.oid, lowest) < 0)) lowest = row.oid
    }
  }
  return lowest
}
