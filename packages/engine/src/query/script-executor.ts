/** The statements of one text, one after the other: their variables, and what each sees and changes. */

import type { WriteSession } from '../ddl/write-session.ts'
import { AshlarError, assert } from '../errors.ts'
import { variableDepthMax } from '../limits.ts'
import { recordFormats } from '../records/record-formats.ts'
import type { Catalog } from '../schema/catalog.ts'
import { representClass } from '../schema/representation.ts'
import type { Snapshot } from '../store/store.ts'
import { ValueError } from '../types/logical-type.ts'
import type { Oid } from '../types/oid.ts'
import { flushObjects } from '../write/flush.ts'
import { resolveClass } from './bind/class-names.ts'
import type { NestedValue } from './bind/scope.ts'
import { type ChangeContext, createFrom, materializeNewObjects } from './change/change-values.ts'
import type { ChangePlan } from './change/plan-change.ts'
import { effectOf } from './classify.ts'
import { NewObject } from './evaluate/new-object.ts'
import { elementBytes, valueBytes } from './evaluate/value-bytes.ts'
import { evaluateConstant } from './execute/evaluate-rows.ts'
import { importRows } from './execute/import-csv.ts'
import { type Inputs, newEvaluationContext } from './execute/new-evaluation-context.ts'
import { jsonRow } from './execute/row-chunk.ts'
import { checkRunning, type ScriptContext, StatementContext } from './execute/statement-context.ts'
import { rowOf, valueRow } from './execute/write-rows.ts'
import { Analysis, MeasuredSlice, probeBytes } from './explain/analysis.ts'
import { type DescribedPlan, describeAnalyzed, describePlanned } from './explain/describe-statement.ts'
import type {
  CreateStatement,
  DeleteStatement,
  ExplainStatement,
  Expression,
  ForEachStatement,
  FormatStatement,
  ImportStatement,
  LetStatement,
  ShowStatement,
  Statement,
  UpdateStatement,
} from './language/ast.ts'
import { placed, queryError } from './language/query-error.ts'
import { createBinder, createExpression, type Planned, type PlanningContext, type ValuePlan } from './plan-cache.ts'
import type { RowChunk } from './query-request.ts'
import type { QueryResources } from './query-resources.ts'
import { changeSchema } from './schema-statement.ts'
import { type PlannedScript, StatementPlanner } from './statement-planner.ts'
import { changedChunks, identifierRow, runDelete, runUpdate, runUpsert } from './statements/run-change.ts'
import { matchChunks, matchValues } from './statements/run-match.ts'
import { lookUp, selectChunks, selectValues } from './statements/run-select.ts'
import type { TypedValue } from './values/parameter-value.ts'
import { noTextFormats, type TextFormats, textFormat } from './values/text-format.ts'
import { booleanType, isMany, type ValueType } from './values/value-type.ts'

/** The rows of a statement, which is carried out while they are taken where it only reads. They are taken once. */
export type Answer = AsyncIterable<RowChunk>

const noRows: Answer = { async *[Symbol.asyncIterator]() {} }

async function* placedRows(rows: Answer, text: string, statement: Statement): AsyncGenerator<RowChunk> {
  try {
    yield* rows
  } catch (error) {
    throw placed(text, statement, error)
  }
}

async function* rowsAtHand(rows: readonly RowChunk[]): AsyncGenerator<RowChunk> {
  yield* rows
}

/** What the variables and formats are as the text goes on; copied for each attempt of a transaction. */
export interface ScriptState {
  readonly variables: Map<string, TypedValue>
  textFormats: TextFormats
}

export class ScriptExecutor {
  private readonly resources: QueryResources
  private readonly script: ScriptContext
  private readonly snapshot: Snapshot
  private readonly readCatalog: Catalog
  private readonly writeSession: WriteSession | undefined
  private readonly state: ScriptState
  /** Where the text is analyzed: what its statements take is noted. */
  private readonly analysis: Analysis | undefined

  constructor(
    resources: QueryResources,
    script: ScriptContext,
    snapshot: Snapshot,
    catalog: Catalog,
    state: ScriptState,
    writeSession: WriteSession | undefined,
    analysis?: Analysis,
  ) {
    this.analysis = analysis
    this.resources = resources
    this.script = script
    this.snapshot = snapshot
    this.readCatalog = catalog
    this.state = state
    this.writeSession = writeSession
  }

