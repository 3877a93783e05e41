/** `ashlar serve`: the server as a process. */
import cluster from 'node:cluster'
import type { Command } from 'commander'
import { destination, type Logger, pino } from 'pino'
import { type Config, type ConfigSource, mergeConfig } from '../config/config.ts'
import { configFromEnvironment } from '../config/config-environment.ts'
import { readConfigFile } from '../config/config-file.ts'
import { readFdOption, readPort, readWorkers } from '../config/read-value.ts'
import { defaultServerLimits } from '../limits.ts'
import { startServer } from '../start-server.ts'
import { version } from '../version.ts'
import type { ServedStore } from '../workers/messages.ts'
import { Primary } from '../workers/primary.ts'
import { Worker } from '../workers/worker.ts'

/** Bytes of the log that are written at a time. */
const logBytes = 16_000
/** What a pipe takes as a whole: so the lines of several processes do not run into each other. */
const sharedLogBytes = 4_096

interface ServeOptions {
  readonly host?: string
  readonly port?: string
  readonly data?: string
  readonly workers?: string
  readonly fd?: readonly string[]
  readonly default?: string
  readonly config?: string
  readonly allowShutdown?: boolean
  readonly allowRemote?: boolean
  readonly logLevel?: string
  readonly importDir?: string
}

export function addServeCommand(program: Command): void {
  const collect = (value: string, previous: readonly string[] = []): string[] => [...previous, value]
  program
    .command('serve', { isDefault: true })
    .description('Serve federated databases over REST.')
    .option('--host <address>', 'address to listen on (default: 127.0.0.1)')
    .option('--port <number>', 'port to listen on; 0 = any free one (default: 8185)')
    .option('--data <dir>', 'directory below which federated databases are kept (default: ./data)')
    .option(
      '--fd <alias[=store]>',
      'a federated database, repeatable; a store is lmdb:<dir>, postgres://<host>/<database> or memory:',
      collect,
    )
    .option('--workers <number>', 'processes that answer on the port, together (default: 1)')
    .option('--default <alias>', 'the federated database that requests without fdAlias mean')
    .option('--config <file>', 'a configuration file: JSON, or the XML of the original server')
    .option('--import-dir <dir>', 'directory below which IMPORT CSV may read (default: none)')
    .option('--allow-shutdown', 'let POST /shutdown stop the server')
    .option('--allow-remote', 'listen beyond this machine though nobody has to authenticate')
    .option('--log-level <level>', 'silent, fatal, error, warn, info, debug or trace (default: info)')
    .action((options: ServeOptions) => serve(options))
}

async function serve(options: ServeOptions): Promise<void> {
  if (cluster.isWorker) return serveAsWorker()
  const configFile = options.config ?? process.env.ASHLAR_CONFIG
  const file = configFile === undefined ? { source: {}, notes: [] } : readConfigFile(configFile)
  const config = mergeConfig([fromOptions(options), configFromEnvironment(process.env), file.source])
  for (const note of file.notes) process.stderr.write(`${note}\n`)
  return config.workers === 1 ? serveAlone(config) : serveWithWorkers(config)
}

async function serveAlone(config: Config): Promise<void> {
  const log = openLog(config.logLevel, logBytes)
  const server = await startServer(config, log.logger)
  stopOnSignals(server.stop)
  const stores = server.federatedDatabases.map(({ alias, store: { facts } }) => ({ alias, ...facts }))
  // Last, since whoever reads it may send a signal at once.
  process.stdout.write(startLine(server.url, stores))
  await server.stopped
  log.close()
}

async function serveWithWorkers(config: Config): Promise<void> {
  const log = openLog(config.logLevel, sharedLogBytes)
  const primary = new Primary(config, log.logger, { ...defaultServerLimits, ...config.limits }.stopMsMax)
  stopOnSignals(primary.stop)
  const served = await primary.start()
  if (served !== undefined) process.stdout.write(startLine(served.url, served.stores, config.workers))
  const isWell = served !== undefined && (await primary.stopped)
  if (!isWell) process.exitCode = 1
  log.close()
}

async function serveAsWorker(): Promise<void> {
  const worker = new Worker()
  try {
    const config = await worker.configured()
    const log = openLog(config.logLevel, sharedLogBytes, { worker: cluster.worker?.id })
    const server = await startServer(config, log.logger, worker)
    stopOnSignals(server.stop)
    worker.serves(server)
    await server.stopped
    log.close()
  } finally {
    // What it hears of the primary would keep it from ending.
    cluster.worker?.disconnect()
  }
}

function stopOnSignals(stop: () => Promise<void>): void {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void stop())
}

interface Log {
  readonly logger: Logger
  close(): void
}

/** Written in the background, so that a request does not wait for its log line. */
function openLog(level: string, bytes: number, base: object | null = null): Log {
  const log = destination({ fd: process.stderr.fd, sync: false, minLength: bytes - 1, maxWrite: bytes })
  const flushing = setInterval(() => log.flush(), 1_000).unref()
  const close = (): void => {
    clearInterval(flushing)
    log.flushSync()
  }
  return { logger: pino({ level, base }, log), close }
}

function startLine(url: string, stores: readonly ServedStore[], workers = 1): string {
  const fds = stores.map(({ alias, kind, location }) => `${alias} (${kind} ${location})`)
  const by = workers === 1 ? '' : ` · ${workers} workers`
  return `Ashlar ${version} listening on ${url}${by} · FDs: ${fds.join(', ')} · reference: ${url}/docs\n`
}

function fromOptions(options: ServeOptions): ConfigSource {
  const { host, port, data, workers, fd, allowShutdown, allowRemote, logLevel, importDir } = options
  return {
    ...(host === undefined ? {} : { host }),
    ...(port === undefined ? {} : { port: readPort(port, '--port') }),
    ...(data === undefined ? {} : { data }),
    ...(workers === undefined ? {} : { workers: readWorkers(workers, '--workers') }),
    ...(fd === undefined ? {} : { federatedDatabases: fd.map(readFdOption) }),
    ...(options.default === undefined ? {} : { default: options.default }),
    ...(allowShutdown === undefined ? {} : { allowShutdown }),
    ...(allowRemote === undefined ? {} : { allowRemote }),
    ...(logLevel === undefined ? {} : { logLevel }),
    ...(importDir === undefined ? {} : { importDir }),
  }
}
