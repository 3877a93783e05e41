/** The built server as a process of its own, and requests to it as bytes on the wire would be. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { createInterface } from 'node:readline'
import { inject } from 'vitest'
import { afterEachFile } from '../../../../tools/after-file.ts'
import { killAll } from '../process-tree.ts'
import { checkPointers } from './error-pointers.ts'

/** JSON whose shape a test knows and the compiler does not. */
export type Loose = ReturnType<typeof JSON.parse>

export interface Reply {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly bytes: Buffer
  readonly text: string
  readonly json: Loose
}

export interface SendOptions {
  readonly body?: unknown
  /** Sent as it is. */
  readonly raw?: string | Buffer
  readonly headers?: Record<string, string>
}

export class ServerUnderTest {
  readonly url: string
  readonly startLine: string
  readonly child: ChildProcess
  readonly stderr: () => string
  readonly data: string

  constructor(url: string, startLine: string, child: ChildProcess, stderr: () => string, data: string) {
    this.url = url
    this.startLine = startLine
    this.child = child
    this.stderr = stderr
    this.data = data
  }

  send(method: string, path: string, options: SendOptions = {}): Promise<Reply> {
    const payload = options.raw ?? (options.body === undefined ? undefined : JSON.stringify(options.body))
    const headers: Record<string, string> = { ...(payload === undefined ? {} : { 'content-type': 'application/json' }) }
    if (payload !== undefined) headers['content-length'] = String(Buffer.byteLength(payload))
    Object.assign(headers, options.headers)
    for (const [name, value] of Object.entries(headers)) if (value === '') delete headers[name]
    return new Promise((resolve, reject) => {
      const sent = httpRequest(`${this.url}${path}`, { method, headers }, (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('error', reject)
        response.on('end', () => {
          try {
            const reply = toReply(response.statusCode ?? 0, response.headers, Buffer.concat(chunks))
            checkPointers(reply, headers, payload)
            resolve(reply)
          } catch (error) {
            reject(error)
          }
        })
      })
      sent.on('error', reject)
      sent.end(payload)
    })
  }

  /** Of the process that was started. */
  get pid(): number {
    return this.child.pid as number
  }

  get(path: string): Promise<Reply> {
    return this.send('GET', path)
  }

  post(path: string, body: unknown): Promise<Reply> {
    return this.send('POST', path, { body })
  }

  put(path: string, body: unknown): Promise<Reply> {
    return this.send('PUT', path, { body })
  }

  delete(path: string): Promise<Reply> {
    return this.send('DELETE', path)
  }

  /** Ends it; the data stays. SIGKILL ends the process that serves as well, at once. */
  async end(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return this.child.exitCode
    const ended = once(this.child, 'exit')
    if (signal === 'SIGKILL') killAll(this.pid)
    else this.child.kill(signal)
    return ((await ended) as [number | null])[0]
  }

  async remove(): Promise<void> {
    await this.end('SIGKILL')
    rmSync(this.data, { recursive: true, force: true })
  }
}

function toReply(status: number, headers: IncomingHttpHeaders, bytes: Buffer): Reply {
  const text = bytes.toString()
  const isJson = /[/+]json\b/.test(headers['content-type'] ?? '') && headers['content-encoding'] === undefined
  return { status, headers, bytes, text, json: isJson && text !== '' ? JSON.parse(text) : undefined }
}

const children = new Set<ChildProcess>()
const directories = new Set<string>()

/** What a test that failed, or forgot it, leaves behind ends with its file. */
afterEachFile(async () => {
  for (const child of children) {
    if (child.exitCode !== null || child.signalCode !== null) continue
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }
  for (const directory of directories) rmSync(directory, { recursive: true, force: true })
  children.clear()
  directories.clear()
})

/** Removed once all tests of the file have run. */
export function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'ashlar-test-'))
  directories.add(directory)
  return directory
}

export interface StartOptions {
  readonly words?: readonly string[]
  readonly data?: string
  readonly environment?: Record<string, string>
  /** Without a port and a place for the data: where the server is to find both itself; it runs in `data`. */
  readonly isBare?: boolean
}

/** Waits for the line that says where the server listens. */
export async function startServer(options: StartOptions = {}): Promise<ServerUnderTest> {
  const data = options.data ?? temporaryDirectory()
  const isOwn = options.isBare === true || options.environment !== undefined
  const given = isOwn ? (options.words ?? []) : inStoreOfRun(options.words ?? [], data)
  const place = options.isBare === true ? [] : ['--port', '0', '--data', data]
  const words = ['serve', ...place, '--log-level', 'error', ...given]
  const { child, stderr } = spawnServer(words, options.environment, data)
  for await (const line of createInterface({ input: child.stdout as NodeJS.ReadableStream })) {
    const url = /http:\/\/[\w.:[\]]+/.exec(line)?.[0]
    if (url !== undefined) return new ServerUnderTest(url, line, child, stderr, data)
  }
  throw new Error(`the server ended before it listened: ${stderr()}`)
}

/** On PostgreSQL when the run says so: a federated database for each directory that would have held it. */
function inStoreOfRun(words: readonly string[], data: string): string[] {
  if (process.env.ASHLAR_TEST_STORE !== 'postgres') return [...words]
  const isSilent = !words.some((word) => /^--(fd|config)/.test(word))
  const named = isSilent ? [...words, '--fd', 'default'] : [...words]
  return named.map((word, i) => {
    if (named[i - 1] !== '--fd' || word.includes('=')) return word
    const schema = `${basename(data)}_${word}`.toLowerCase().replace(/[^a-z0-9]/g, '_')
    return `${word}=${inject('postgres')}?schema=${schema}&connections=4`
  })
}

function spawnServer(words: readonly string[], environment: Record<string, string> = {}, cwd = tmpdir()) {
  const child = spawn(process.execPath, [inject('server'), ...words], {
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...ownEnvironment(), ...environment },
  })
  children.add(child)
  let text = ''
  child.stderr.on('data', (chunk: Buffer) => {
    text += chunk.toString()
  })
  return { child, stderr: () => text }
}

/** Runs the server where it is expected not to start. */
export async function runToEnd(words: readonly string[], environment: Record<string, string> = {}) {
  const { child, stderr } = spawnServer(words, environment)
  const [code] = (await once(child, 'exit')) as [number | null]
  return { code, stderr: stderr() }
}

/** Without settings of the tests themselves, or of whoever runs them: the server would take them for its own. */
function ownEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('ASHLAR_')))
}