  /** The reply of the last statement. */
  async runAll(statements: readonly Statement[]): Promise<Answer> {
    let answer = noRows
    const { memory } = this.script
    const held = memory.heldBytes
    for (const [i, statement] of statements.entries()) {
      memory.holdAgain(held)
      checkRunning(this.script)
      const pause = this.script.slice.yieldIfDue()
      if (pause !== undefined) await pause
      await this.writeSession?.transaction.sortWrites()
      answer = await this.run(statement, i === statements.length - 1)
    }
    return answer
  }

  /** What fails, now or while its rows are taken, is told with the place of the statement, or of the part of it that is to blame. */
  private run(statement: Statement, isAnswer: boolean): Promise<Answer> {
    const { analysis } = this
    return analysis === undefined
      ? this.placedRun(statement, isAnswer)
      : analysis.within(statement, () => this.runWhole(statement))
  }

  /** The rows are made as for a reply, and let go of. */
  private async runWhole(statement: Statement): Promise<Answer> {
    const answer = await this.placedRun(statement, true)
    for await (const _chunk of answer) checkRunning(this.script)
    return noRows
  }

  private async placedRun(statement: Statement, isAnswer: boolean): Promise<Answer> {
    const { text } = this.script
    try {
      const answer = await this.executeStatement(statement, isAnswer)
      return answer === noRows ? noRows : placedRows(answer, text, statement)
    } catch (error) {
      throw placed(text, statement, error)
    }
  }

  /** `isAnswer`: its reply is wanted; a statement that changes something does so now, one that reads when it is asked. */
  private async executeStatement(statement: Statement, isAnswer: boolean): Promise<Answer> {
    switch (statement.kind) {
      case 'select': {
        const planned = this.resources.plans.select(statement, this.planning())
        const context = this.context()
        const inputs = await this.inputs(planned)
        return selectChunks(planned.plan, inputs, context)
      }
      case 'match': {
        const planned = this.resources.plans.match(statement, this.planning())
        const context = this.context()
        const inputs = await this.inputs(planned)
        return matchChunks(planned.plan, inputs, context)
      }
      case 'update':
      case 'delete':
        return (await this.change(statement, isAnswer)).answer
      case 'lookup':
      case 'create':
      case 'upsert': {
        const value = await this.valueOf(statement)
        if (statement.kind === 'lookup') return rowsAtHand([valueRow(value.type, value.value, this.context())])
        return rowsAtHand([identifierRow(this.classNameOf(value), value.value as Oid)])
      }
      case 'let':
        this.setVariable(statement, await this.letValue(statement))
        return noRows
      case 'show':
        return this.show(statement)
      case 'schema':
      case 'createIndex':
      case 'dropIndex':
        return this.alterSchema(statement)
      case 'forEach':
        await this.forEach(statement)
        return noRows
      case 'if': {
        const condition = await this.value(statement.condition, booleanType)
        return this.runAll(condition.value === true ? statement.whenTrue : statement.whenFalse)
      }
      case 'import':
        throw queryError(this.script.text, statement, 'IMPORT is the source of LET or FOR EACH')
      case 'format':
        this.useFormat(statement)
        return noRows
      case 'explain':
        return rowsAtHand([jsonRow(await this.explain(statement))])
    }
  }

  private useFormat({ type, format, start, end }: FormatStatement): void {
    try {
      this.state.textFormats = { ...this.state.textFormats, [type]: textFormat(type, format) }
    } catch (error) {
      if (!(error instanceof ValueError)) throw error
      throw queryError(this.script.text, { start, end }, error.message)
    }
  }

  /** What the variable held before is let go of. */
  private setVariable(statement: LetStatement, value: TypedValue): void {
    if (depthOf(value.type) > variableDepthMax) {
      throw new AshlarError(
        'LimitExceeded',
        `The value of a variable has at most ${variableDepthMax} collections within each other (variableDepthMax).`,
      )
    }
    const { variables } = this.state
    this.script.memory.keep(valueBytes(value.value) - valueBytes(variables.get(statement.name)?.value))
    variables.set(statement.name, value)
  }

  private get catalog(): Catalog {
    return this.writeSession?.catalog ?? this.readCatalog
  }

