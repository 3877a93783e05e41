/** The program as a process of its own, with its data in a directory of its own. */
import { type ChildProcess, spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { inject, onTestFinished } from 'vitest'

/** As it is packed and as `npm start` runs it. */
export const builtProgram = fileURLToPath(new URL('../../../cli/dist/bin/ashlar.cjs', import.meta.url))

export interface Started {
  readonly child: ChildProcess
  /** Where it listens; rejects where it ends before it does. */
  readonly url: Promise<string>
  /** What it has written to standard output so far. */
  output(): string
  /** What it has written to standard error so far. */
  log(): string
  /** Resolves when it has ended. */
  readonly ended: Promise<{ readonly code: number | null; readonly stdout: string; readonly stderr: string }>
}

export function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'ashlar-executable-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

/** Takes the port and gives it back; false where somebody has it. */
export async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1')
  const isListening = await once(server, 'listening').then(
    () => true,
    () => false,
  )
  if (isListening) await new Promise((resolve) => server.close(resolve))
  return isListening
}

/** A port that nobody has, and that systems give to nobody who asks for any port: it stays free while no server of the test has it. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(10_000, 30_000)
    if (await isFree(port)) return port
  }
}

/** Its own ASHLAR_ variables only. `script`: the program of few files, unless it is to be another. */
export function start(
  words: readonly string[],
  environment: Readonly<Record<string, string>> = {},
  directory = temporaryDirectory(),
  script = inject('server'),
): Started {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('ASHLAR_'))
  const child = spawn(process.execPath, [script, ...words], {
    cwd: directory,
    env: { ...Object.fromEntries(inherited), ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  let stdout = ''
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (piece: string) => {
    stderr += piece
  })
  const ended = once(child, 'close').then(([code]) => ({ code: code as number | null, stdout, stderr }))
  const url = new Promise<string>((resolve, reject) => {
    child.stdout.setEncoding('utf8').on('data', (piece: string) => {
      stdout += piece
      const address = /listening on (\S+)/.exec(stdout)?.[1]
      if (address !== undefined && stdout.endsWith('\n')) resolve(address)
    })
    void ended.then(() => reject(new Error(`ended before it listened: ${stderr}`)))
  })
  url.catch(() => undefined)
  return { child, url, ended, output: () => stdout, log: () => stderr }
}

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface CommandOptions {
  readonly environment?: Readonly<Record<string, string>>
  /** Of standard input; without it there is none. */
  readonly input?: string
  readonly directory?: string
}

/** The built program, with ASHLAR_ variables of `environment` only, and no profile file of this machine. */
export async function ashlar(words: readonly string[], options: CommandOptions = {}): Promise<Ended> {
  const directory = options.directory ?? temporaryDirectory()
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('ASHLAR_'))
  const environment = { ...Object.fromEntries(inherited), XDG_CONFIG_HOME: directory, ...options.environment }
  const child = spawn(process.execPath, [inject('server'), ...words], { cwd: directory, env: environment })
  child.stdin.on('error', () => undefined).end(options.input ?? '')
  const [stdout, stderr, code] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise<number | null>((resolve) => child.once('close', resolve)),
  ])
  return { code, stdout, stderr }
}
