/** The built program in a real pseudo-terminal, by `script` of util-linux, which any Linux has. */
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { inject, onTestFinished } from 'vitest'
import { temporaryDirectory } from '../../../server/test/executable/process.ts'

/** Why there is none; undefined where there is one. */
export const noTerminal: string | undefined = missing()

function missing(): string | undefined {
  const { stdout, error } = spawnSync('script', ['--version'], { encoding: 'utf8' })
  if (error !== undefined) return `there is no program script here (${error.message})`
  return stdout.includes('util-linux') ? undefined : 'the program script here is not that of util-linux'
}

const pauseMs = 20
/** Bounds what hangs; that much of it is waiting. */
const waitMsMax = 40_000

export interface TerminalOptions {
  readonly columns?: number
  readonly rows?: number
  readonly environment?: Readonly<Record<string, string>>
  readonly directory?: string
}

export class PseudoTerminal {
  /** What it was sent, control sequences and all. */
  output = ''
  /** Exit code of the program. */
  readonly ended: Promise<number | null>
  private readonly child
  private readonly device: string
  private seen = 0

  constructor(words: readonly string[], { columns = 80, rows = 24, environment, directory }: TerminalOptions = {}) {
    const folder = directory ?? temporaryDirectory()
    this.device = join(folder, '.device')
    const inherited = Object.entries(process.env).filter(
      ([name]) => !/^(?:ASHLAR_|NO_COLOR|FORCE_COLOR|COLORTERM|PAGER|CI$)/.test(name),
    )
    const state = { XDG_CONFIG_HOME: folder, XDG_STATE_HOME: folder, TERM: 'xterm', SHELL: '/bin/sh' }
    const program = [process.execPath, inject('server'), ...words].map(quoted).join(' ')
    const command = `stty cols ${columns} rows ${rows}; tty > ${quoted(this.device)}; exec ${program}`
    this.child = spawn('script', ['-qefc', command, '/dev/null'], {
      cwd: folder,
      env: { ...Object.fromEntries(inherited), ...state, ...environment },
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    this.child.stdin.on('error', () => undefined)
    this.child.stdout.setEncoding('utf8').on('data', (text: string) => {
      this.output += text
    })
    this.ended = new Promise((resolve) => this.child.once('close', resolve))
    onTestFinished(() => {
      this.child.kill('SIGKILL')
    })
  }

  /** Keys, as they come from a keyboard: `\r` is Enter, `\x03` Ctrl-C. */
  type(keys: string): void {
    this.child.stdin.write(keys)
  }

  /** Resolves with what was shown since the last time, up to the end of what is awaited, without colours and the like. */
  async shows(text: string | RegExp): Promise<string> {
    for (let waited = 0; ; waited++) {
      const shown = visible(this.output.slice(this.seen))
      const found = typeof text === 'string' ? shown.indexOf(text) : shown.search(text)
      if (found >= 0) {
        this.seen = this.output.length
        return shown
      }
      if (waited * pauseMs > waitMsMax) throw new Error(`It did not show ${text}, but: ${JSON.stringify(shown)}`)
      const isEnded = await Promise.race([this.ended.then(() => true), pause()])
      if (isEnded === true && !visible(this.output.slice(this.seen)).match(text)) {
        throw new Error(`The program ended, and did not show ${text}, but: ${JSON.stringify(shown)}`)
      }
    }
  }

  resize(columns: number, rows: number): void {
    const device = existsSync(this.device) ? readFileSync(this.device, 'utf8').trim() : ''
    const { status, stderr } = spawnSync('stty', ['-F', device, 'cols', String(columns), 'rows', String(rows)])
    if (status !== 0) throw new Error(`stty: ${stderr}`)
  }
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, pauseMs))
}

/** Without control sequences, and with the line breaks of files. */
function visible(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
  return text.replaceAll(/\x1b\[[0-9;?]*[A-Za-z]/g, '').replaceAll('\r\n', '\n')
}
