/** A pager for results on a terminal. */
import stringWidth from 'string-width'
import type { RowsTarget } from '../data/rows.ts'
import type { Output } from '../output/output.ts'
import { sizeOf, type TableOptions } from '../output/table.ts'
import type { Terminal } from './terminal.ts'

/** The user has quit the pager; not reported as an error. */
export class PageLeft extends Error {}

const prompt = '-- more: Space for a page, Enter for a line, q to end --'

/** q, Ctrl-C, Ctrl-D, Escape. */
const leaving = 'qQ\x03\x04\x1b'

export class Pager implements RowsTarget {
  isOn = true
  private readonly output: Output
  private readonly terminal: Terminal
  private rowsLeft = 0

  constructor(output: Output, terminal: Terminal) {
    this.output = output
    this.terminal = terminal
  }

  get tableOptions(): TableOptions {
    return this.output.tableOptions
  }

  begin(): void {
    this.rowsLeft = this.pageRows
  }

  async lines(lines: readonly string[]): Promise<void> {
    for (const line of lines) await this.write(`${line}\n`)
  }

  /** Throws PageLeft. */
  async write(text: string): Promise<void> {
    if (!this.isOn) return this.output.write(text)
    for (const line of text.match(/[^\n]*\n|[^\n]+$/g) ?? []) {
      if (this.rowsLeft <= 0) await this.promptForKey()
      this.rowsLeft -= rowsOf(line, sizeOf(this.terminal.output).columns)
      await this.output.write(line)
    }
  }

  private async promptForKey(): Promise<void> {
    const { output } = this.terminal
    output.write(prompt)
    const key = await this.terminal.nextKey()
    output.write('\r\x1b[K')
    if (leaving.includes(key.charAt(0))) throw new PageLeft()
    this.rowsLeft = key.startsWith('\r') || key.startsWith('\n') ? 1 : this.pageRows
  }

  /** Reserves one row for the prompt. */
  private get pageRows(): number {
    return Math.max(1, sizeOf(this.terminal.output).rows - 1)
  }
}

/** Counts the terminal rows of a line, which may wrap. */
function rowsOf(line: string, columns: number): number {
  return Math.max(1, Math.ceil(stringWidth(line) / Math.max(1, columns)))
}