  private planning(): PlanningContext {
    return {
      text: this.script.text,
      dialect: this.script.dialect,
      catalog: this.catalog,
      formats: recordFormats(this.catalog),
      variables: this.state.variables,
      walkEdgesMax: this.resources.limits.walkEdgesMax,
      textFormats: this.state.textFormats,
    }
  }

  /** What the statements so far have left: what a statement changes itself, it does not see. */
  private context(probe = this.analysis?.current): StatementContext {
    if (this.writeSession === undefined)
      return new StatementContext(this.script, this.snapshot, this.catalog, [], probe)
    const snapshot = this.writeSession.transaction.overlay()
    return new StatementContext(this.script, snapshot, this.catalog, this.resources.containers.cached(), probe)
  }

  /** The values of nested statements come before the statement's own rows. */
  private async inputs({ nested }: { readonly nested: readonly NestedValue[] }): Promise<Inputs> {
    const values: unknown[] = []
    for (const { statement } of nested) values.push((await this.partValue(statement)).value)
    const variables = new Map([...this.state.variables].map(([name, { value }]) => [name, value]))
    return { variables, nested: values }
  }

  /** The value of a statement within the one under way. */
  private partValue(statement: Statement): Promise<TypedValue> {
    const { analysis } = this
    return analysis === undefined ? this.valueOf(statement) : analysis.within(statement, () => this.valueOf(statement))
  }

  private async change(
    statement: UpdateStatement | DeleteStatement,
    isAnswer: boolean,
  ): Promise<{ readonly answer: Answer; readonly oids: readonly Oid[] }> {
    const planned = this.resources.plans.change(statement, this.planning())
    const inputs = await this.inputs(planned)
    const before = this.context()
    const { plan } = planned
    if (statement.kind === 'update') {
      const oids = await runUpdate(plan, inputs, before, this.changeContext())
      return { answer: this.changed(plan, oids, inputs), oids }
    }
    const oids = await runDelete(plan, inputs, before, this.changeContext())
    return { answer: isAnswer ? changedChunks(plan, oids, inputs, before) : noRows, oids }
  }

  private async *changed(plan: ChangePlan, oids: readonly Oid[], inputs: Inputs): AsyncGenerator<RowChunk> {
    await this.writeSession?.transaction.sortWrites()
    yield* changedChunks(plan, oids, inputs, this.context())
  }

  private changeContext(): ChangeContext {
    const writeSession = this.requireWriteSession()
    return { text: this.script.text, unit: writeSession.objects(), count: (objects) => writeSession.count(objects) }
  }

  private requireWriteSession(): WriteSession {
    assert(this.writeSession !== undefined, 'a text that changes something has a transaction')
    return this.writeSession
  }

  /** The value that a statement has where a value stands. */
  private async valueOf(statement: Statement): Promise<TypedValue> {
    const { plans } = this.resources
    switch (statement.kind) {
      case 'select': {
        const planned = plans.select(statement, this.planning())
        const values = await selectValues(planned.plan, await this.inputs(planned), this.context())
        return rowsValue(planned.plan, values)
      }
      case 'match': {
        const planned = plans.match(statement, this.planning())
        const values = await matchValues(planned.plan, await this.inputs(planned), this.context())
        return rowsValue(planned.plan, values)
      }
      case 'lookup': {
        const planned = plans.select(statement, this.planning())
        const value = await lookUp(planned.plan, await this.inputs(planned), this.context())
        return { type: planned.plan.rowType, value }
      }
      case 'create':
        return this.create(statement)
      case 'upsert': {
        const planned = plans.upsert(statement, this.planning())
        const { bound, values, slots, constants } = planned.plan
        const context = this.context()
        const run = newEvaluationContext(slots, constants, await this.inputs(planned), context)
        const given: unknown[] = []
        for (const value of values) given.push(await evaluateConstant(value, run, context))
        const { oid } = await runUpsert(bound, given, context, this.changeContext())
        return { type: { kind: 'reference', cls: bound.cls }, value: oid }
      }
      case 'update':
      case 'delete': {
        const { oids } = await this.change(statement, false)
        const cls = plans.change(statement, this.planning()).plan.sourceClass
        return { type: { kind: 'collection', form: 'list', element: { kind: 'reference', cls } }, value: oids }
      }
      default:
        throw queryError(this.script.text, statement, 'this statement has no value that could stand here')
    }
  }

