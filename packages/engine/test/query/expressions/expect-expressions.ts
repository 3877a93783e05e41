/** Many expressions and what each is worth, in one test; and many that are refused. */
import { expect } from 'vitest'
import { AshlarError, errorCatalogue } from '../../../src/errors.ts'
import type { QueryDatabase, Row } from '../query-database.ts'

/** Each expression by itself, as `SHOW expression`. */
export async function expectValues(db: QueryDatabase, wanted: Row, parameters: Row = {}): Promise<void> {
  await expectAll(wanted, (expression) => db.value(expression, parameters))
}

/** Each expression about the only object of a source, such as `Thing WHERE number = 1`. */
export async function expectValuesOf(
  db: QueryDatabase,
  source: string,
  wanted: Row,
  parameters: Row = {},
): Promise<void> {
  await expectAll(wanted, async (expression) => {
    const rows = await db.rows(`FROM ${source} RETURN ${expression} AS found`, parameters)
    expect(rows).toHaveLength(1)
    return rows[0]?.found
  })
}

async function expectAll(wanted: Row, evaluate: (expression: string) => Promise<unknown>): Promise<void> {
  const found: Row = {}
  for (const expression of Object.keys(wanted)) {
    try {
      found[expression] = await evaluate(expression)
    } catch (error) {
      found[expression] = error instanceof AshlarError ? error.message : error
    }
  }
  expect(found).toEqual(wanted)
}

/** The column from 1, within the expression, that the error points at, and what its message says. */
export type Refusal = readonly [column: number, message: RegExp]

/** Expressions that fail with QueryError (422); `before` is what stands before each in the text. */
export async function expectRefusals(
  db: QueryDatabase,
  refusals: Readonly<Record<string, Refusal>>,
  before = 'SHOW ',
  after = '',
  parameters: Row = {},
): Promise<void> {
  expect(errorCatalogue.QueryError.kind).toBe('unprocessable')
  for (const [expression, [column, message]] of Object.entries(refusals)) {
    // On a second line, so that the line is told as well as the column.
    const error = await db.failure(`${before}\n${expression}${after}`, parameters)
    expect({ expression, type: error.type, place: error.extensions.line, column: error.extensions.column }).toEqual({
      expression,
      type: 'QueryError',
      place: 2,
      column,
    })
    expect(error.message).toMatch(message)
    expect(error.message).toMatch(new RegExp(`^Line 2, column ${column}: `))
  }
}
