/** EXPLAIN of what is not carried out: each statement is planned, its values stay unknown, and nothing but estimates is read. */
import { AshlarError } from '../errors.ts'
import { ExtentScan } from './access/extent-scan.ts'
import { bindCreateIndex } from './bind/bind-schema.ts'
import { resolveClass } from './bind/class-names.ts'
import type { NestedValue } from './bind/scope.ts'
import { effectOf } from './classify.ts'
import { unknownValue } from './evaluate/evaluation-context.ts'
import { evaluateConstant } from './execute/evaluate-rows.ts'
import { importRows } from './execute/import-csv.ts'
import { type Inputs, newEvaluationContext } from './execute/new-evaluation-context.ts'
import type { StatementContext } from './execute/statement-context.ts'
import { explainNode } from './explain/explain-node.ts'
import { StatementProbe } from './explain/statement-probe.ts'
import type {
  CreateIndexStatement,
  Expression,
  ForEachStatement,
  ImportStatement,
  LetStatement,
  Statement,
} from './language/ast.ts'
import { placed, queryError } from './language/query-error.ts'
import { createBinder, createExpression, type PlanCache, type PlanningContext } from './plan-cache.ts'
import { planChangeRun } from './statements/run-change.ts'
import { planMatchRun } from './statements/run-match.ts'
import { planSelectRun } from './statements/run-select.ts'
import type { TypedValue } from './values/parameter-value.ts'
import { booleanType, isMany, type ValueType } from './values/value-type.ts'

/** The text's run, as planning needs it. */
export interface PlannedScript {
  readonly text: string
  readonly plans: PlanCache
  readonly importDirectory: string | undefined
  /** The planner sets those that LET and FOR EACH would set. */
  readonly variables: Map<string, TypedValue>
  planning(): PlanningContext
  context(probe: StatementProbe): StatementContext
  useFormat(statement: Extract<Statement, { kind: 'format' }>): void
  /** Before each statement: charges what is noted of it, and lets others have their turn. Throws LimitExceeded, ServerBusy. */
  turn(): Promise<void> | undefined
}

const anyValue: ValueType = { kind: 'null' }

export class StatementPlanner {
  private readonly of: PlannedScript
  /** What an earlier statement of the text would do to the schema is not known. */
  private isSchemaChanged = false

  constructor(of: PlannedScript) {
    this.of = of
  }

  /** In the order of the text. Throws what the statement throws before it reads or changes anything. */
  async planned(statement: Statement): Promise<StatementProbe> {
    const probe = new StatementProbe(statement)
    await this.one(probe)
    return probe
  }

  /** Returns the type of the value that the statement has. */
  private async one(probe: StatementProbe): Promise<ValueType> {
    const { statement } = probe
    const turn = this.of.turn()
    if (turn !== undefined) await turn
    try {
      const type = await this.plan(statement, probe)
      this.isSchemaChanged ||= effectOf(statement) === 'define'
      return type
    } catch (error) {
      if (!this.isSchemaChanged || !(error instanceof AshlarError)) throw placed(this.of.text, statement, error)
      probe.refusal = `It may depend on what the statements before it do to the schema: ${error.message}`
      return anyValue
    } finally {
      probe.ended()
    }
  }

  private async parts(statements: readonly Statement[], probe: StatementProbe): Promise<void> {
    for (const statement of statements) await this.one(probe.part(statement))
  }

  private async plan(statement: Statement, probe: StatementProbe): Promise<ValueType> {
    switch (statement.kind) {
      case 'select':
      case 'lookup':
      case 'match':
        return this.reading(statement, probe)
      case 'update':
      case 'delete': {
        const planned = this.of.plans.change(statement, this.of.planning())
        const inputs = await this.inputs(planned.nested, probe)
        await planChangeRun(statement.kind, planned.plan, inputs, this.of.context(probe))
        return { kind: 'collection', form: 'list', element: { kind: 'reference', cls: planned.plan.sourceClass } }
      }
      case 'upsert': {
        const { plan, nested } = this.of.plans.upsert(statement, this.of.planning())
        await this.inputs(nested, probe)
        const { cls, index } = plan.bound
        probe.root = explainNode('upsert', { class: cls.name, index: index.name })
        return { kind: 'reference', cls }
      }
      case 'create':
        return (await this.value(createExpression(statement), probe)).type
      case 'let':
        await this.let(statement, probe)
        return anyValue
      case 'forEach':
        await this.forEach(statement, probe)
        return anyValue
      case 'if':
        await this.value(statement.condition, probe, booleanType)
        await this.parts(statement.whenTrue, probe)
        await this.parts(statement.whenFalse, probe)
        return anyValue
      case 'show':
        if (statement.value !== undefined) await this.value(statement.value, probe)
        if (statement.className !== undefined) resolveClass(createBinder(this.of.planning()), statement.className)
        return anyValue
      case 'format':
        this.of.useFormat(statement)
        return anyValue
      case 'createIndex':
        await this.createIndex(statement, probe)
        return anyValue
      case 'schema':
      case 'dropIndex':
        return anyValue
      case 'import':
        throw queryError(this.of.text, statement, 'IMPORT is the source of LET or FOR EACH')
      case 'explain':
        await this.parts([statement.statement], probe)
        return anyValue
    }
  }

