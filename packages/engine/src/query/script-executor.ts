/** Executes the statements of one text in order, with their variables and what each sees and changes. */

import type { CatalogTransaction } from '../ddl/catalog-transaction.ts'
import { assert } from '../errors.ts'
import { type RecordFormats, recordFormats } from '../records/record-formats.ts'
import type { Catalog } from '../schema/catalog.ts'
import type { Awaitable, Snapshot } from '../store/store.ts'
import { ValueError } from '../types/logical-type.ts'
import { flushObjects } from '../write/flush.ts'
import type { NestedValue } from './bind/scope.ts'
import { type ChangeContext, createFrom, materializeNewObjects } from './change/change-values.ts'
import { effectOf } from './classify.ts'
import { NewObject } from './evaluate/new-object.ts'
import { valueBytes } from './evaluate/value-bytes.ts'
import { evaluateConstant } from './execute/evaluate-rows.ts'
import { type Inputs, newEvaluationContext } from './execute/new-evaluation-context.ts'
import { SourceValues } from './execute/source-values.ts'
import { checkRunning, type ScriptContext, StatementContext } from './execute/statement-context.ts'
import { Analysis, MeasuredSlice, probeBytes } from './explain/analysis.ts'
import { type DescribedPlan, describeAnalyzed, describePlanned } from './explain/describe-statement.ts'
import type { StatementProbe } from './explain/statement-probe.ts'
import type { Expression, FormatStatement, Statement } from './language/ast.ts'
import type { Dialect } from './language/dialect.ts'
import { placed, queryError } from './language/query-error.ts'
import { BufferedValues, collectedValues } from './operators/buffered-values.ts'
import type { PlanCache, PlanningContext, Uses, ValueUse } from './plan-cache.ts'
import type { RowChunk } from './query-request.ts'
import type { QueryResources } from './query-resources.ts'
import { innerRuns } from './statement-per-row.ts'
import { type PlannedScript, StatementPlanner } from './statement-planner.ts'
import { noRows, type StatementReply } from './statements/answer.ts'
import type { StatementExecutor, StatementRows } from './statements/statement-kind.ts'
import { kindOf, noValueHere, typeOfStatement } from './statements/statement-kinds.ts'
import type { TypedValue } from './values/parameter-value.ts'
import { type TextFormats, textFormat } from './values/text-format.ts'
import type { ValueType } from './values/value-type.ts'

const noValues: readonly unknown[] = []

const nothingToClose = async (): Promise<void> => undefined

interface CachedSource {
  readonly type: ValueType
  readonly values: BufferedValues
}

/** Variables and formats while a text is executed; copied for each attempt of a transaction. */
export interface ScriptState {
  readonly variables: Map<string, TypedValue>
  textFormats: TextFormats
}

export class ScriptExecutor implements StatementExecutor, PlanningContext {
  readonly script: ScriptContext
  readonly text: string
  readonly plans: PlanCache
  readonly importDirectory: string | undefined
  readonly variables: Map<string, TypedValue>
  private readonly resources: QueryResources
  private readonly snapshot: Snapshot
  private readonly readCatalog: Catalog
  private readonly writeTransaction: CatalogTransaction | undefined
  private readonly state: ScriptState
  /** Set if the text is analyzed: records the cost of its statements. */
  private readonly analysis: Analysis | undefined
  private isOneSelect = false
  /** Values of statements that the current one names by WITH, each evaluated once. Allocated on demand. */
  private nestedValues: Map<Statement, TypedValue> | undefined
  /** The same for statements used as sources of rows. */
  private cachedSources: Map<Statement, CachedSource> | undefined
  /** Values of current and former variables that may be spilled to disk. */
  private spilledVariables: BufferedValues[] | undefined
  /** Nesting depth of texts, for example by FOR EACH. */
  private depth = 0

  constructor(
    resources: QueryResources,
    script: ScriptContext,
    snapshot: Snapshot,
    catalog: Catalog,
    state: ScriptState,
    writeTransaction: CatalogTransaction | undefined,
    analysis?: Analysis,
  ) {
    this.analysis = analysis
    this.resources = resources
    this.script = script
    this.text = script.shape ?? script.text
    this.plans = resources.plans
    this.importDirectory = resources.importDirectory
    this.variables = state.variables
    this.snapshot = snapshot
    this.readCatalog = catalog
    this.state = state
    this.writeTransaction = writeTransaction
  }

  runAll(statements: readonly Statement[]): Awaitable<StatementReply> {
    const [only] = statements
    if (only === undefined || statements.length > 1 || only.kind === 'let' || this.writeTransaction !== undefined)
      return this.runWithVariables(statements)
    this.isOneSelect = isOneSelect(statements)
    const pause = this.prepareNext(this.script.memory.statementBytes)
    return pause === undefined ? this.run(only, true) : pause.then(() => this.run(only, true))
  }

