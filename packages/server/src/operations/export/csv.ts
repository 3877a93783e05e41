/** Rows as CSV (RFC 4180): a header, and one record per row (docs/export.md has the rules for values). */
import { JsonFragment, openTimeSlice, type RowChunk, type RowChunks } from '@ashlar/engine'

const special = /[",\r\n]|^\s|\s$/
/** Matches values that spreadsheets would evaluate (OWASP, CSV injection). */
const formula = /^[=+\-@\t\r\n]|^[＝＋－＠]/

/** Cells written between two checks of the clock. */
const cellsPerCheck = 10_000

export interface CsvForm {
  /** Columns of the header; by default the fields of the first row. */
  readonly columns: readonly string[] | undefined
  /** Prefixes texts that a spreadsheet would interpret as a formula with an apostrophe. */
  readonly isEscaping: boolean
  /** By class: the columns of type json, whose strings are written in the quotes of JSON. If missing, all strings are written without. */
  readonly jsonColumns?: ReadonlyMap<string, ReadonlySet<string>>
}

export async function* csvRows(
  rows: RowChunks,
  { columns, isEscaping, jsonColumns }: CsvForm,
): AsyncGenerator<RowChunk> {
  const textCell = isEscaping ? escapedCell : plainCell
  const slice = openTimeSlice()
  let header = columns
  for await (const chunk of rows) {
    const objects = rowsOf(chunk)
    if (header === undefined) {
      header = [...(objects[0]?.fields.keys() ?? [])]
      yield chunkOf([headerOf(header, textCell)])
    }
    const paths = header.map((column) => ({ column, path: column.split('.'), above: withPrefixes(column) }))
    const batchRows = Math.max(1, Math.floor(cellsPerCheck / (paths.length + 1)))
    const recordOf = (row: JsonFragment): string => {
      const json = jsonColumns?.get(classOf(row))
      const cells = paths.map(({ column, path, above }) => {
        return cellOf(valueAt(row, column, path), textCell, json !== undefined && above.some((one) => json.has(one)))
      })
      return cells.join(',')
    }
    for (let from = 0; from < objects.length; from += batchRows) {
      const records = objects.slice(from, from + batchRows).map(recordOf)
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

/** The rows as texts: parsed values would lose digits of numbers, and the order of names. */
function rowsOf({ bytes, starts }: RowChunk): readonly JsonFragment[] {
  return starts.map((start, i) => {
    const next = starts[i + 1]
    return new JsonFragment(bytes.toString('utf8', start, next === undefined ? bytes.length : next - 1))
  })
}

/** Returns the value of a column: the field of that name, or a path through embedded objects. */
function valueAt(row: JsonFragment, column: string, path: readonly string[]): JsonFragment | undefined {
  const own = row.fields.get(column)
  if (own !== undefined) return own
  let value: JsonFragment | undefined = row
  for (const name of path) value = value?.fields.get(name)
  return value
}

/** `j.a`, `j`: the column, and what it may be a part of. */
function withPrefixes(column: string): readonly string[] {
  const found = [column]
  for (let at = column.lastIndexOf('.'); at > 0; at = column.lastIndexOf('.', at - 1)) found.push(column.slice(0, at))
  return found
}

/** The class of an exported object. */
function classOf(row: JsonFragment): string {
  return charactersOf(row.fields.get('__class__')?.toString() ?? '""')
}

/** Writes null as an empty cell, an empty string as two quotes, and objects and arrays as their JSON. `isJson`: also strings. */
function cellOf(value: JsonFragment | undefined, textCell: (text: string) => string, isJson: boolean): string {
  const text = value === undefined ? 'null' : value.toString()
  if (text === 'null') return ''
  if (text.startsWith('"')) return textCell(isJson ? text : charactersOf(text))
  return text.startsWith('{') || text.startsWith('[') ? textCell(text) : text
}

/** `text`: a string of JSON, in quotes. */
function charactersOf(text: string): string {
  return text.includes('\\') ? (JSON.parse(text) as string) : text.slice(1, -1)
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