  private async reading(
    statement: Extract<Statement, { kind: 'select' | 'lookup' | 'match' }>,
    probe: StatementProbe,
  ): Promise<ValueType> {
    const { plans } = this.of
    if (statement.kind === 'match') {
      const { plan, nested } = plans.match(statement, this.of.planning())
      await planMatchRun(plan, await this.inputs(nested, probe), this.of.context(probe))
      return valueType(plan)
    }
    const { plan, nested } = plans.select(statement, this.of.planning())
    await planSelectRun(plan, await this.inputs(nested, probe), this.of.context(probe))
    return statement.kind === 'lookup' ? plan.rowType : valueType(plan)
  }

  /** Of an expression outside of statements: worked out where it takes no statement. */
  private async value(expression: Expression, probe: StatementProbe, wanted?: ValueType): Promise<TypedValue> {
    const { plan, nested } = this.of.plans.value(expression, this.of.planning(), wanted)
    const inputs = await this.inputs(nested, probe)
    const { type } = plan
    if (nested.length > 0 || effectOf(expression) !== 'read') return { type, value: unknownValue }
    const context = this.of.context(probe)
    try {
      const run = newEvaluationContext(plan.slots, plan.constants, inputs, context)
      return { type, value: await evaluateConstant(plan.evaluate, run, context) }
    } catch (error) {
      if (error !== unknownValue) throw error
      return { type, value: unknownValue }
    }
  }

  private async let(statement: LetStatement, probe: StatementProbe): Promise<void> {
    const { value, isStatement } = statement
    const { variables } = this.of
    if (!isStatement) variables.set(statement.name, await this.value(value as Expression, probe))
    else if (value.kind === 'import') {
      const element = await this.importedType(value)
      variables.set(statement.name, { type: { kind: 'collection', form: 'list', element }, value: unknownValue })
    } else {
      const type = await this.one(probe.part(value as Statement))
      variables.set(statement.name, { type, value: unknownValue })
    }
  }

  /** The body is planned once, with an element of which only the type is known. */
  private async forEach({ name, elements, body }: ForEachStatement, probe: StatementProbe): Promise<void> {
    const { variables } = this.of
    const before = variables.get(name)
    variables.set(name, { type: await this.elementType(elements, probe), value: unknownValue })
    await this.parts(body, probe)
    if (before === undefined) variables.delete(name)
    else variables.set(name, before)
  }

  private async elementType(elements: Expression | ImportStatement, probe: StatementProbe): Promise<ValueType> {
    if (elements.kind === 'import') return this.importedType(elements)
    const { type } = await this.value(elements, probe)
    if (type.kind === 'null') return anyValue
    if (isMany(type) && type.kind !== 'map') return type.element
    throw queryError(this.of.text, elements, 'FOR EACH goes through a list, a set or the rows of a statement')
  }

  /** The header of the file is read. */
  private async importedType(statement: ImportStatement): Promise<ValueType> {
    const { type, rows } = await importRows(statement, this.of.text, this.of.importDirectory)
    // Closes the file.
    for await (const _row of rows) break
    return type
  }

  private async createIndex(statement: CreateIndexStatement, probe: StatementProbe): Promise<void> {
    const binder = createBinder(this.of.planning())
    bindCreateIndex(statement, binder)
    const cls = resolveClass(binder, statement.className)
    const extent = new ExtentScan([cls, ...cls.subclasses])
    const scan = extent.describe(cls.name)
    scan.estimated = await extent.estimate(this.of.context(probe))
    probe.root = explainNode('createIndex', {}, [scan])
  }

  /** Nested statements are planned; their values are unknown, as are those of variables that earlier statements would set. */
  private async inputs(nested: readonly NestedValue[], probe: StatementProbe): Promise<Inputs> {
    await this.parts(
      nested.map(({ statement }) => statement),
      probe,
    )
    const variables = new KnownValues([...this.of.variables].map(([name, { value }]) => [name, value]))
    const unknown: unknown[] = []
    for (const [i] of nested.entries()) {
      Object.defineProperty(unknown, i, {
        get() {
          throw unknownValue
        },
      })
    }
    return { variables, nested: unknown }
  }
}

/** Throws `unknownValue` for those that are not known. */
class KnownValues extends Map<string, unknown> {
  override get(name: string): unknown {
    const value = super.get(name)
    if (value === unknownValue) throw unknownValue
    return value
  }
}

function valueType({ rowType, isSingle }: { readonly rowType: ValueType; readonly isSingle: boolean }): ValueType {
  return isSingle ? rowType : { kind: 'collection', form: 'list', element: rowType }
}
