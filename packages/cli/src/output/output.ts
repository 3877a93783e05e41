/** Destination of the result of a command: standard output or a file, which is written completely or not at all. */
import { once } from 'node:events'
import { createWriteStream, openSync, realpathSync, renameSync, rmSync, statSync } from 'node:fs'
import type { Writable } from 'node:stream'
import type { WriteStream as Terminal } from 'node:tty'
import { styleText } from 'node:util'
import { unwritable } from '../errors/file-errors.ts'
import { stringifyExactly } from './exact-json.ts'
import { hidesProgress } from './progress.ts'
import { sizeOf, type TableOptions, tableLines } from './table.ts'
import { partialName, removeAbandoned } from './write-whole.ts'

export interface OutputOptions {
  readonly json?: boolean
  readonly quiet?: boolean
  /** `-` is standard output. */
  readonly output?: string
  /** The file gets permissions for its owner only, since the result may contain a secret. */
  readonly isPrivate?: boolean
}

/** The reader of the output has closed it, as `head` does. The command ends without an error. */
export class ReaderGone extends Error {}

export class Output {
  readonly isJson: boolean
  readonly isQuiet: boolean
  private readonly name: string | undefined
  /** The temporary file that is renamed to `target` when it is complete; undefined for standard output, pipes and devices. */
  private readonly partial: string | undefined
  private readonly target: string
  private readonly stream: Writable
  private failure: NodeJS.ErrnoException | undefined

  /** Opens a file immediately: if that fails, nothing has been done yet. */
  constructor({ json = false, quiet = false, output = '-', isPrivate = false }: OutputOptions) {
    this.isJson = json
    this.isQuiet = quiet
    this.name = output === '-' ? undefined : output
    if (this.name === undefined) [this.target, this.stream] = [output, process.stdout]
    else ({ target: this.target, partial: this.partial, stream: this.stream } = openFile(this.name, isPrivate))
    this.stream.on('error', (error) => {
      this.failure = error
    })
  }

  /** Undefined if the output is not a terminal. */
  get terminal(): Terminal | undefined {
    return this.stream === process.stdout && process.stdout.isTTY ? process.stdout : undefined
  }

  /** The name of the file; undefined for standard output. */
  get file(): string | undefined {
    return this.name
  }

  get tableOptions(): TableOptions {
    const isColored = this.terminal?.hasColors() === true
    return {
      columns: this.terminal && sizeOf(this.terminal).columns,
      styleHead: (text) => (isColored ? styleText('bold', text, { validateStream: false }) : text),
    }
  }

  /** Resolves when more can be written. Throws ReaderGone; CommandError if the file cannot be written. */
  async write(text: string | Uint8Array): Promise<void> {
    this.check()
    if (this.stream.write(text)) return
    // The listener of the other event must be removed: each write would add one.
    const waited = new AbortController()
    const events = ['drain', 'close'].map((event) => once(this.stream, event, { signal: waited.signal }))
    await Promise.race(events).catch(() => undefined)
    waited.abort()
    this.check()
  }

  /** Writes the result: as JSON with `--json`, otherwise as lines, which `--quiet` suppresses. */
  async result(value: unknown, lines: () => readonly string[]): Promise<void> {
    if (this.isJson) return this.write(`${stringifyExactly(value, 2)}\n`)
    await this.lines(this.isQuiet ? [] : lines())
  }

  /** Writes the requested data, also with `--quiet`. */
  async data(value: unknown, lines: () => readonly string[]): Promise<void> {
    if (this.isJson) return this.write(`${stringifyExactly(value, 2)}\n`)
    await this.lines(lines())
  }

  async lines(lines: readonly string[]): Promise<void> {
    await this.write(lines.map((line) => `${line}\n`).join(''))
  }

  table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
    return tableLines(head, rows, this.tableOptions)
  }

  /** Writes a note for people to standard error, unless `--quiet`. */
  note(text: string): void {
    if (!this.isQuiet) process.stderr.write(`${text}\n`)
  }

  get hidesProgress(): boolean {
    return hidesProgress(this.isQuiet, this.isJson)
  }

  /** Writes all output; a file gets its name at this point. Throws as `write`. */
  async finish(): Promise<void> {
    if (this.name === undefined) {
      // The last write may fail only now.
      await new Promise<unknown>((resolve) => this.stream.write('', resolve))
      this.check()
      return
    }
    this.stream.end()
    if (!this.stream.closed) await once(this.stream, 'close').catch(() => undefined)
    this.check()
    if (this.partial === undefined) return
    try {
      renameSync(this.partial, this.target)
    } catch (error) {
      throw unwritable(this.name, error, true)
    }
  }

  /** Call if the command fails: removes an incomplete file. */
  async discard(): Promise<void> {
    if (this.name === undefined) return
    this.stream.destroy()
    if (!this.stream.closed) await once(this.stream, 'close').catch(() => undefined)
    if (this.partial !== undefined) rmSync(this.partial, { force: true })
  }

  private check(): void {
    if (this.failure === undefined) return
    if (this.failure.code === 'EPIPE') throw new ReaderGone()
    throw unwritable(this.file ?? 'Standard output', this.failure, true)
  }
}

interface OpenedFile {
  readonly target: string
  readonly partial: string | undefined
  readonly stream: Writable
}

function openFile(file: string, isPrivate: boolean): OpenedFile {
  try {
    const stats = statSync(file, { throwIfNoEntry: false })
    if (stats?.isDirectory() === true) throw Object.assign(new Error(), { code: 'EISDIR' })
    // A device or a pipe cannot be replaced.
    if (stats?.isFile() === false)
      return { target: file, partial: undefined, stream: createWriteStream(file, { fd: openSync(file, 'w') }) }
    // The target of a symbolic link, not the link.
    const target = stats === undefined ? file : realpathSync(file)
    removeAbandoned(target)
    const partial = partialName(target)
    const fd = openSync(partial, 'wx', isPrivate ? 0o600 : 0o666)
    return { target, partial, stream: createWriteStream(partial, { fd }) }
  } catch (error) {
    throw unwritable(file, error)
  }
}
