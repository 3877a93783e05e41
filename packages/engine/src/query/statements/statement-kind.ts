/** Interface of a kind of statement: its effect, binding, planning, execution and EXPLAIN. One file per kind, listed in `statement-kinds.ts`. */
import type { CatalogTransaction } from '../../ddl/catalog-transaction.ts'
import type { Catalog } from '../../schema/catalog.ts'
import type { Awaitable } from '../../store/store.ts'
import type { Binder } from '../bind/scope.ts'
import type { ChangeContext } from '../change/change-values.ts'
import type { Inputs } from '../execute/new-evaluation-context.ts'
import type { ScriptContext, StatementContext } from '../execute/statement-context.ts'
import type { DescribedPlan } from '../explain/describe-statement.ts'
import type { StatementProbe } from '../explain/statement-probe.ts'
import type { Expression, FormatStatement, Statement } from '../language/ast.ts'
import type { PlanCache, PlanningContext, Uses, ValueUse } from '../plan-cache.ts'
import type { TypedValue } from '../values/parameter-value.ts'
import type { ValueType } from '../values/value-type.ts'
import type { StatementReply } from './answer.ts'

/** In rising order: the right to `define` includes that to `write`, which includes that to `read`. */
export type Effect = 'read' | 'write' | 'define'

export interface StatementKind<S extends Statement> {
  /** The effect of the statement itself, without the effects of the statements it contains. */
  readonly effect: Effect
  /** `isAnswer`: its rows are the reply. A statement that changes something does so in the call, one that reads when its rows are read. */
  run(statement: S, executor: StatementExecutor, isAnswer: boolean): Awaitable<StatementReply>
  /** Its value as an expression; without this, it has none. */
  value?(statement: S, executor: StatementExecutor): Promise<TypedValue>
  /** Streams the values of its rows as a source; only for statements whose value is a list of rows. */
  rows?(statement: S, executor: StatementExecutor): Promise<StatementRows>
  /** The type of its value within an expression; without this, it cannot be used there. Throws QueryError. */
  valueType?(statement: S, binder: Binder, walkEdgesMax: number): ValueType
  /** Execution as a correlated statement; without this, it cannot refer to outer rows. */
  readonly perRow?: PerRow<S>
  /** Plans the statement without executing it. Returns the type of its value. */
  explain(statement: S, explainer: StatementExplainer): Promise<ValueType>
  /** EXPLAIN's details from the statement's text. */
  details?(statement: S, text: string): DescribedPlan
}

export interface StatementRows {
  /** The type of the statement's value. */
  readonly type: ValueType
  /** The value is that of its only row, not a list of all rows. */
  readonly isSingle: boolean
  /** Can be read once. */
  readonly batches: AsyncGenerator<readonly unknown[]>
  /** Closed by the reader after the last batch. */
  readonly context: StatementContext
}

/** The context of a correlated statement, which reads the same state as the outer one. */
export type RowAccess = Pick<ScriptAccess, 'plans' | 'planning' | 'context' | 'inputs'>

export interface PerRow<S extends Statement> {
  value(statement: S, access: RowAccess): Promise<unknown>
  hasRow(statement: S, access: RowAccess): Promise<boolean>
}

/** The text of the statement, during execution or planning. */
interface ScriptAccess {
  readonly text: string
  readonly plans: PlanCache
  readonly variables: Map<string, TypedValue>
  /** The directory IMPORT CSV may read from; undefined disables IMPORT. */
  readonly importDirectory: string | undefined
  planning(): PlanningContext
  /** Sees the effects of previous statements, but not of the current one. */
  context(): StatementContext
  /** The variables used by a plan, and the values of its nested statements. */
  inputs(uses: Uses): Awaitable<Inputs>
  /** The value of an expression outside of a row. */
  value(expression: Expression, use?: ValueUse): Promise<TypedValue>
  /** Sets the format for the statements that follow. */
  useFormat(statement: FormatStatement): void
}

export interface StatementExecutor extends ScriptAccess {
  readonly script: ScriptContext
  readonly catalog: Catalog
  /** Only for a text that changes something. */
  readonly catalogTransaction: CatalogTransaction
  changeContext(): ChangeContext
  /** The reply of the last statement. */
  runAll(statements: readonly Statement[]): Awaitable<StatementReply>
  /** The value of a statement within the current one. */
  partValue(statement: Statement): Promise<TypedValue>
  /** The same for a variable; in a text that only reads, it may be a `RowsOnDisk` if its rows exceed memory. */
  variableValue(statement: Statement): Promise<TypedValue>
  /** The value of an expression to iterate over: a `BufferedValues`, which the caller closes, for the rows of a statement that only reads. */
  eachValue(expression: Expression): Promise<TypedValue>
  /** Undefined if there is nothing to plan. */
  explained(statement: Statement, isAnalyze: boolean): Promise<DescribedPlan | undefined>
}

/** Planning of statements for EXPLAIN without execution. Throws `unknownValue` for values that only execution provides. */
export interface StatementExplainer extends ScriptAccess {
  readonly probe: StatementProbe
  /** Plans a part of the current statement; returns the type of its value. */
  part(statement: Statement): Promise<ValueType>
  parts(statements: readonly Statement[]): Promise<void>
}

/** For values that may contain NEXT. */
export const drawing: ValueUse = { mayDraw: true }

/** The type of statements without a value. */
export const noValue: ValueType = { kind: 'null' }
