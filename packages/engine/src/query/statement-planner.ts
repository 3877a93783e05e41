/** Plans the statements of a text for EXPLAIN without executing them: values are unknown, and only estimates are read. */
import { AshlarError } from '../errors.ts'
import type { InnerStatement } from './bind/scope.ts'
import { effectOf } from './classify.ts'
import { unknownValue } from './evaluate/evaluation-context.ts'
import { evaluateConstant } from './execute/evaluate-rows.ts'
import { type Inputs, newEvaluationContext } from './execute/new-evaluation-context.ts'
import type { StatementContext } from './execute/statement-context.ts'
import { StatementProbe } from './explain/statement-probe.ts'
import type { Expression, FormatStatement, Statement } from './language/ast.ts'
import { placed } from './language/query-error.ts'
import type { PlanCache, PlanningContext, Uses, ValueUse } from './plan-cache.ts'
import { planningWithin, VariablesWithin } from './statement-per-row.ts'
import { noValue, type StatementExplainer } from './statements/statement-kind.ts'
import { kindOf } from './statements/statement-kinds.ts'
import type { TypedValue } from './values/parameter-value.ts'
import type { ValueType } from './values/value-type.ts'

/** The part of a text's execution that planning needs. */
export interface PlannedScript {
  readonly text: string
  readonly plans: PlanCache
  readonly importDirectory: string | undefined
  /** The planner sets the variables of LET and FOR EACH. */
  readonly variables: Map<string, TypedValue>
  planning(): PlanningContext
  context(probe: StatementProbe): StatementContext
  useFormat(statement: FormatStatement): void
  /** Called before each statement: charges its record and yields if due. Throws LimitExceeded, ServerBusy. */
  beforeStatement(): Promise<void> | undefined
}

export class StatementPlanner {
  private readonly of: PlannedScript
  /** An earlier statement would change the schema, with effects that planning does not know. */
  private isSchemaChanged = false

  constructor(of: PlannedScript) {
    this.of = of
  }

  /** Called in the order of the text. Throws the errors that the statement would throw before it reads or changes anything. */
  async planned(statement: Statement): Promise<StatementProbe> {
    const probe = new StatementProbe(statement)
    await this.plan(probe)
    return probe
  }

  /** Returns the type of the statement's value. `row`: set for a correlated statement. */
  async plan(probe: StatementProbe, row?: RowAround): Promise<ValueType> {
    const { statement } = probe
    const pause = this.of.beforeStatement()
    if (pause !== undefined) await pause
    try {
      const type = await kindOf(statement).explain(statement, new PlannedStatement(this, this.of, probe, row))
      this.isSchemaChanged ||= effectOf(statement) === 'define'
      return type
    } catch (error) {
      if (!this.isSchemaChanged || !(error instanceof AshlarError)) throw placed(this.of.text, statement, error)
      probe.refusal = `It may depend on what the statements before it do to the schema: ${error.message}`
      return noValue
    } finally {
      probe.ended()
    }
  }
}

interface RowAround {
  readonly inner: InnerStatement
  readonly variables: ReadonlyMap<string, TypedValue>
}

class PlannedStatement implements StatementExplainer {
  readonly text: string
  readonly plans: PlanCache
  readonly variables: Map<string, TypedValue>
  readonly importDirectory: string | undefined
  readonly probe: StatementProbe
  private readonly planner: StatementPlanner
  private readonly of: PlannedScript
  private readonly row: RowAround | undefined

  constructor(planner: StatementPlanner, of: PlannedScript, probe: StatementProbe, row?: RowAround) {
    this.row = row
    this.planner = planner
    this.of = of
    this.probe = probe
    this.text = of.text
    this.plans = of.plans
    this.variables = of.variables
    this.importDirectory = of.importDirectory
  }

  planning(): PlanningContext {
    const planning = this.of.planning()
    return this.row === undefined ? planning : planningWithin(planning, this.row.inner, this.row.variables)
  }

  context(): StatementContext {
    return this.of.context(this.probe)
  }

  useFormat(statement: FormatStatement): void {
    this.of.useFormat(statement)
  }

  part(statement: Statement): Promise<ValueType> {
    return this.planner.plan(this.probe.part(statement))
  }

  async parts(statements: readonly Statement[]): Promise<void> {
    for (const statement of statements) await this.part(statement)
  }

  /** Evaluated if the expression has no statements. */
  async value(expression: Expression, use?: ValueUse): Promise<TypedValue> {
    const planned = this.plans.value(expression, this.planning(), use)
    const inputs = await this.inputs(planned)
    const { plan, nested, inner } = planned
    const { type } = plan
    if (nested.length + inner.length > 0 || effectOf(expression) !== 'read') return { type, value: unknownValue }
    const context = this.context()
    try {
      const evaluation = newEvaluationContext(plan.slots, plan.constants, inputs, context)
      return { type, value: await evaluateConstant(plan.evaluate, evaluation, context) }
    } catch (error) {
      if (error !== unknownValue) throw error
      return { type, value: unknownValue }
    }
  }

  /** Nested statements are planned; their values are unknown, as are variables that earlier statements would set. */
  async inputs({ nested, inner, variables: used }: Uses): Promise<Inputs> {
    await this.parts(nested.map(({ statement }) => statement))
    const available = this.row?.variables ?? this.variables
    for (const one of inner) {
      const unknown = [...one.captured].map(() => unknownValue)
      await this.planner.plan(this.probe.part(one.statement), {
        inner: one,
        variables: new VariablesWithin(one, unknown, available),
      })
    }
    const variables = new PlannedVariables()
    for (const name of used.keys()) variables.set(name, available.get(name) ?? noVariable)
    const unknown: unknown[] = []
    for (const [i] of nested.entries()) {
      Object.defineProperty(unknown, i, {
        get() {
          throw unknownValue
        },
      })
    }
    return { variables, nested: unknown, inner: inner.length === 0 ? undefined : () => unknownRun }
  }
}

const unknownRun = (): Promise<unknown> => Promise.reject(unknownValue)

/** Throws `unknownValue` for unknown values. */
class PlannedVariables extends Map<string, { readonly value: unknown }> {
  override get(name: string): { readonly value: unknown } | undefined {
    const variable = super.get(name)
    if (variable?.value === unknownValue) throw unknownValue
    return variable
  }
}

const noVariable = { value: undefined }
