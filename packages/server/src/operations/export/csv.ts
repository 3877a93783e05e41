/** Rows as CSV (RFC 4180): a header, and one record per row (docs/export.md has the rules for values). */
import { openTimeSlice, type RowChunk, type RowChunks } from '@ashlar/engine'
import { parseOwn } from '../../json/parse-json.ts'

type Row = Readonly<Record<string, unknown>>

const comma = 0x2c
const special = /[",\r\n]|^\s|\s$/
/** Matches values that spreadsheets would evaluate (OWASP, CSV injection). */
const formula = /^[=+\-@\t\r\n]|^[＝＋－＠]/
const newline = 0x0a

/** Cells written between two checks of the clock. */
const cellsPerCheck = 10_000

export interface CsvForm {
  /** Columns of the header; by default the fields of the first row. */
  readonly columns: readonly string[] | undefined
  /** Prefixes texts that a spreadsheet would interpret as a formula with an apostrophe. */
  readonly isEscaping: boolean
}

export async function* csvRows(rows: RowChunks, { columns, isEscaping }: CsvForm): AsyncGenerator<RowChunk> {
  const textCell = isEscaping ? escapedCell : plainCell
  const slice = openTimeSlice()
  let header = columns
  for await (const chunk of rows) {
    const objects = rowsOf(chunk)
    if (header === undefined) {
      header = Object.keys(objects[0] ?? {})
      yield chunkOf([headerOf(header, textCell)])
    }
    const paths = header.map((column) => ({ column, path: column.split('.') }))
    const batchRows = Math.max(1, Math.floor(cellsPerCheck / (paths.length + 1)))
    for (let from = 0; from < objects.length; from += batchRows) {
      const records = objects
        .slice(from, from + batchRows)
        .map((row) => paths.map(({ column, path }) => cellOf(valueAt(row, column, path), textCell)).join(','))
      yield chunkOf(records)
      await slice.yieldIfDue()
    }
  }
}

/** Writes the header even if there are no rows. */
export async function* csvWithHeader(
  rows: RowChunks,
  form: CsvForm & { readonly columns: readonly string[] },
): AsyncGenerator<RowChunk> {
  yield chunkOf([headerOf(form.columns, form.isEscaping ? escapedCell : plainCell)])
  yield* csvRows(rows, form)
}

function headerOf(columns: readonly string[], textCell: (text: string) => string): string {
  return columns.map(textCell).join(',')
}

/** Ends records with a line feed, as in NDJSON; RFC 4180 recommends that readers accept it. */
function chunkOf(records: readonly string[]): RowChunk {
  const starts: number[] = []
  let at = 0
  for (const record of records) {
    starts.push(at + 1)
    at += 1 + Buffer.byteLength(record)
  }
  return { bytes: Buffer.from(`\n${records.join('\n')}`), starts }
}

/** Parses all rows together, which is faster than row by row. */
function rowsOf({ bytes, starts }: RowChunk): readonly Row[] {
  for (const start of starts) bytes[start - 1] = comma
  const array = Buffer.concat([Buffer.from('['), bytes.subarray(starts[0]), Buffer.from(']')])
  for (const start of starts) bytes[start - 1] = newline
  return parseOwn(array) as readonly Row[]
}

/** Returns the value of a column: the field of that name, or a path through embedded objects. */
function valueAt(row: Row, column: string, path: readonly string[]): unknown {
  if (Object.hasOwn(row, column)) return row[column]
  let value: unknown = row
  for (const name of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
    value = (value as Row)[name]
  }
  return value
}

/** Writes null as an empty cell, and an empty string as two quotes. */
function cellOf(value: unknown, textCell: (text: string) => string): string {
  if (value === undefined || value === null) return ''
  if (typeof value === 'string') return textCell(value)
  if (typeof value === 'object') return textCell(jsonOf(value))
  return String(value)
}

function plainCell(text: string): string {
  return text === '' || special.test(text) ? quoted(text) : text
}

/** Quoting is not enough: spreadsheets remove quotes before they interpret a cell. */
function escapedCell(text: string): string {
  return formula.test(text) ? quoted(`'${text}`) : plainCell(text)
}

function quoted(text: string): string {
  return `"${text.replaceAll('"', '""')}"`
}

/** Writes bigints, which are integers beyond the range of a double, as strings within lists; imports accept them. */
function jsonOf(value: unknown): string {
  return JSON.stringify(value, (_name, one: unknown) => (typeof one === 'bigint' ? one.toString() : one))
}
