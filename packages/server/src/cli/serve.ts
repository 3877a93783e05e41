/** `ashlar serve`: the server as a process, beside one that watches over it. What a request needs is loaded by `serve-here.ts` alone. */
import cluster from 'node:cluster'
import type { Command } from 'commander'
import { takesAnyHost } from '../browsers/host-names.ts'
import { type Config, type ConfigSource, mergeConfig } from '../config/config.ts'
import { configFromEnvironment } from '../config/config-environment.ts'
import { readDialects, readFdOption, readHostNames, readOrigins, readPort, readWorkers } from '../config/read-value.ts'
import { defaultServerLimits } from '../limits.ts'
import { lmdbStores } from '../workers/crash.ts'
import { Primary } from '../workers/primary.ts'
import { openLog, sharedLogBytes } from './log.ts'
import { startLine, stopOnSignals } from './process.ts'

interface ServeOptions {
  readonly host?: string
  readonly port?: string
  readonly data?: string
  readonly workers?: string
  readonly fd?: readonly string[]
  readonly dialect?: readonly string[]
  readonly default?: string
  readonly config?: string
  readonly allowShutdown?: boolean
  readonly allowRemote?: boolean
  readonly hostName?: readonly string[]
  readonly cors?: readonly string[]
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
    .option(
      '--dialect <alias=dialect>',
      'how queries of a federated database are understood and answered, repeatable: ashlar, or objectivity as by the original (default: ashlar)',
      collect,
    )
    .option('--workers <number>', 'processes that answer on the port, together (default: 1)')
    .option('--default <alias>', 'the federated database that requests without fdAlias mean')
    .option('--config <file>', 'a configuration file: JSON, or the XML of the original server')
    .option('--import-dir <dir>', 'directory below which IMPORT CSV may read (default: none)')
    .option('--allow-shutdown', 'let POST /shutdown stop the server')
    .option('--allow-remote', 'listen beyond this machine though nobody has to authenticate')
    .option('--host-name <name>', 'a name of this server that browsers may ask it by, repeatable; * = any', collect)
    .option('--cors <origin>', 'an origin whose pages may use this server from a browser, repeatable', collect)
    .option('--log-level <level>', 'silent, fatal, error, warn, info, debug or trace (default: info)')
    .action((options: ServeOptions) => serve(options))
}

async function serve(options: ServeOptions): Promise<void> {
  if (cluster.isWorker) return (await import('./serve-here.ts')).serveAsWorker()
  const config = await configOf(options)
  const isSupervised = config.workers > 1 || lmdbStores(config.federatedDatabases.map(({ store }) => store)).length > 0
  return isSupervised ? supervise(config) : (await import('./serve-here.ts')).serveAlone(config)
}

async function configOf(options: ServeOptions): Promise<Config> {
  const configFile = options.config ?? process.env.ASHLAR_CONFIG
  const file =
    configFile === undefined ? undefined : (await import('../config/config-file.ts')).readConfigFile(configFile)
  for (const note of file?.notes ?? []) process.stderr.write(`${note}\n`)
  const config = mergeConfig([fromOptions(options), configFromEnvironment(process.env), file?.source ?? {}])
  if (config.hosts === undefined && takesAnyHost(config)) process.stderr.write(`ashlar: ${anyHostNote}\n`)
  return config
}

const anyHostNote =
  'Requests are taken whatever name of this server they ask for, also one that a web page points here to read and change everything ' +
  "through somebody's browser (DNS rebinding): give its names by --host-name, or * if any is meant."

/** This process opens no store and answers no request: what ends those that do, by whatever fault, does not end it. */
async function supervise(config: Config): Promise<void> {
  const log = openLog(config.logLevel, sharedLogBytes)
  const primary = new Primary(config, log.logger, { ...defaultServerLimits, ...config.limits })
  stopOnSignals(primary.stop)
  const served = await primary.start()
  if (served !== undefined) process.stdout.write(startLine(served.url, served.stores, config.workers))
  process.exitCode = await primary.stopped
  log.close()
}

function fromOptions(options: ServeOptions): ConfigSource {
  const { host, port, data, workers, fd, allowShutdown, allowRemote, hostName, cors, logLevel, importDir } = options
  return {
    ...(host === undefined ? {} : { host }),
    ...(port === undefined ? {} : { port: readPort(port, '--port') }),
    ...(data === undefined ? {} : { data }),
    ...(workers === undefined ? {} : { workers: readWorkers(workers, '--workers') }),
    ...(fd === undefined ? {} : { federatedDatabases: fd.map(readFdOption) }),
    ...(options.dialect === undefined ? {} : { dialects: readDialects(options.dialect, '--dialect') }),
    ...(options.default === undefined ? {} : { default: options.default }),
    ...(allowShutdown === undefined ? {} : { allowShutdown }),
    ...(allowRemote === undefined ? {} : { allowRemote }),
    ...(hostName === undefined ? {} : { hosts: readHostNames(hostName, '--host-name') }),
    ...(cors === undefined ? {} : { cors: readOrigins(cors, '--cors') }),
    ...(logLevel === undefined ? {} : { logLevel }),
    ...(importDir === undefined ? {} : { importDir }),
  }
}