  private async create(statement: CreateStatement): Promise<TypedValue> {
    return this.value(createExpression(statement))
  }

  /** The value of an expression that needs no row; objects that it makes are made now. */
  private async value(expression: Expression, wanted?: ValueType): Promise<TypedValue> {
    const planned = this.resources.plans.value(expression, this.planning(), wanted)
    const { evaluate, type } = planned.plan
    const context = this.context()
    const value = await evaluateConstant(evaluate, await this.valueRun(planned, context), context)
    this.script.memory.hold(valueBytes(value))
    if (this.writeSession === undefined || effectOf(expression) === 'read') return { type, value }
    const changeContext = this.changeContext()
    const made =
      value instanceof NewObject
        ? await createFrom(changeContext, value)
        : await materializeNewObjects(changeContext, value)
    await flushObjects(changeContext.unit)
    return { type, value: made }
  }

  private async valueRun(planned: Planned<ValuePlan>, context: StatementContext) {
    return newEvaluationContext(planned.plan.slots, planned.plan.constants, await this.inputs(planned), context)
  }

  private classNameOf({ type }: TypedValue): string {
    return type.kind === 'reference' && type.cls !== null ? type.cls.name : ''
  }

  private async letValue(statement: LetStatement): Promise<TypedValue> {
    const { value, isStatement } = statement
    if (!isStatement) return this.value(value as Expression)
    if (value.kind !== 'import') return this.partValue(value as Statement)
    if (value.commitEvery !== undefined) throw queryError(this.script.text, value, 'COMMIT EVERY belongs to FOR EACH')
    const { type, rows } = await importRows(value, this.script.text, this.resources.importDirectory)
    const context = this.context()
    const values: unknown[] = []
    for await (const row of rows) {
      context.hold(1, elementBytes + valueBytes(row))
      const pause = context.yieldIfDue()
      if (pause !== undefined) await pause
      values.push(row)
    }
    return { type: { kind: 'collection', form: 'list', element: type }, value: values }
  }

  private async show(statement: ShowStatement): Promise<Answer> {
    const { catalog } = this
    switch (statement.what) {
      case 'value': {
        const { type, value } = await this.value(statement.value as Expression)
        return rowsAtHand([await rowOf(type, value, this.context())])
      }
      case 'parameters': {
        const context = this.context()
        const rows: RowChunk[] = []
        for (const [name, { type, value }] of this.state.variables) {
          const { bytes } = await rowOf(type, value, context)
          context.hold(0, 2 * bytes.length)
          const start = Buffer.from(`\n{"name":${JSON.stringify(name)},"value":`)
          rows.push({ bytes: Buffer.concat([start, bytes.subarray(1), Buffer.from('}')]), starts: [1] })
        }
        return rowsAtHand(rows)
      }
      case 'class': {
        const name = statement.className
        if (name === undefined) return noRows
        const cls = resolveClass(createBinder(this.planning()), name)
        return rowsAtHand([jsonRow(representClass(cls, catalog))])
      }
      case 'classes':
        return rowsAtHand(catalog.classes.map((cls) => jsonRow(representClass(cls, catalog))))
    }
  }

  private async alterSchema(
    statement: Extract<Statement, { kind: 'schema' | 'createIndex' | 'dropIndex' }>,
  ): Promise<Answer> {
    const rows = await changeSchema(
      statement,
      () => createBinder(this.planning()),
      this.requireWriteSession(),
      this.script,
    )
    return rowsAtHand(rows.map(jsonRow))
  }

  /** The variable holds one element after the other, and is afterwards what it was before. */
  async forEach(statement: ForEachStatement): Promise<void> {
    const { variables } = this.state
    const before = variables.get(statement.name)
    const { memory } = this.script
    for await (const rows of this.elementsOf(statement)) {
      const held = memory.heldBytes
      for (const row of rows) {
        await this.runBody(statement, row)
        memory.holdAgain(held)
        checkRunning(this.script)
        const pause = this.script.slice.yieldIfDue()
        if (pause !== undefined) await pause
      }
    }
    memory.keep(valueBytes(before?.value) - valueBytes(variables.get(statement.name)?.value))
    if (before === undefined) variables.delete(statement.name)
    else variables.set(statement.name, before)
  }

