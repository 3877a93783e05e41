/** Rows of a query as a table, JSON, NDJSON or CSV, as they arrive. */

import stringWidth from 'string-width'
import { CommandError } from '../errors/command-error.ts'
import { exitCodes } from '../errors/exit-codes.ts'
import { stringifyExactly } from '../output/exact-json.ts'
import type { Output } from '../output/output.ts'
import { printable, TableLayout } from '../output/table.ts'
import { cellOf } from './objects.ts'

export type RowFormat = 'table' | 'json' | 'ndjson' | 'csv'

/** A destination of rows: the output of a command, or a page of a terminal. */
export interface RowsTarget extends Pick<Output, 'lines' | 'tableOptions'> {
  /** Resolves when more data can be written. */
  write(text: string): Promise<void>
}

/** Rows that determine the columns of a table and their widths. */
const rowsForLayout = 1_000

/** Resolves with the number of rows. */
type Writer = (rows: AsyncIterable<unknown>, target: RowsTarget, isHeadless: boolean) => Promise<number>

const writers: Readonly<Record<RowFormat, Writer>> = {
  json: writeArray,
  ndjson: writeLines,
  table: (rows, target, isHeadless) => writeColumns(rows, isHeadless, tableColumns(target), target),
  csv: (rows, target) => writeColumns(rows, false, csvColumns, target),
}

/** Writes rows as they arrive, in constant memory. `isHeadless`: omits the head of a table. Throws CommandError, and the errors of `rows`. */
export function writeFormattedRows(
  format: RowFormat,
  rows: AsyncIterable<unknown>,
  target: RowsTarget,
  isHeadless: boolean,
): Promise<number> {
  return writers[format](rows, target, isHeadless)
}

async function writeArray(rows: AsyncIterable<unknown>, target: RowsTarget): Promise<number> {
  let count = 0
  for await (const row of rows) await target.write(`${count++ === 0 ? '[\n' : ',\n'}${stringifyExactly(row)}`)
  await target.write(count === 0 ? '[]\n' : '\n]\n')
  return count
}

async function writeLines(rows: AsyncIterable<unknown>, target: RowsTarget): Promise<number> {
  let count = 0
  for await (const row of rows) {
    await target.write(`${stringifyExactly(row)}\n`)
    count++
  }
  return count
}

interface ColumnFormat {
  readonly head: string
  line(cells: readonly string[]): string
}

type ColumnsOf = (names: readonly string[], rows: readonly (readonly string[])[]) => ColumnFormat

function tableColumns({ tableOptions }: RowsTarget): ColumnsOf {
  return (names, rows) => {
    const layout = new TableLayout(names, rows, tableOptions)
    return { head: layout.headLine(), line: (cells) => layout.line(cells) }
  }
}

const csvColumns: ColumnsOf = (names) => ({ head: csvLine(names), line: csvLine })

/** Formats a line as in RFC 4180, but with the line break of the system's own tools. */
function csvLine(cells: readonly string[]): string {
  return cells.map((cell) => (/[",\r\n]|^\s|\s$/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(',')
}

/** Determines the columns from the first rows. Throws CommandError if a later row has another column: no value is dropped silently. */
async function writeColumns(
  rows: AsyncIterable<unknown>,
  isHeadless: boolean,
  columnsOf: ColumnsOf,
  target: RowsTarget,
): Promise<number> {
  const first: Readonly<Record<string, unknown>>[] = []
  let names: string[] = []
  let columns: ColumnFormat | undefined
  const line = (record: Readonly<Record<string, unknown>>): string[] => names.map((name) => cellOf(record[name]))
  const begin = async (): Promise<ColumnFormat> => {
    names = [...new Set(first.flatMap((record) => Object.keys(record)))]
    const cells = first.map(line)
    const layout = columnsOf(names, cells)
    if (names.length > 0)
      await target.lines([...(isHeadless ? [] : [layout.head]), ...cells.map((row) => layout.line(row))])
    return layout
  }
  let count = 0
  for await (const row of rows) {
    count++
    const record = recordOf(row)
    if (columns === undefined) {
      first.push(record)
      if (first.length >= rowsForLayout) columns = await begin()
      continue
    }
    const other = Object.keys(record).find((name) => !names.includes(name))
    if (other !== undefined) {
      const hint = `Row ${count} has an attribute ${other}, which none of the first ${rowsForLayout} has: use --format ndjson.`
      throw new CommandError(exitCodes.failed, hint)
    }
    await target.lines([columns.line(line(record))])
  }
  if (columns === undefined) await begin()
  return count
}

/** A row that is not an object is the value of the column `value`. */
function recordOf(row: unknown): Readonly<Record<string, unknown>> {
  const isRecord = typeof row === 'object' && row !== null && !Array.isArray(row)
  return isRecord ? (row as Readonly<Record<string, unknown>>) : { value: row }
}

/** Resolves with the number of rows. Throws the errors of `rows` and the target. */
export async function writeExpanded(rows: AsyncIterable<unknown>, target: RowsTarget): Promise<number> {
  let count = 0
  for await (const row of rows) {
    const values = Object.entries(recordOf(row)).map(
      ([name, value]) => [printable(name), printable(cellOf(value))] as const,
    )
    const width = values.reduce((widest, [name]) => Math.max(widest, stringWidth(name)), 0)
    const lines = values.map(([name, value]) => `${name}${' '.repeat(width - stringWidth(name))}  ${value}`.trimEnd())
    await target.lines([target.tableOptions.styleHead(`-- row ${++count}`), ...lines])
  }
  return count
}
