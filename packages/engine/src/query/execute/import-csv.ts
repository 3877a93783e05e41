/** IMPORT CSV: reads the rows of a file below the server's import directory. */
import { createReadStream } from 'node:fs'
import { realpath, stat } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import type { ImportStatement } from '../language/ast.ts'
import { queryError } from '../language/query-error.ts'
import { stringType, type ValueType } from '../values/value-type.ts'

export interface ImportedRows {
  /** With a header a record of strings, without one a list of strings. */
  readonly type: ValueType
  readonly rows: AsyncIterable<unknown[]>
}

const fieldBytesMax = 1_048_576
const missingFileCodes: readonly unknown[] = ['ENOENT', 'ENOTDIR', 'ELOOP', 'ENAMETOOLONG', 'ERR_INVALID_ARG_VALUE']

/** Throws QueryError where the file does not exist, or no imports are allowed. */
export async function importRows(
  statement: ImportStatement,
  text: string,
  directory: string | undefined,
): Promise<ImportedRows> {
  const path = await checkedPath(statement, text, directory)
  const records = readRecords(path, statement, text)
  if (!statement.hasHeader) {
    return { type: { kind: 'collection', form: 'list', element: stringType }, rows: records }
  }
  const first = await records.next()
  if (first.done === true)
    throw queryError(text, statement, `${statement.file.slice(0, 60)} has no header: it is empty`)
  const names = first.value
  if (new Set(names).size < names.length)
    throw queryError(text, statement, 'two columns of the header have the same name')
  const type: ValueType = { kind: 'record', fields: names.map((name) => ({ name: String(name), type: stringType })) }
  return { type, rows: padded(records, names.length) }
}

async function* padded(records: AsyncIterable<unknown[]>, length: number): AsyncGenerator<unknown[]> {
  for await (const fields of records) {
    yield fields.length >= length ? fields : [...fields, ...new Array(length - fields.length).fill(null)]
  }
}

async function* readRecords(path: string, statement: ImportStatement, text: string): AsyncGenerator<unknown[]> {
  const { parse } = await import('csv-parse')
  const input = createReadStream(path)
  const parser = input.pipe(
    parse({ bom: true, relax_column_count: true, skip_empty_lines: true, max_record_size: fieldBytesMax }),
  )
  input.on('error', (error) => parser.destroy(error))
  try {
    for await (const fields of parser) yield fields as string[]
  } catch (error) {
    if (error instanceof Error && 'code' in error && String(error.code).startsWith('CSV_')) {
      throw queryError(text, statement, `${statement.file.slice(0, 60)} is not CSV: ${error.message.slice(0, 200)}`)
    }
    throw error
  } finally {
    input.destroy()
    parser.destroy()
  }
}

async function checkedPath(statement: ImportStatement, text: string, directory: string | undefined): Promise<string> {
  if (directory === undefined) {
    throw queryError(
      text,
      statement,
      'IMPORT reads files only where the server was started with a directory for it (importDir)',
    )
  }
  const root = await realpath(directory)
  try {
    const path = await realpath(join(root, statement.file))
    const below = relative(root, path)
    const isBelow = below !== '' && below !== '..' && !below.startsWith(`..${sep}`)
    if (isBelow && (await stat(path)).isFile()) return path
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (!missingFileCodes.includes(code)) throw error
  }
  throw queryError(
    text,
    statement,
    `there is no file '${statement.file.slice(0, 60)}' in the server's directory for imports`,
  )
}
