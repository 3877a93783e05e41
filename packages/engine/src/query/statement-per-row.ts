/** Runs a correlated statement for rows of the outer one, with the captured values of each row as variables. */
import type { InnerStatement, NestedValue } from './bind/scope.ts'
import type { InnerRuns, Inputs } from './execute/new-evaluation-context.ts'
import type { SourceValues } from './execute/source-values.ts'
import type { StatementContext } from './execute/statement-context.ts'
import type { StatementProbe } from './explain/statement-probe.ts'
import type { Statement } from './language/ast.ts'
import type { PlanCache, PlanningContext, Uses } from './plan-cache.ts'
import type { RowAccess } from './statements/statement-kind.ts'
import { kindOf, noValueHere } from './statements/statement-kinds.ts'
import type { TypedValue } from './values/parameter-value.ts'

/** The executor of the text that contains the statement. */
export interface ScriptAround {
  readonly text: string
  readonly plans: PlanCache
  readonly probe: StatementProbe | undefined
  planning(): PlanningContext
  measured<T>(statement: Statement, run: () => Promise<T>): Promise<T>
  valueOnce(statement: Statement): Promise<TypedValue>
  /** Its rows are retained until the current statement ends. */
  sourceOnce(nested: NestedValue): Promise<SourceValues>
}

/** Inner statements see the variables of the outer one. */
export function innerRuns(
  { inner }: Uses,
  variables: ReadonlyMap<string, TypedValue>,
  script: ScriptAround,
): InnerRuns | undefined {
  if (inner.length === 0) return undefined
  return (outer) => {
    const statements = inner.map((statement) => new StatementPerRow(statement, variables, outer, script))
    return (index, captured) => (statements[index] as StatementPerRow).run(captured)
  }
}

class StatementPerRow {
  private readonly inner: InnerStatement
  private readonly variables: ReadonlyMap<string, TypedValue>
  private readonly outer: StatementContext
  private readonly script: ScriptAround
  private readonly planning: PlanningContext
  /** Uncorrelated statements within this one run once. */
  private readonly once = new Map<Statement, Promise<TypedValue>>()
  private readonly sources = new Map<Statement, Promise<SourceValues>>()

  /** `variables`, `outer`: of the outer statement. */
  constructor(
    inner: InnerStatement,
    variables: ReadonlyMap<string, TypedValue>,
    outer: StatementContext,
    script: ScriptAround,
  ) {
    this.inner = inner
    this.variables = variables
    this.outer = outer
    this.script = script
    this.planning = planningWithin(script.planning(), inner, variables)
  }

  run(captured: readonly unknown[]): Promise<unknown> {
    const { statement, outer } = this.inner
    const variables = new VariablesWithin(this.inner, captured, this.variables)
    const { perRow } = kindOf(statement)
    if (perRow === undefined) noValueHere(statement, this.script.text)
    return this.script.measured<unknown>(statement, () => {
      const access = this.accessWith(variables)
      return outer.isExists ? perRow.hasRow(statement, access) : perRow.value(statement, access)
    })
  }

  private accessWith(variables: ReadonlyMap<string, TypedValue>): RowAccess {
    const { script, outer, planning } = this
    const context = outer.within(script.probe)
    return {
      plans: script.plans,
      planning: () => ({ ...planning, variables }),
      context: () => context,
      inputs: (uses) => this.inputs(uses, variables),
    }
  }

  private async inputs(uses: Uses, variables: ReadonlyMap<string, TypedValue>): Promise<Inputs> {
    const nested: unknown[] = []
    for (const one of uses.nested)
      nested.push(one.source === undefined ? await this.valueOnce(one) : await this.sourceOnce(one))
    return { variables, nested, inner: innerRuns(uses, variables, this.script) }
  }

  private async valueOnce({ statement }: NestedValue): Promise<unknown> {
    let value = this.once.get(statement)
    if (value === undefined) {
      value = this.script.valueOnce(statement)
      this.once.set(statement, value)
    }
    return (await value).value
  }

  private sourceOnce(nested: NestedValue): Promise<SourceValues> {
    const { statement } = nested
    let values = this.sources.get(statement)
    if (values === undefined) {
      values = this.script.sourceOnce(nested)
      this.sources.set(statement, values)
    }
    return values
  }
}

export function planningWithin(
  { text, dialect, catalog, formats, walkEdgesMax, textFormats, typeOfStatement }: PlanningContext,
  { outer }: InnerStatement,
  variables: ReadonlyMap<string, TypedValue>,
): PlanningContext {
  return { text, dialect, catalog, formats, walkEdgesMax, textFormats, typeOfStatement, variables, outer }
}

/** Captured values of the row, in addition to the variables of the outer statement. */
export class VariablesWithin extends Map<string, TypedValue> {
  private readonly around: ReadonlyMap<string, TypedValue>

  constructor({ captured }: InnerStatement, values: readonly unknown[], around: ReadonlyMap<string, TypedValue>) {
    super([...captured].map(([name, { type }], i) => [name, { type, value: values[i] ?? null }]))
    this.around = around
  }

  override get(name: string): TypedValue | undefined {
    return super.get(name) ?? this.around.get(name)
  }

  override has(name: string): boolean {
    return super.has(name) || this.around.has(name)
  }
}
