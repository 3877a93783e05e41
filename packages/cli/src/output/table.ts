/** Tables for people, as wide as their cells or the terminal; control characters in data cannot affect the terminal. */
import stringWidth from 'string-width'

/** Columns between two cells. */
const gap = 2
/** Minimum width of a column that is narrowed to fit a terminal. */
const columnMin = 6

export interface TableOptions {
  /** The width of the terminal; undefined for other outputs. */
  readonly columns: number | undefined
  /** Styles the head, for example in bold. */
  readonly styleHead: (text: string) => string
}

/** Returns the size of a terminal. An unknown one is reported as 0. */
export function sizeOf({ columns, rows }: { readonly columns: number; readonly rows: number }): {
  readonly columns: number
  readonly rows: number
} {
  return { columns: columns || 80, rows: rows || 24 }
}

/** Column widths, determined by the first rows, and the formatting of rows as lines. */
export class TableLayout {
  private readonly widths: readonly number[]
  /** Numeric columns, which are aligned right. */
  private readonly areNumbers: readonly boolean[]
  private readonly options: TableOptions
  private readonly head: readonly string[]

  constructor(head: readonly string[], rows: readonly (readonly string[])[], options: TableOptions) {
    this.options = options
    this.head = head.map((cell) => printable(cell))
    const widest = this.head.map((cell, at) =>
      rows.reduce((width, row) => Math.max(width, widthOf(printable(row[at] ?? ''))), widthOf(cell)),
    )
    this.widths = options.columns === undefined ? widest : fitted(widest, options.columns)
    this.areNumbers = head.map((_, at) => rows.length > 0 && rows.every((row) => isNumber(row[at] ?? '')))
  }

  headLine(): string {
    return this.options.styleHead(this.lineOf(this.head))
  }

  line(row: readonly string[]): string {
    return this.lineOf(row.map((cell) => printable(cell)))
  }

  private lineOf(cells: readonly string[]): string {
    return this.widths
      .map((width, at) => {
        const cell = this.options.columns === undefined ? (cells[at] ?? '') : cut(cells[at] ?? '', width)
        const blanks = ' '.repeat(Math.max(0, width - widthOf(cell)))
        return this.areNumbers[at] === true ? blanks + cell : cell + blanks
      })
      .join(' '.repeat(gap))
      .trimEnd()
  }
}

export function tableLines(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  options: TableOptions,
): string[] {
  const layout = new TableLayout(head, rows, options)
  return [layout.headLine(), ...rows.map((row) => layout.line(row))]
}

/** Narrows the widest columns first. */
function fitted(widest: readonly number[], columns: number): number[] {
  const widths = [...widest]
  let excess = widths.reduce((sum, width) => sum + width + gap, -gap) - columns
  while (excess > 0) {
    const max = Math.max(...widths)
    if (max <= columnMin) break
    const next = Math.max(columnMin, ...widths.filter((width) => width < max))
    const wide = widths.filter((width) => width === max).length
    const less = Math.min(max - next, Math.max(1, Math.floor(excess / wide)))
    for (const [at, width] of widths.entries()) {
      if (width !== max || excess <= 0) continue
      widths[at] = width - less
      excess -= less
    }
  }
  return widths
}

const segmenter = new Intl.Segmenter()

function cut(text: string, width: number): string {
  if (widthOf(text) <= width) return text
  if (isPlain(text)) return `${text.slice(0, Math.max(0, width - 1))}…`
  let prefix = ''
  let used = 1
  for (const { segment } of segmenter.segment(text)) {
    used += widthOf(segment)
    if (used > width) break
    prefix += segment
  }
  return `${prefix}…`
}

function isNumber(cell: string): boolean {
  return cell === '' || /^-?\d[\d.,]*(?:[eE][+-]?\d+)?$/.test(cell)
}

/** Escapes control characters, which could control a terminal, as `\n` or `\x1b`, and characters that change the direction of text. */
export function printable(text: string, kind: 'cell' | 'lines' = 'cell'): string {
  if (isPlain(text)) return text
  return text.replaceAll(kind === 'cell' ? steering : steeringInLines, (character) => {
    const code = character.charCodeAt(0)
    return escapes[character] ?? (code < 256 ? `\\x${hex(code, 2)}` : `\\u${hex(code, 4)}`)
  })
}

/** Returns true for visible ASCII, whose width is its length. Most cells are plain, and this check takes a hundredth of the full one. */
function isPlain(text: string): boolean {
  return /^[\x20-\x7e]*$/.test(text)
}

function widthOf(text: string): number {
  return isPlain(text) ? text.length : stringWidth(text)
}

const escapes: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }
// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern is meant to match them
const steering = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g
// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern is meant to match them
const steeringInLines = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

function hex(code: number, digits: number): string {
  return code.toString(16).padStart(digits, '0')
}
