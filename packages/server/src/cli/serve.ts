/** `ashlar serve`: the server as a process. */
import type { Command } from 'commander'
import { destination, pino } from 'pino'
import { type ConfigSource, mergeConfig } from '../config/config.ts'
import { configFromEnvironment } from '../config/config-environment.ts'
import { readConfigFile } from '../config/config-file.ts'
import { readFdOption, readPort } from '../config/read-value.ts'
import { type RunningServer, startServer } from '../start-server.ts'
import { version } from '../version.ts'

interface ServeOptions {
  readonly host?: string
  readonly port?: string
  readonly data?: string
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
    .option('--default <alias>', 'the federated database that requests without fdAlias mean')
    .option('--config <file>', 'a configuration file: JSON, or the XML of the original server')
    .option('--import-dir <dir>', 'directory below which IMPORT CSV may read (default: none)')
    .option('--allow-shutdown', 'let POST /shutdown stop the server')
    .option('--allow-remote', 'listen beyond this machine though nobody has to authenticate')
    .option('--log-level <level>', 'silent, fatal, error, warn, info, debug or trace (default: info)')
    .action((options: ServeOptions) => serve(options))
}

async function serve(options: ServeOptions): Promise<void> {
  const configFile = options.config ?? process.env.ASHLAR_CONFIG
  const file = configFile === undefined ? { source: {}, notes: [] } : readConfigFile(configFile)
  const config = mergeConfig([fromOptions(options), configFromEnvironment(process.env), file.source])
  for (const note of file.notes) process.stderr.write(`${note}\n`)
  // Written in the background, so that a request does not wait for its log line.
  const log = destination({ fd: process.stderr.fd, sync: false, minLength: 16_000 })
  const logger = pino({ level: config.logLevel, base: null }, log)
  const server = await startServer(config, logger)
  const flushing = setInterval(() => log.flush(), 1_000).unref()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void server.stop())
  // Last, since whoever reads it may send a signal at once.
  process.stdout.write(`${startLine(server)}\n`)
  await server.stopped
  clearInterval(flushing)
  log.flushSync()
}

function startLine({ url, federatedDatabases }: RunningServer): string {
  const fds = federatedDatabases.map(({ alias, store }) => `${alias} (${store.facts.kind} ${store.facts.location})`)
  return `Ashlar ${version} listening on ${url} · FDs: ${fds.join(', ')} · reference: ${url}/docs`
}

function fromOptions(options: ServeOptions): ConfigSource {
  const { host, port, data, fd, allowShutdown, allowRemote, logLevel, importDir } = options
  return {
    ...(host === undefined ? {} : { host }),
    ...(port === undefined ? {} : { port: readPort(port, '--port') }),
    ...(data === undefined ? {} : { data }),
    ...(fd === undefined ? {} : { federatedDatabases: fd.map(readFdOption) }),
    ...(options.default === undefined ? {} : { default: options.default }),
    ...(allowShutdown === undefined ? {} : { allowShutdown }),
    ...(allowRemote === undefined ? {} : { allowRemote }),
    ...(logLevel === undefined ? {} : { logLevel }),
    ...(importDir === undefined ? {} : { importDir }),
  }
}
