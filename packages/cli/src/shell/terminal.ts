/** Terminal input: lines by Node's readline, single keys, and Ctrl-C for the running statement. */
import { createInterface, type Interface } from 'node:readline'
import { Readable } from 'node:stream'
import type { ReadStream, WriteStream } from 'node:tty'

/** The result of a readline completer: candidates, and the end of the line that they replace. */
export type Completed = [candidates: string[], word: string]

export interface TerminalOptions {
  readonly input: ReadStream
  readonly output: WriteStream
  /** The newest entry first. */
  readonly history: readonly string[]
  /** Never rejects. `line`: up to the cursor. */
  complete(line: string, signal: AbortSignal): Promise<Completed>
}

export type LineRead = { readonly line: string } | 'interrupted' | 'ended'

export const historyEntriesMax = 1_000

/** Properties of readline that its types lack. */
interface Editor {
  line: string
  cursor: number
  prevRows: number
  history: string[]
}

const ctrlC = '\x03'

/** Keeps text typed between prompts for the next lines: readline gets keys from here, not from the terminal, so that nothing is echoed amid output. */
export class Terminal {
  readonly output: WriteStream
  private readonly input: ReadStream
  private readonly keys: Readable
  private readonly readline: Interface
  private state: 'editing' | 'held' = 'held'
  private typed = ''
  private waiting: ((read: LineRead) => void) | undefined
  private waitingForKey: ((key: string) => void) | undefined
  private running: AbortController | undefined
  private isEnded = false

  constructor({ input, output, history, complete }: TerminalOptions) {
    this.input = input
    this.output = output
    const setRawMode = (isRaw: boolean): ReadStream => input.setRawMode(isRaw)
    this.keys = Object.assign(new Readable({ read: () => undefined }), { setRawMode })
    this.readline = createInterface({
      input: this.keys,
      output,
      terminal: true,
      history: [...history],
      historySize: historyEntriesMax,
      removeHistoryDuplicates: true,
      completer: (line: string, done: (error: null, completed: Completed) => void) => {
        void this.completing((signal) => complete(line, signal)).then((completed) => done(null, completed))
      },
    })
    this.readline
      .on('line', (line) => this.answer({ line }))
      .on('SIGINT', () => this.abandonLine())
      .on('close', () => this.end())
    input.setEncoding('utf8')
    input.on('data', this.take).on('end', this.end).on('error', this.end)
  }

  /** Reads a line. Ctrl-C discards it. After the end of input, each call returns `ended`. */
  readLine(prompt: string): Promise<LineRead> {
    if (this.isEnded) return Promise.resolve('ended')
    return new Promise((resolve) => {
      this.waiting = resolve
      this.state = 'editing'
      this.readline.setPrompt(prompt)
      this.readline.prompt()
      this.feed()
    })
  }

  async run<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const running = new AbortController()
    this.running = running
    try {
      return await work(running.signal)
    } finally {
      this.running = undefined
    }
  }

  /** Resolves with the next key, which may be Ctrl-C. */
  nextKey(): Promise<string> {
    if (this.isEnded) return Promise.resolve(ctrlC)
    return new Promise((resolve) => {
      this.waitingForKey = resolve
    })
  }

  setHistory(entries: readonly string[]): void {
    const { history } = this.readline as unknown as Editor
    history.splice(0, history.length, ...entries)
  }

  close(): void {
    this.readline.close()
    this.input.off('data', this.take).off('end', this.end).off('error', this.end)
    this.input.pause()
  }

  private readonly take = (text: string): void => {
    if (this.waitingForKey !== undefined) {
      const resolve = this.waitingForKey
      this.waitingForKey = undefined
      resolve(text)
    } else if (this.running !== undefined && text.includes(ctrlC)) {
      // Text typed ahead was a response to output that did not appear.
      this.typed = ''
      this.running.abort()
    } else {
      this.typed += text
      this.feed()
    }
  }

  /** Feeds readline line by line: keys after a line wait for the next read. */
  private feed(): void {
    while (this.state === 'editing' && this.typed !== '') {
      const [piece] = /^[^\r\n]*(?:\r\n|[\r\n])?/.exec(this.typed) ?? ['']
      this.typed = this.typed.slice(piece.length)
      this.keys.emit('data', piece)
    }
  }

  private answer(read: LineRead): void {
    const resolve = this.waiting
    this.state = 'held'
    this.waiting = undefined
    resolve?.(read)
  }

  private abandonLine(): void {
    this.readline.write(null, { ctrl: true, name: 'e' })
    this.output.write('^C\n')
    Object.assign(this.readline as unknown as Editor, { line: '', cursor: 0, prevRows: 0 })
    this.answer('interrupted')
  }

  private async completing(work: (signal: AbortSignal) => Promise<Completed>): Promise<Completed> {
    this.state = 'held'
    const completed = await this.run(work)
    // Readline handles it in the next turn of the event loop.
    setImmediate(() => {
      if (this.waiting === undefined) return
      this.state = 'editing'
      this.feed()
    })
    return completed
  }

  private readonly end = (): void => {
    this.isEnded = true
    this.running?.abort()
    const resolve = this.waitingForKey
    this.waitingForKey = undefined
    resolve?.(ctrlC)
    this.answer('ended')
  }
}
