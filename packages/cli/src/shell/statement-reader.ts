/** Groups lines into statements, typed or read from a file (docs/shell.md, Statements). */
import { invalidInput } from '../errors/command-error.ts'
import { type OpenPiece, piecesOf } from './pieces.ts'

/** Longest text that is buffered. The server accepts far less (`queryCharactersMax`). */
export const textCharactersMax = 16 * 1024 * 1024

/** Statements that affect only later statements of the same text. */
const leading: readonly string[] = ['LET', 'USE']

export class StatementReader {
  private lines: string[] = []
  private characters = 0
  private openPiece: OpenPiece
  private depth = 0
  /** The first word of the current statement, in upper case. */
  private firstWord: string | undefined
  private isTextAtEnd = false

  get isEmpty(): boolean {
    return this.lines.length === 0
  }

  get text(): string {
    return this.lines.join('\n')
  }

  /** The kind of token that is open at the end of the last line. */
  get open(): OpenPiece | '(' {
    return this.openPiece ?? (this.depth > 0 ? '(' : undefined)
  }

  /** Whether the next line is outside of quotes and comments. */
  get takesCommands(): boolean {
    return this.openPiece === undefined
  }

  /** Returns the text if the line completes it. Throws CommandError if the text is too long. */
  add(line: string): string | undefined {
    this.characters += line.length + 1
    if (this.characters > textCharactersMax) {
      this.clear()
      throw invalidInput(`A statement has more than ${textCharactersMax} characters.`)
    }
    this.lines.push(line)
    const { pieces, open } = piecesOf(line, this.openPiece)
    this.openPiece = open
    for (const { kind, text } of pieces) {
      this.isTextAtEnd = false
      if (kind === 'symbol' && '([{'.includes(text)) this.depth++
      else if (kind === 'symbol' && ')]}'.includes(text)) this.depth--
      if (kind !== 'symbol' || text !== ';' || this.depth > 0) this.firstWord ??= text.toUpperCase()
      else {
        this.isTextAtEnd = this.firstWord !== undefined && !leading.includes(this.firstWord)
        this.firstWord = undefined
      }
    }
    const isEnded = this.isTextAtEnd && this.openPiece === undefined
    if (isEnded) return this.take()
    const isBlank = this.lines.every((one) => one.trim() === '')
    if (this.firstWord === undefined && this.openPiece === undefined && isBlank) this.clear()
    return undefined
  }

  /** Returns the text, complete or not; undefined if it is empty. */
  take(): string | undefined {
    const text = this.lines.join('\n')
    this.clear()
    return piecesOf(text).pieces.some(({ text: word }) => word !== ';') ? text : undefined
  }

  clear(): void {
    this.lines = []
    this.characters = 0
    this.openPiece = undefined
    this.depth = 0
    this.firstWord = undefined
    this.isTextAtEnd = false
  }
}
