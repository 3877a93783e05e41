/** The state of a shell session, and the execution of statements in it. */
import type { AshlarClient } from '@ashlar/client'
import type { CommandContext } from '../connection/command-context.ts'
import { type RowFormat, type RowsTarget, writeExpanded, writeFormattedRows } from '../data/rows.ts'
import { interruptedError } from '../errors/command-error.ts'
import { Output } from '../output/output.ts'
import { printable } from '../output/table.ts'
import { numberText } from '../output/texts.ts'
import { SchemaView } from './known-schema.ts'
import { piecesOf } from './pieces.ts'
import { StatementReader } from './statement-reader.ts'

export interface ShellScreen {
  /** Receives results, unless they are written to a file. */
  readonly target: RowsTarget
  readonly isTerminal: boolean
  /** Called before each result. */
  begin(): void
  /** Shows a message that is not a result. */
  note(text: string): void
  /** Undefined without paging. */
  readonly paging: { isOn: boolean } | undefined
}

/** Age up to which the cached schema is used. */
const schemaMsMax = 30_000

export class Session {
  readonly context: CommandContext
  readonly screen: ShellScreen
  /** Reads statements, and buffers incomplete ones. */
  reader = new StatementReader()
  place: { readonly name: string; readonly line: number } | undefined
  /** The stack of files being included. */
  readonly includes: string[] = []
  readonly parameters: Map<string, unknown>
  client: AshlarClient
  fd: string
  format: RowFormat
  isExpanded = false
  isTimed = false
  /** The statements collected since `\begin`, which are sent as one text. */
  transaction: string[] | undefined
  lastText: string | undefined
  /** The text that an error message quotes. */
  textAtWork: string | undefined
  isLeft = false
  private file: { readonly name: string; readonly output: Output } | undefined
  private cachedSchema: { readonly schema: SchemaView; readonly at: number } | undefined

  constructor(
    context: CommandContext,
    screen: ShellScreen,
    parameters: Readonly<Record<string, unknown>>,
    format: RowFormat,
  ) {
    this.context = context
    this.screen = screen
    this.client = context.client
    this.fd = context.connection.fd ?? ''
    this.format = format
    this.parameters = new Map(Object.entries(parameters))
  }

  get target(): RowsTarget {
    return this.file?.output ?? this.screen.target
  }

  /** Throws the errors of the client, and CommandError. */
  async runText(text: string, signal: AbortSignal): Promise<void> {
    if (this.transaction !== undefined) {
      this.transaction.push(/;\s*$/.test(text) ? text : `${text};`)
      return
    }
    await this.send(text, signal)
  }

  async send(text: string, signal: AbortSignal): Promise<void> {
    this.lastText = text
    this.textAtWork = text
    const started = performance.now()
    const rows = this.client.queryStream<unknown>(text, Object.fromEntries(this.parameters), { signal })
    this.screen.begin()
    const count = await this.writeRows(until(rows, signal))
    if (/\b(?:schema|index)\b/i.test(text)) this.forgetSchema()
    if (this.format === 'table') this.screen.note(countText(text, count))
    this.noteTime(started)
    this.textAtWork = undefined
  }

  async explain(text: string, isAnalyzed: boolean, signal: AbortSignal): Promise<void> {
    this.lastText = text
    this.textAtWork = text
    const explained = this.client.explainAsText(text, Object.fromEntries(this.parameters), { isAnalyzed, signal })
    const plan = await orAborted(explained, signal)
    await this.tell(printable(plan.trimEnd(), 'lines').split('\n'))
    this.textAtWork = undefined
  }

  async tell(lines: readonly string[]): Promise<void> {
    this.screen.begin()
    await this.target.lines(lines)
  }

  noteTime(started: number): void {
    if (this.isTimed) this.screen.note(`Time: ${(performance.now() - started).toFixed(1)} ms`)
  }

  /** Returns the schema, cached for some seconds. Throws the errors of the client. */
  async schema(signal: AbortSignal): Promise<SchemaView> {
    if (this.cachedSchema !== undefined && performance.now() - this.cachedSchema.at < schemaMsMax)
      return this.cachedSchema.schema
    const [classes, indexes] = await orAborted(
      Promise.all([this.client.listClasses(), this.client.listIndexes()]),
      signal,
    )
    const schema = new SchemaView(classes, indexes)
    this.cachedSchema = { schema, at: performance.now() }
    return schema
  }

  forgetSchema(): void {
    this.cachedSchema = undefined
  }

  /** Switches to another federated database of the server. Throws if it does not exist. */
  async useFd(alias: string, signal: AbortSignal): Promise<void> {
    const client = this.context.connection.withFd(alias)
    const record = await orAborted(client.getFederatedDatabase(), signal)
    this.client = client
    this.fd = record.alias
    this.forgetSchema()
  }

  /** Redirects results to a file; undefined: back to the terminal or standard output. The previous file is then complete. */
  async writeTo(name: string | undefined): Promise<void> {
    const { file } = this
    this.file = undefined
    await file?.output.finish()
    if (name !== undefined) this.file = { name, output: new Output({ output: name }) }
  }

  async end(): Promise<void> {
    if (this.transaction !== undefined) this.screen.note('The transaction was not committed: nothing of it is done.')
    await this.writeTo(undefined)
  }

  private async writeRows(rows: AsyncIterable<unknown>): Promise<number> {
    const { target } = this
    if (this.format === 'table' && this.isExpanded) return writeExpanded(rows, target)
    // Tables escape control characters; the other formats are for programs.
    const isRaw = this.format !== 'table' && this.file === undefined && this.screen.isTerminal
    return writeFormattedRows(this.format, rows, isRaw ? printed(target) : target, false)
  }
}

/** Returns a target that escapes control characters. */
function printed(target: RowsTarget): RowsTarget {
  return {
    tableOptions: target.tableOptions,
    write: (text) => target.write(printable(text, 'lines')),
    lines: (lines) => target.lines(lines.map((line) => printable(line, 'lines'))),
  }
}

const reading: readonly string[] = ['FROM', 'SELECT', 'RETURN', 'MATCH', 'SHOW', 'LOOKUP', 'EXPLAIN']

/** A change without a reply reports success. */
function countText(text: string, count: number): string {
  if (count > 0) return `(${numberText(count)} ${count === 1 ? 'row' : 'rows'})`
  const { pieces } = piecesOf(text.replace(/[\s;]+$/, ''))
  const first = pieces[pieces.findLastIndex((piece) => piece.text === ';') + 1]
  return reading.includes(first?.text.toUpperCase() ?? '') ? '(no rows)' : 'Done.'
}

/** Ends when the signal is aborted, even while waiting for a row; then throws CommandError. */
async function* until<T>(
  rows: AsyncGenerator<T, void, undefined>,
  signal: AbortSignal,
): AsyncGenerator<T, void, undefined> {
  try {
    for (;;) {
      const { done, value } = await orAborted(rows.next(), signal)
      if (done === true) return
      yield value
    }
  } finally {
    // Not awaited: it ends with the pending request.
    void rows.return(undefined).catch(() => undefined)
  }
}

/** Throws CommandError when the signal is aborted. */
export async function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  let stop: () => void = () => undefined
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(interruptedError('Stopped.'))
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
  })
  try {
    return await Promise.race([work, aborted])
  } finally {
    signal.removeEventListener('abort', stop)
    aborted.catch(() => undefined)
    if (signal.aborted) work.catch(() => undefined)
  }
}
