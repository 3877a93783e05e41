/** Lines to texts of statements: where one ends that is typed, or read from a file (docs/shell.md, Statements). */
import { invalidInput } from '../command-error.ts'
import { type OpenPiece, piecesOf } from './pieces.ts'

/** Of one text, which is kept until it is sent. The server takes far less (`queryCharactersMax`). */
export const textCharactersMax = 16 * 1024 * 1024

/** What they set is known to the statements behind them in the same text, and to no others. */
const leading: readonly string[] = ['LET', 'USE']

export class StatementReader {
  private lines: string[] = []
  private characters = 0
  private openPiece: OpenPiece
  /** Of brackets. */
  private depth = 0
  /** Of the statement that has begun, in capitals. */
  private firstWord: string | undefined
  private isTextAtEnd = false

  get isEmpty(): boolean {
    return this.lines.length === 0
  }

  /** What there is so far. */
  get text(): string {
    return this.lines.join('\n')
  }

  /** What is open at the end of the last line: of a quote, its sign. */
  get open(): OpenPiece | '(' {
    return this.openPiece ?? (this.depth > 0 ? '(' : undefined)
  }

  /** A line is no part of a text in quotes or of a comment. */
  get takesCommands(): boolean {
    return this.openPiece === undefined
  }

  /** The text, where the line ends it. Throws CommandError for a text that is too long. */
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
    if (this.firstWord === undefined && this.openPiece === undefined && !this.lines.some(isMeant)) this.clear()
    return undefined
  }

  /** What there is, ended or not; undefined where that is nothing. */
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

/** Lines of blanks do not begin a text. */
function isMeant(line: string): boolean {
  return line.trim() !== ''
}