  /** Values of variables on disk are released with the rows of the text's reply. */
  private async runWithVariables(statements: readonly Statement[]): Promise<StatementReply> {
    this.depth++
    let answer: StatementReply
    try {
      answer = await this.runEach(statements)
    } catch (error) {
      if (this.depth === 1) await this.closeVariables()
      throw error
    } finally {
      this.depth--
    }
    if (this.depth > 0 || this.spilledVariables === undefined) return answer
    if (answer.atHand === undefined) return this.closingVariables(answer)
    await this.closeVariables()
    return answer
  }

  private async *closingVariables(answer: StatementReply): AsyncGenerator<RowChunk> {
    try {
      yield* answer
    } finally {
      await this.closeVariables()
    }
  }

  private async closeVariables(): Promise<void> {
    for (const values of this.spilledVariables?.splice(0) ?? []) await values.close()
  }

  private async runEach(statements: readonly Statement[]): Promise<StatementReply> {
    let answer = noRows
    const bytesBefore = this.script.memory.statementBytes
    for (const [i, statement] of statements.entries()) {
      const pause = this.prepareNext(bytesBefore)
      if (pause !== undefined) await pause
      await this.writeTransaction?.transaction.sortWrites()
      await this.closeSources()
      answer = await this.run(statement, i === statements.length - 1)
    }
    return answer
  }

  /** Releases the memory of earlier statements except for `bytesBefore`, and yields if due. */
  private prepareNext(bytesBefore: number): Promise<void> | undefined {
    this.script.memory.resetStatement(bytesBefore)
    checkRunning(this.script)
    return this.script.slice.yieldIfDue()
  }

  /** Errors, also while rows are read, refer to the statement or to the part of it at fault. */
  private run(statement: Statement, isAnswer: boolean): Awaitable<StatementReply> {
    const { analysis } = this
    return analysis === undefined
      ? this.placedRun(statement, isAnswer)
      : analysis.within(statement, () => this.runDiscardingRows(statement))
  }

  /** Rows are produced as for a reply and discarded. */
  private async runDiscardingRows(statement: Statement): Promise<StatementReply> {
    const answer = await this.placedRun(statement, true)
    for await (const _chunk of answer) checkRunning(this.script)
    return noRows
  }

  private placedRun(statement: Statement, isAnswer: boolean): Awaitable<StatementReply> {
    this.nestedValues = undefined
    try {
      const answer = kindOf(statement).run(statement, this, isAnswer)
      return answer instanceof Promise ? this.placedAsync(answer, statement) : this.placedRows(answer, statement)
    } catch (error) {
      throw placed(this.script.text, statement, error)
    }
  }

  private async placedAsync(answer: Promise<StatementReply>, statement: Statement): Promise<StatementReply> {
    try {
      const rows = await answer
      if (rows.atHand !== undefined) await this.closeSources()
      return this.placedRows(rows, statement)
    } catch (error) {
      await this.closeSources()
      throw placed(this.script.text, statement, error)
    }
  }

  private placedRows(rows: StatementReply, statement: Statement): StatementReply {
    return rows.atHand === undefined ? this.streamedRows(rows, statement) : rows
  }

  private async *streamedRows(rows: StatementReply, statement: Statement): AsyncGenerator<RowChunk> {
    try {
      yield* rows
    } catch (error) {
      throw placed(this.script.text, statement, error)
    } finally {
      if (this.cachedSources !== undefined) await this.closeSources()
    }
  }

  useFormat({ type, format, start, end }: FormatStatement): void {
    try {
      this.state.textFormats = { ...this.state.textFormats, [type]: textFormat(type, format) }
    } catch (error) {
      if (!(error instanceof ValueError)) throw error
      throw queryError(this.text, { start, end }, error.message)
    }
  }

  get catalog(): Catalog {
    if (this.writeTransaction === undefined) return this.readCatalog
    const { catalog } = this.writeTransaction
    return this.resources.database.restriction?.catalogOf(catalog) ?? catalog
  }

  planning(): PlanningContext {
    return this
  }

  get dialect(): Dialect {
    return this.script.dialect
  }

  get formats(): RecordFormats {
    return recordFormats(this.catalog)
  }

  get walkEdgesMax(): number {
    return this.resources.database.limits.walkEdgesMax
  }

  get textFormats(): TextFormats {
    return this.state.textFormats
  }

  get typeOfStatement(): PlanningContext['typeOfStatement'] {
    return typeOfStatement
  }

