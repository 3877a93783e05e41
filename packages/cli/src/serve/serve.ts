/** `ashlar serve`: runs the server as a process, or several with a supervisor. Only `serve-here.ts` loads the modules for requests. */

import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  acceptsAnyHost,
  type Config,
  ConfigError,
  type ConfigSource,
  defaultServerLimits,
  isLoopback,
  mergeConfig,
  storesOf,
} from '@ashlar/server/shared'
import { lmdbStores, Primary } from '@ashlar/server/workers'
import type { Command } from 'commander'
import { addJsonOption } from '../declaration/client-command.ts'
import { usageError } from '../errors/command-error.ts'
import { addOptions, configFromOptions } from './config-options.ts'
import { openLog, sharedLogBytes } from './log.ts'
import { reloadOnSignal, startLine, stopOnSignals } from './process.ts'
import { readConfig } from './read-config.ts'

export function addServeCommand(program: Command): void {
  const command = program.command('serve', { isDefault: true }).description('Serve federated databases over REST.')
  addJsonOption(addOptions(command)).action((options: Readonly<Record<string, unknown>>) => serve(options))
}

async function serve(options: Readonly<Record<string, unknown>>): Promise<void> {
  const config = await configOf(options)
  const { workers } = config
  const isSupervised = workers > 1 || (workers === 1 && lmdbStores(storesOf(config)).length > 0)
  const isJson = options.json === true
  return isSupervised ? supervise(config, isJson) : (await import('./serve-here.ts')).serveAlone(config, isJson)
}

/**
 * `onServed`: called with the address once the server is ready and the line at the start is written, as JSON with `isJson`; its signal is aborted
 * when the server has stopped. Its failure stops the server, and is thrown.
 */
export async function serveThen(
  source: ConfigSource,
  isJson: boolean,
  onServed: (url: string, signal: AbortSignal) => Promise<void>,
): Promise<void> {
  await supervise(mergeConfig([source]), isJson, onServed)
}

async function configOf(options: Readonly<Record<string, unknown>>): Promise<Config> {
  refuseOptionsOfNpm(process.env)
  const { config, notes } = await readConfig(optionsConfig(options))
  for (const note of notes) process.stderr.write(`${note}\n`)
  if (config.hosts === undefined && acceptsAnyHost(config)) process.stderr.write(`ashlar: ${anyHostNote}\n`)
  if (!config.auth && config.insecure && !isLoopback(config.host)) process.stderr.write(`ashlar: ${insecureNote}\n`)
  if (config.auth && config.tlsCert === undefined && !isLoopback(config.host))
    process.stderr.write(`ashlar: ${readableNote}\n`)
  return config
}

function optionsConfig(options: Readonly<Record<string, unknown>>): ConfigSource {
  try {
    return configFromOptions(options)
  } catch (error) {
    throw error instanceof ConfigError ? usageError(error.message) : error
  }
}

/** `npm start --port 9000`: npm consumes options before `--`, and the server would start without them. */
function refuseOptionsOfNpm(environment: NodeJS.ProcessEnv): void {
  if (environment.npm_lifecycle_event !== 'start') return
  const consumed = ['port', 'data', 'fd', 'auth', 'workers', 'host'].find((name) => environment[`npm_config_${name}`])
  if (consumed === undefined) return
  const message = `npm has taken --${consumed} for itself: write options of the server after --, as in npm start -- --${consumed} …`
  throw usageError(message)
}

const readableNote =
  'Passwords and tokens are sent to this server unencrypted: configure a certificate with --tls-cert and --tls-key, or terminate TLS at a proxy in front of it.'

const insecureNote =
  'WARNING: authentication is off, and the server is reachable from other machines: anybody who can reach it may read, change and delete ' +
  'everything (--insecure). Turn authentication on with --auth.'

const anyHostNote =
  'Requests are accepted for any host name, so a malicious web page could read and change everything through the browser of a user ' +
  '(DNS rebinding): list the names of this server with --host-name, or use * to accept any.'

/** In the directory of this file, also if both are bundled. */
const workerProgram = fileURLToPath(new URL(`./worker${extname(import.meta.url)}`, import.meta.url))

/** Runs the workers. This process opens no store and serves no request, so that a fault of a worker does not end it. */
async function supervise(
  config: Config,
  isJson: boolean,
  onServed?: (url: string, signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const log = openLog(config.logLevel, sharedLogBytes)
  const primary = new Primary(config, log.logger, { ...defaultServerLimits, ...config.limits }, workerProgram)
  const stopped = new AbortController()
  stopOnSignals(async () => {
    // First abort the signal: its user should know why requests are refused.
    stopped.abort()
    await primary.stop()
  })
  reloadOnSignal(config, primary.reload)
  const served = await primary.start()
  if (served !== undefined) process.stdout.write(startLine(served.url, served.stores, config, isJson))
  const ending = primary.stopped.finally(() => stopped.abort())
  try {
    if (served !== undefined) await onServed?.(served.url, stopped.signal)
  } catch (error) {
    if (!stopped.signal.aborted) {
      await primary.stop()
      await ending
      throw error
    }
  } finally {
    process.exitCode = await ending
    log.close()
  }
}
