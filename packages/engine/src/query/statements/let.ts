/** LET: sets a variable of the text to the value of an expression, of a statement, or to the rows of a file. */
import { AshlarError } from '../../errors.ts'
import { variableDepthMax } from '../../limits.ts'
import { unknownValue } from '../evaluate/evaluation-context.ts'
import { elementBytes, valueBytes } from '../evaluate/value-bytes.ts'
import { importRows } from '../execute/import-csv.ts'
import type { Expression, LetStatement, Statement } from '../language/ast.ts'
import { queryError } from '../language/query-error.ts'
import { BufferedValues } from '../operators/buffered-values.ts'
import type { TypedValue } from '../values/parameter-value.ts'
import { isMany, type ValueType } from '../values/value-type.ts'
import { noRows } from './answer.ts'
import { importedType } from './import.ts'
import {
  drawing,
  noValue,
  type StatementExecutor,
  type StatementExplainer,
  type StatementKind,
} from './statement-kind.ts'

export const letVariable: StatementKind<LetStatement> = {
  effect: 'read',

  async run(statement, executor) {
    const before = executor.variables.get(statement.name)?.value
    setVariable(statement.name, await letValue(statement, executor), executor)
    if (before instanceof BufferedValues) await before.close()
    return noRows
  },

  async explain(statement, explainer) {
    explainer.variables.set(statement.name, await explainValue(statement, explainer))
    return noValue
  },

  details: ({ name }) => ({ variable: name }),
}

/** Releases the memory of the previous value. */
function setVariable(name: string, value: TypedValue, { variables, script }: StatementExecutor): void {
  if (depthOf(value.type) > variableDepthMax) {
    throw new AshlarError(
      'LimitExceeded',
      `The value of a variable has at most ${variableDepthMax} collections within each other (variableDepthMax).`,
    )
  }
  script.memory.chargeRequest(valueBytes(value.value) - valueBytes(variables.get(name)?.value))
  variables.set(name, value)
}

/** The depth of nested collections and records. */
function depthOf(type: ValueType): number {
  if (isMany(type)) return 1 + depthOf(type.element)
  return type.kind === 'record' ? 1 + Math.max(0, ...type.fields.map((field) => depthOf(field.type))) : 0
}

async function letValue({ value, isStatement }: LetStatement, executor: StatementExecutor): Promise<TypedValue> {
  if (!isStatement) {
    const expression = value as Expression
    // A statement in parentheses is an expression.
    if (expression.kind === 'nested') return executor.variableValue(expression.statement)
    return executor.value(expression, drawing)
  }
  if (value.kind !== 'import') return executor.variableValue(value as Statement)
  if (value.commitEvery !== undefined) throw queryError(executor.text, value, 'COMMIT EVERY belongs to FOR EACH')
  const { type, rows } = await importRows(value, executor.text, executor.importDirectory)
  const context = executor.context()
  const values: unknown[] = []
  for await (const row of rows) {
    context.hold(1, elementBytes + valueBytes(row), 'values')
    const pause = context.yieldIfDue()
    if (pause !== undefined) await pause
    values.push(row)
  }
  return { type: { kind: 'collection', form: 'list', element: type }, value: values }
}

async function explainValue({ value, isStatement }: LetStatement, explainer: StatementExplainer): Promise<TypedValue> {
  if (!isStatement) return explainer.value(value as Expression, drawing)
  if (value.kind !== 'import') return { type: await explainer.part(value as Statement), value: unknownValue }
  const type: ValueType = { kind: 'collection', form: 'list', element: await importedType(value, explainer) }
  return { type, value: unknownValue }
}