  /** Sees the effects of previous statements, but not of the current one. */
  context(probe = this.analysis?.current): StatementContext {
    if (this.writeTransaction === undefined)
      return new StatementContext(this.script, this.snapshot, this.catalog, [], probe)
    const { restriction, containers } = this.resources.database
    const { writeTransaction } = this
    const { transaction, catalog } = writeTransaction
    const overlay = transaction.observed()
    const snapshot = restriction?.viewOf(overlay, catalog, this.script) ?? overlay
    const context = new StatementContext(this.script, snapshot, this.catalog, containers.cached(), probe)
    return context.drawBy((sequence, count) => writeTransaction.nextNumbers(sequence, count))
  }

  /** Nested statements are evaluated before the statement's own rows. */
  inputs(uses: Uses): Awaitable<Inputs> {
    return uses.nested.length === 0 ? this.inputsWith(noValues, uses) : this.nestedInputs(uses)
  }

  private async nestedInputs(uses: Uses): Promise<Inputs> {
    const values: unknown[] = []
    for (const nested of uses.nested) {
      // Each is planned with all its nested statements: a chain of a hundred costs as much as thousands.
      const pause = this.script.slice.yieldIfDue()
      if (pause !== undefined) await pause
      const isValue = nested.source === undefined || this.nestedValues?.has(nested.statement) === true
      values.push(isValue ? (await this.valueOnce(nested.statement)).value : await this.sourceValues(nested))
    }
    return this.inputsWith(values, uses)
  }

  sourceOnce(nested: NestedValue): Promise<SourceValues> {
    return this.sourceValues({ ...nested, source: 'held' })
  }

  private async sourceValues({ statement, type, source }: NestedValue): Promise<SourceValues> {
    const values = this.cachedSources?.get(statement)?.values
    if (values !== undefined) return new SourceValues(() => values.batches(), nothingToClose)
    const { batches, context } = await this.rowsOf(statement)
    const close = async (): Promise<void> => {
      await batches.return(undefined)
      await context.close()
    }
    if (source === 'once') return new SourceValues(() => batches, close)
    try {
      const values = await BufferedValues.of(batches, context)
      this.cachedSources ??= new Map()
      this.cachedSources.set(statement, { type, values })
      this.script.memory.keepForStatement(values.bytesInMemory)
      return new SourceValues(() => values.batches(), nothingToClose)
    } finally {
      await close()
    }
  }

  private rowsOf(statement: Statement): Promise<StatementRows> {
    const start = (): Promise<StatementRows> =>
      kindOf(statement).rows?.(statement, this) ?? noValueHere(statement, this.text)
    return this.analysis === undefined ? start() : this.analysis.streaming(statement, start)
  }

  private async closeSources(): Promise<void> {
    const sources = this.cachedSources
    this.cachedSources = undefined
    for (const { values } of sources?.values() ?? []) await values.close()
  }

  private inputsWith(nested: readonly unknown[], uses: Uses): Inputs {
    if (this.isOneSelect) return { variables: this.variables, nested, inner: innerRuns(uses, this.variables, this) }
    // Copied, since FOR EACH may set variables while rows are read.
    const variables = new Map<string, TypedValue>()
    for (const name of uses.variables.keys()) {
      const variable = this.variables.get(name)
      if (variable !== undefined) variables.set(name, variable)
    }
    return { variables, nested, inner: innerRuns(uses, variables, this) }
  }

  partValue(statement: Statement): Promise<TypedValue> {
    return this.measured(
      statement,
      () => kindOf(statement).value?.(statement, this) ?? noValueHere(statement, this.text),
    )
  }

  async variableValue(statement: Statement): Promise<TypedValue> {
    const mayBeOnDisk = this.writeTransaction === undefined && kindOf(statement).rows !== undefined
    if (!mayBeOnDisk) return this.partValue(statement)
    const spillable = await this.spillableValue(statement, true)
    const { type, value } = spillable
    if (!(value instanceof BufferedValues)) return spillable
    if (value.inMemory !== undefined) return { type, value: value.inMemory }
    this.spilledVariables ??= []
    this.spilledVariables.push(value)
    return spillable
  }

  async eachValue(expression: Expression): Promise<TypedValue> {
    const statement = expression.kind === 'nested' ? expression.statement : undefined
    const canStream = statement !== undefined && kindOf(statement).rows !== undefined && effectOf(statement) === 'read'
    return canStream ? this.spillableValue(statement, false) : this.value(expression)
  }