  async runBody({ name, body }: ForEachStatement, element: TypedValue): Promise<void> {
    const { variables } = this.state
    this.script.memory.keep(valueBytes(element.value) - valueBytes(variables.get(name)?.value))
    variables.set(name, element)
    await this.runAll(body)
  }

  /** In batches of COMMIT EVERY, or of some. */
  async *elementsOf({ elements }: ForEachStatement): AsyncGenerator<TypedValue[]> {
    const { text } = this.script
    if (elements.kind === 'import') {
      yield* importedElements(elements, text, this.resources.importDirectory)
      return
    }
    const { type, value } = await this.value(elements)
    if (type.kind === 'null' || value === null) return
    if (!isMany(type) || type.kind === 'map')
      throw queryError(text, elements, 'FOR EACH goes through a list, a set or the rows of a statement')
    yield* inBatches(type.element, value as readonly unknown[], elementsAtOnce)
  }

  /** The plan of each statement; with `isAnalyzed`, after all of them were carried out, and their rows made and not sent. */
  async *explainAll(statements: readonly Statement[], isAnalyzed: boolean): AsyncGenerator<DescribedPlan> {
    const { resources, script, snapshot, readCatalog, writeSession } = this
    const state: ScriptState = { ...this.state, variables: new Map(this.state.variables) }
    const { text, memory } = script
    if (!isAnalyzed) {
      const planner = new StatementPlanner(
        new ScriptExecutor(resources, script, snapshot, readCatalog, state, writeSession).planned(),
      )
      for (const statement of statements) yield describePlanned(await planner.planned(statement), text)
      return
    }
    const slice = new MeasuredSlice(script.slice)
    const analysis = new Analysis(slice, memory)
    await new ScriptExecutor(
      resources,
      { ...script, slice },
      snapshot,
      readCatalog,
      state,
      writeSession,
      analysis,
    ).runAll(statements)
    for (const analyzed of analysis.statements) {
      const pause = slice.yieldIfDue()
      if (pause !== undefined) await pause
      yield describeAnalyzed(analyzed, text)
    }
  }

  private planned(): PlannedScript {
    const { resources, script, state } = this
    return {
      text: script.text,
      plans: resources.plans,
      importDirectory: resources.importDirectory,
      variables: state.variables,
      planning: () => this.planning(),
      context: (probe) => this.context(probe),
      useFormat: (statement) => this.useFormat(statement),
      turn: () => {
        checkRunning(script)
        script.memory.keep(probeBytes)
        return script.slice.yieldIfDue()
      },
    }
  }

  private async explain({ statement, isAnalyze }: ExplainStatement): Promise<DescribedPlan | undefined> {
    if (isAnalyze && effectOf(statement) !== 'read' && this.script.isUndone !== true) {
      throw queryError(
        this.script.text,
        statement,
        'what ANALYZE changes is undone, and so it ends a text that changes nothing else; or the request has the whole text analyzed',
      )
    }
    for await (const plan of this.explainAll([statement], isAnalyze)) return plan
    return undefined
  }
}

const elementsAtOnce = 100

/** The rows of a file, in batches of COMMIT EVERY. */
export async function* importedElements(
  statement: ImportStatement,
  text: string,
  directory: string | undefined,
): AsyncGenerator<TypedValue[]> {
  const { type, rows } = await importRows(statement, text, directory)
  yield* inBatches(type, rows, statement.commitEvery ?? elementsAtOnce)
}

async function* inBatches(
  type: ValueType,
  values: Iterable<unknown> | AsyncIterable<unknown>,
  size: number,
): AsyncGenerator<TypedValue[]> {
  let batch: TypedValue[] = []
  for await (const value of values) {
    batch.push({ type, value })
    if (batch.length < size) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}

function rowsValue({ rowType, isSingle }: { rowType: ValueType; isSingle: boolean }, values: unknown[]): TypedValue {
  if (isSingle) return { type: rowType, value: values[0] ?? null }
  return { type: { kind: 'collection', form: 'list', element: rowType }, value: values }
}

/** Collections and records within each other. */
function depthOf(type: ValueType): number {
  if (isMany(type)) return 1 + depthOf(type.element)
  return type.kind === 'record' ? 1 + Math.max(0, ...type.fields.map((field) => depthOf(field.type))) : 0
}

export function newScriptState(variables: ReadonlyMap<string, TypedValue>): ScriptState {
  return { variables: new Map(variables), textFormats: noTextFormats }
}
