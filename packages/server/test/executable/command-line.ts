/** A server in this process, and the commands of the built program against it. */
import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { pino } from 'pino'
import { afterAll, beforeAll, inject } from 'vitest'
import { mergeConfig } from '../../src/config/merge-config.ts'
import { type RunningServer, startServer } from '../../src/start-server.ts'
import { temporaryDirectory } from './process.ts'

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

export interface Served {
  readonly url: string
  /** A command against it. */
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
      ashlar(words, { ...options, environment: { ASHLAR_URL: server.url, ...options.environment } }),
  }
}