  private async spillableValue(statement: Statement, isValue: boolean): Promise<TypedValue> {
    const { type, isSingle, batches, context } = await this.rowsOf(statement)
    try {
      if (isSingle) return { type, value: (await collectedValues(batches, context))[0] ?? null }
      return { type, value: await BufferedValues.of(batches, context, isValue) }
    } finally {
      await batches.return(undefined)
      await context.close()
    }
  }

  async valueOnce(statement: Statement): Promise<TypedValue> {
    this.nestedValues ??= new Map()
    const { nestedValues } = this
    const cached = nestedValues.get(statement)
    if (cached !== undefined) return cached
    const value = (await this.valueOfSource(statement)) ?? (await this.partValue(statement))
    nestedValues.set(statement, value)
    this.script.memory.keepForStatement(valueBytes(value.value))
    return value
  }

  private async valueOfSource(statement: Statement): Promise<TypedValue | undefined> {
    const source = this.cachedSources?.get(statement)
    if (source === undefined) return undefined
    return { type: source.type, value: await collectedValues(source.values.batches(), this.context()) }
  }

  measured<T>(statement: Statement, run: () => Promise<T>): Promise<T> {
    return this.analysis === undefined ? run() : this.analysis.within(statement, run)
  }

  get probe(): StatementProbe | undefined {
    return this.analysis?.current
  }

  changeContext(): ChangeContext {
    const { catalogTransaction } = this
    return {
      text: this.script.text,
      unit: catalogTransaction.beginUnit(true),
      count: (objects) => catalogTransaction.count(objects),
    }
  }

  get catalogTransaction(): CatalogTransaction {
    assert(this.writeTransaction !== undefined, 'a text that changes something has a transaction')
    return this.writeTransaction
  }

  /** The value of an expression outside of a row; objects it creates are written now. */
  async value(expression: Expression, use?: ValueUse): Promise<TypedValue> {
    const planned = this.plans.value(expression, this.planning(), use)
    const { evaluate, type, slots, constants } = planned.plan
    const context = this.context()
    const evaluation = newEvaluationContext(slots, constants, await this.inputs(planned), context)
    const value = await evaluateConstant(evaluate, evaluation, context)
    this.script.memory.chargeStatement(valueBytes(value))
    if (this.writeTransaction === undefined || effectOf(expression) === 'read') return { type, value }
    const changeContext = this.changeContext()
    const created =
      value instanceof NewObject
        ? await createFrom(changeContext, value)
        : await materializeNewObjects(changeContext, value)
    await flushObjects(changeContext.unit)
    return { type, value: created }
  }

  /** The plan of each statement; with `isAnalyzed`, after all of them were executed and their rows discarded. */
  async *explainAll(statements: readonly Statement[], isAnalyzed: boolean): AsyncGenerator<DescribedPlan> {
    const { resources, script, snapshot, readCatalog, writeTransaction } = this
    const state = copyOfState(this.state)
    const { text, memory } = script
    if (!isAnalyzed) {
      const planner = new StatementPlanner(
        new ScriptExecutor(resources, script, snapshot, readCatalog, state, writeTransaction).planned(),
      )
      for (const statement of statements) yield describePlanned(await planner.planned(statement), text, detailsOf)
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
      writeTransaction,
      analysis,
    ).runAll(statements)
    // The memory of a restricted user's change would reveal the number of hidden parts.
    const showsMemory = writeTransaction === undefined || resources.database.restriction === undefined
    for (const analyzed of analysis.statements) {
      const pause = slice.yieldIfDue()
      if (pause !== undefined) await pause
      yield describeAnalyzed(analyzed, text, detailsOf, showsMemory)
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
      beforeStatement: () => {
        checkRunning(script)
        script.memory.chargeRequest(probeBytes)
        return script.slice.yieldIfDue()
      },
    }
  }

  async explained(statement: Statement, isAnalyze: boolean): Promise<DescribedPlan | undefined> {
    if (isAnalyze && effectOf(statement) !== 'read' && this.script.isUndone !== true) {
      throw queryError(
        this.text,
        statement,
        'what ANALYZE changes is undone, and so it ends a text that changes nothing else; or the request has the whole text analyzed',
      )
    }
    for await (const plan of this.explainAll([statement], isAnalyze)) return plan
    return undefined
  }
}

function detailsOf(statement: Statement, text: string): DescribedPlan {
  return kindOf(statement).details?.(statement, text) ?? {}
}

/** Nothing can set variables or formats while rows are read. */
export function isOneSelect(statements: readonly Statement[]): boolean {
  return statements.length === 1 && statements[0]?.kind === 'select'
}

/** For another attempt or for a rolled-back execution, which must not modify the original state. */
export function copyOfState({ variables, textFormats }: ScriptState): ScriptState {
  return { variables: new Map(variables), textFormats }
}
