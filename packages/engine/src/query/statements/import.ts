/** IMPORT CSV: the source of LET and FOR EACH, refused as a statement. */
import { importRows } from '../execute/import-csv.ts'
import type { ImportStatement, Statement } from '../language/ast.ts'
import { queryError } from '../language/query-error.ts'
import type { ValueType } from '../values/value-type.ts'
import type { StatementExecutor, StatementExplainer, StatementKind } from './statement-kind.ts'

export const importFile: StatementKind<ImportStatement> = {
  effect: 'read',
  run: async (statement, { text }) => refuse(statement, text),
  explain: async (statement, { text }) => refuse(statement, text),
}

function refuse(statement: Statement, text: string): never {
  throw queryError(text, statement, 'IMPORT is the source of LET or FOR EACH')
}

/** The type of a row, from the header of the file. */
export async function importedType(
  statement: ImportStatement,
  { text, importDirectory }: Pick<StatementExecutor | StatementExplainer, 'text' | 'importDirectory'>,
): Promise<ValueType> {
  const { type, rows } = await importRows(statement, text, importDirectory)
  // Closes the file.
  for await (const _row of rows) break
  return type
}
