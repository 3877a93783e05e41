/** Error messages for a CSV file or one of its records. */

import type { CsvError } from 'csv-parse'
import { type CommandError, invalidInput } from '../errors/command-error.ts'
import { numberText } from '../output/texts.ts'

/** Describes why a record cannot be read; completes "The record …". */
export function csvProblem(error: CsvError | undefined, columns: number | undefined): string {
  const fields = Array.isArray(error?.record) ? error.record.length : undefined
  switch (error?.code) {
    case 'CSV_QUOTE_NOT_CLOSED':
      return 'begins a quoted value that is not closed up to the end of the file'
    case 'INVALID_OPENING_QUOTE':
      return 'has a quote amid a value: put the whole value in quotes, and double those within it'
    case 'CSV_INVALID_CLOSING_QUOTE':
    case 'CSV_NON_TRIMABLE_CHAR_AFTER_CLOSING_QUOTE':
      return 'has text after a closing quote: quotes within a value are doubled'
    case 'CSV_RECORD_INCONSISTENT_COLUMNS':
    case 'CSV_RECORD_INCONSISTENT_FIELDS_LENGTH':
      if (fields === undefined || columns === undefined) break
      return `has ${fields} ${fields === 1 ? 'value' : 'values'} for ${columns} ${columns === 1 ? 'column' : 'columns'}`
    default:
  }
  return `cannot be read: ${error?.message ?? 'it is not CSV'}`
}

const anyLineBreak = /\r\n|\r|\n/g

/** Counts line breaks in a part of a record. Its raw text includes preceding blank lines, and may lack the second character of a final line break. */
function breaksIn(part: string, raw: string): number {
  if (raw.endsWith('\r') || raw.startsWith('\r')) return part.match(anyLineBreak)?.length ?? 0
  let count = 0
  for (let at = part.indexOf('\n'); at >= 0; at = part.indexOf('\n', at + 1)) count++
  return count
}

export function lineBreaks(raw: string): number {
  return breaksIn(raw, raw)
}

/** Returns the number of lines before the line on which the record ends. */
export function linesBeforeEnd(raw: string): number {
  return lineBreaks(raw) - (/[\r\n]$/.test(raw) ? 1 : 0)
}

/** Counts the lines before the end of an unreadable record, or before the opening quote if it is not closed. */
export function linesBeforeFault(raw: string, error: CsvError | undefined): number {
  if (error?.code !== 'CSV_QUOTE_NOT_CLOSED') return linesBeforeEnd(raw)
  let opened = -1
  for (let at = raw.indexOf('"'); at >= 0; at = raw.indexOf('"', at + 1)) {
    if (opened < 0) opened = at
    else if (raw[at + 1] === '"') at++
    else opened = -1
  }
  return breaksIn(raw.slice(0, opened), raw)
}

/** Finds a name that looks like a value. Several years are column names, as in tables with a column per year. */
function valueIn(names: readonly string[]): string | undefined {
  const trimmed = names.map((name) => name.trim())
  const areYears = trimmed.filter(isYear).length > 1
  return trimmed.find((name) => name === '' || (Number.isFinite(Number(name)) && !(areYears && isYear(name))))
}

function isYear(name: string): boolean {
  return /^(1[5-9]|2[01])\d\d$/.test(name)
}

/** Longer names are refused. */
const nameCharactersMax = 1_000
const excerptCharacters = 40

function firstTwice(names: readonly string[]): string | undefined {
  const before = new Set<string>()
  return names.find((name) => before.size === before.add(name).size)
}

function looksLikeData(what: string): CommandError {
  const hint =
    'If the file has no header, --columns names the columns; if this is its header, give --columns and --skip 1.'
  return invalidInput(`The first line looks like data: ${what}. ${hint}`)
}

const otherDelimiters = [',', ';', '\t', '|']

/** Refuses repeated names, which would drop values, and a header in one column that contains another delimiter. */
export function checkHeader(names: readonly string[], hasDelimiter: boolean): void {
  const long = names.find((name) => name.length > nameCharactersMax)
  if (long !== undefined)
    throw looksLikeData(
      `a column has a name of ${numberText(long.length)} characters, '${long.slice(0, excerptCharacters)}…'`,
    )
  const twice = firstTwice(names)
  if (twice !== undefined) {
    const hint = 'rename one in the header, or give the names by --columns if the file has no header'
    throw invalidInput(`Two columns have the name '${twice}', and one would be lost: ${hint}.`)
  }
  if (names.includes('__proto__'))
    throw invalidInput("A column cannot have the name '__proto__': rename it, or name the columns by --columns.")
  const value = valueIn(names)
  if (value !== undefined) {
    const what = value === '' ? 'a column has no name' : `a column has the name '${value}'`
    throw looksLikeData(what)
  }
  const [name = ''] = names
  const other = otherDelimiters.find((one) => name.includes(one))
  if (hasDelimiter || names.length !== 1 || other === undefined) return
  const word = other === '\t' ? 'tab' : `'${other}'`
  const hint = `If its columns are separated by ${word === 'tab' ? 'tabs' : word}, add --delimiter ${word}.`
  throw invalidInput(`The header is a single column, '${name}'. ${hint}`)
}
