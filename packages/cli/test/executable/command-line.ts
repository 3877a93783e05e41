/** A server in this process, and the commands of the built program against it. */
import { pino } from 'pino'
import { afterAll, beforeAll } from 'vitest'
import { mergeConfig } from '../../../server/src/config/merge-config.ts'
import { type RunningServer, startServer } from '../../../server/src/start-server.ts'
import { ashlar, type CommandOptions, type Ended, temporaryDirectory } from '../../../server/test/executable/process.ts'
import { runProgram } from '../../src/program/run.ts'

/** What opens stores in a process of its own, or reads standard input. Threads, as that for Parquet, are started of the built program alone. */
const withOwnProcess = new Set(['backup', 'compact', 'copy', 'demo', 'restore', 'serve', 'shell', 'verify'])

/** Commands in this process, one after the other. */
let lastHere: Promise<unknown> = Promise.resolve()

/** As `ashlar`, without a process for each: of the sources, in this process, which takes a tenth of the time. */
export function ashlarHere(words: readonly string[], options: CommandOptions = {}): Promise<Ended> {
  const command = words.find((word) => !word.startsWith('-')) ?? ''
  const isForProcess =
    withOwnProcess.has(command) || words.some((word) => ['-', '--data'].includes(word) || word.endsWith('.parquet'))
  if (isForProcess || options.input !== undefined) return ashlar(words, options)
  const directory = options.directory ?? temporaryDirectory()
  const ended = lastHere.then(() => runHere(words, directory, options.environment ?? {}))
  lastHere = ended.catch(() => undefined)
  return ended
}

async function runHere(
  words: readonly string[],
  directory: string,
  environment: Readonly<Record<string, string>>,
): Promise<Ended> {
  const [environmentBefore, directoryBefore, exitCodeBefore] = [process.env, process.cwd(), process.exitCode]
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('ASHLAR_'))
  process.env = { ...Object.fromEntries(inherited), XDG_CONFIG_HOME: directory, ...environment }
  process.chdir(directory)
  process.exitCode = undefined
  const [stdout, stderr] = [captured(process.stdout), captured(process.stderr)]
  try {
    await runProgram(words)
    return { code: Number(process.exitCode ?? 0), stdout: stdout.text(), stderr: stderr.text() }
  } finally {
    stdout.release()
    stderr.release()
    process.chdir(directoryBefore)
    process.env = environmentBefore
    process.exitCode = exitCodeBefore
  }
}

/** What is written to it until it is released; listeners that come meanwhile go with that. */
function captured(stream: NodeJS.WriteStream): { text(): string; release(): void } {
  const chunks: Uint8Array[] = []
  const { write } = stream
  const listeners = new Set(stream.listeners('error'))
  stream.write = (chunk: string | Uint8Array, ...others: readonly unknown[]) => {
    chunks.push(typeof chunk === 'string' ? Buffer.from(chunk) : chunk)
    const done = others.at(-1)
    if (typeof done === 'function') done()
    return true
  }
  return {
    text: () => Buffer.concat(chunks).toString(),
    release: () => {
      stream.write = write
      for (const listener of stream.listeners('error'))
        if (!listeners.has(listener)) stream.off('error', listener as () => void)
    },
  }
}

export interface Served {
  readonly url: string
  /** A command against it, in this process where that is the same. */
  run(words: readonly string[], options?: CommandOptions): Promise<Ended>
}

/** For all tests of a file: federated databases `default` and `other`, in memory. */
export function served(): Served {
  let server: RunningServer
  beforeAll(async () => {
    const fds = ['default', 'other'].map((alias) => ({ alias, store: 'memory:' }))
    const config = mergeConfig([{ port: 0, federatedDatabases: fds, default: 'default' }])
    server = await startServer(config, pino({ level: 'silent' }))
  })
  afterAll(() => server.stop())
  return {
    get url() {
      return server.url
    },
    run: (words, options = {}) =>
      ashlarHere(words, { ...options, environment: { ASHLAR_URL: server.url, ...options.environment } }),
  }
}
