/** FOR EACH: executes statements for each element of a collection or each row of a file. */

import { unknownValue } from '../evaluate/evaluation-context.ts'
import { valueBytes } from '../evaluate/value-bytes.ts'
import { importRows } from '../execute/import-csv.ts'
import { checkRunning } from '../execute/statement-context.ts'
import type { ForEachStatement, ImportStatement } from '../language/ast.ts'
import { excerpt, queryError } from '../language/query-error.ts'
import { BufferedValues } from '../operators/buffered-values.ts'
import type { TypedValue } from '../values/parameter-value.ts'
import { isMany, type ValueType } from '../values/value-type.ts'
import { noRows } from './answer.ts'
import { importedType } from './import.ts'
import { noValue, type StatementExecutor, type StatementExplainer, type StatementKind } from './statement-kind.ts'

export const forEach: StatementKind<ForEachStatement> = {
  effect: 'read',

  async run(statement, executor) {
    await eachElement(statement, executor)
    return noRows
  },

  /** The body is planned once, with an element of unknown value. */
  async explain({ name, elements, body }, explainer) {
    const { variables } = explainer
    const before = variables.get(name)
    variables.set(name, { type: await elementType(elements, explainer), value: unknownValue })
    await explainer.parts(body)
    if (before === undefined) variables.delete(name)
    else variables.set(name, before)
    return noValue
  },

  details: ({ name, elements }, text) => ({ variable: name, elements: excerpt(text, elements) }),
}

/** Binds the variable to one element after the other, and restores its previous value. */
async function eachElement(statement: ForEachStatement, executor: StatementExecutor): Promise<void> {
  const { variables, script } = executor
  const { memory } = script
  const before = variables.get(statement.name)
  for await (const rows of elementsOf(statement, executor)) {
    const bytesBefore = memory.statementBytes
    for (const row of rows) {
      await runBody(statement, row, executor)
      memory.resetStatement(bytesBefore)
      checkRunning(script)
      const pause = script.slice.yieldIfDue()
      if (pause !== undefined) await pause
    }
  }
  memory.chargeRequest(valueBytes(before?.value) - valueBytes(variables.get(statement.name)?.value))
  if (before === undefined) variables.delete(statement.name)
  else variables.set(statement.name, before)
}

export async function runBody(
  { name, body }: ForEachStatement,
  element: TypedValue,
  executor: StatementExecutor,
): Promise<void> {
  const { variables, script } = executor
  script.memory.chargeRequest(valueBytes(element.value) - valueBytes(variables.get(name)?.value))
  variables.set(name, element)
  await executor.runAll(body)
}

const notMany = 'FOR EACH goes through a list, a set or the rows of a statement'

/** In batches of COMMIT EVERY or of a fixed size. */
async function* elementsOf({ elements }: ForEachStatement, executor: StatementExecutor): AsyncGenerator<TypedValue[]> {
  const { text, importDirectory } = executor
  if (elements.kind === 'import') {
    yield* importedElements(elements, text, importDirectory)
    return
  }
  const { type, value } = await executor.eachValue(elements)
  try {
    if (type.kind === 'null' || value === null) return
    if (!isMany(type) || type.kind === 'map') throw queryError(text, elements, notMany)
    const values = value instanceof BufferedValues ? eachOf(value) : (value as readonly unknown[])
    yield* inBatches(type.element, values, elementsPerBatch)
  } finally {
    if (value instanceof BufferedValues) await value.close()
  }
}

async function* eachOf(values: BufferedValues): AsyncGenerator<unknown> {
  for await (const batch of values.batches()) yield* batch
}

async function elementType(elements: ForEachStatement['elements'], explainer: StatementExplainer): Promise<ValueType> {
  if (elements.kind === 'import') return importedType(elements, explainer)
  const { type } = await explainer.value(elements)
  if (type.kind === 'null') return noValue
  if (isMany(type) && type.kind !== 'map') return type.element
  throw queryError(explainer.text, elements, notMany)
}

const elementsPerBatch = 100

/** The rows of a file, in batches of COMMIT EVERY. */
export async function* importedElements(
  statement: ImportStatement,
  text: string,
  directory: string | undefined,
): AsyncGenerator<TypedValue[]> {
  const { type, rows } = await importRows(statement, text, directory)
  yield* inBatches(type, rows, statement.commitEvery ?? elementsPerBatch)
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
