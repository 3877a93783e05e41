/**
 * What a kind of statement is: one file that says what the statement does to the data, binds and plans it, carries it out and explains
 * it, and one line in `statement-kinds.ts`.
 */
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
import type { Answer } from './answer.ts'

/** In rising order: who may `define` may also `write`, and who may `write` may also `read`. */
export type Effect = 'read' | 'write' | 'define'

export interface StatementKind<S extends Statement> {
  /** What it does by itself, apart from the statements that it contains. */
  readonly effect: Effect
  /** `isAnswer`: its reply is wanted; a statement that changes something does so now, one that reads when it is asked. */
  run(statement: S, executor: StatementExecutor, isAnswer: boolean): Awaitable<Answer>
  /** Its value where a value stands; without it, it has none. */
  value?(statement: S, executor: StatementExecutor): Promise<TypedValue>
  /** The values of its rows as they are taken, where the rows are a source; only of statements whose value is a list of them. */
  rows?(statement: S, executor: StatementExecutor): Promise<StatementRows>
  /** The type of its value within an expression; without it, it cannot stand there. Throws QueryError. */
  valueType?(statement: S, binder: Binder, walkEdgesMax: number): ValueType
  /** Where it is run for rows of a statement around it; without it, it cannot name them. */
  readonly perRow?: PerRow<S>
  /** Plans it, and carries nothing out. Returns the type of its value. */
  explain(statement: S, explainer: StatementExplainer): Promise<ValueType>
  /** What EXPLAIN tells by the statement alone. */
  details?(statement: S, text: string): DescribedPlan
}

export interface StatementRows {
  /** Of the value that the statement has. */
  readonly type: ValueType
  /** That is the value of its only row, and not a list of those of all rows. */
  readonly isSingle: boolean
  /** Taken once. */
  readonly batches: AsyncGenerator<readonly unknown[]>
  /** Is closed when no more are taken. */
  readonly context: StatementContext
}

/** What a statement is run with that is run for rows of another one: it reads what that one reads. */
export type RowAccess = Pick<ScriptAccess, 'plans' | 'planning' | 'context' | 'inputs'>

export interface PerRow<S extends Statement> {
  value(statement: S, access: RowAccess): Promise<unknown>
  hasRow(statement: S, access: RowAccess): Promise<boolean>
}

/** The text of the statement, as far as it has come. */
interface ScriptAccess {
  readonly text: string
  readonly plans: PlanCache
  readonly variables: Map<string, TypedValue>
  /** Below which IMPORT CSV may read; undefined = not at all. */
  readonly importDirectory: string | undefined
  planning(): PlanningContext
  /** What the statements before have left: what a statement changes itself, it does not see. */
  context(): StatementContext
  /** The variables that a plan uses, and the values of the statements nested within it. */
  inputs(uses: Uses): Awaitable<Inputs>
  /** Of an expression outside of a row. */
  value(expression: Expression, use?: ValueUse): Promise<TypedValue>
  /** USE … FORMAT, for the statements that follow. */
  useFormat(statement: FormatStatement): void
}

/** Where statements are carried out. */
export interface StatementExecutor extends ScriptAccess {
  readonly script: ScriptContext
  readonly catalog: Catalog
  /** Of a text that changes something. */
  readonly catalogTransaction: CatalogTransaction
  changeContext(): ChangeContext
  /** The reply of the last statement. */
  runAll(statements: readonly Statement[]): Awaitable<Answer>
  /** The value of a statement within the one under way. */
  partValue(statement: Statement): Promise<TypedValue>
  /** The same for a variable of a text that changes nothing: `RowsOnDisk` where memory does not hold its rows. */
  variableValue(statement: Statement): Promise<TypedValue>
  /** Of an expression whose elements are gone through one after the other: `HeldValues`, to be closed, where they are the rows of a statement that only reads. */
  eachValue(expression: Expression): Promise<TypedValue>
  /** Undefined: nothing to plan. */
  explained(statement: Statement, isAnalyze: boolean): Promise<DescribedPlan | undefined>
}

/** Where statements are planned for EXPLAIN, and none is carried out. Throws `unknownValue` for values that are only known then. */
export interface StatementExplainer extends ScriptAccess {
  /** Of the statement at hand. */
  readonly probe: StatementProbe
  /** Plans a statement within the one at hand; returns the type of its value. */
  part(statement: Statement): Promise<ValueType>
  parts(statements: readonly Statement[]): Promise<void>
}

/** Of values in which NEXT may stand. */
export const drawing: ValueUse = { mayDraw: true }

/** Of statements that have no value. */
export const noValue: ValueType = { kind: 'null' }
