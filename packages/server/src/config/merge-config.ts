/** Merges the configuration of a server from its sources: options before environment before file before defaults (contract 8.1.1). */
import { statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { addressOfDirectory, storeDirectory } from '@ashlar/engine/store-address'
import { isLoopback } from '../browsers/host-names.ts'
import { type Config, ConfigError, type ConfigSource, type FederatedDatabaseConfig } from './config.ts'
import { defaults, logLevels } from './settings.ts'

const workersMax = 256
const aliasForm = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/

/** Settings by alias, with their names in messages. */
const namesByAlias = { dialects: 'A dialect', changeLogs: 'changeLog', isolations: 'An isolation level' } as const

type ByAlias = keyof typeof namesByAlias

type Merged = Omit<Config, 'federatedDatabases' | 'securityStore' | 'temporaryDir'> &
  Pick<ConfigSource, 'config' | ByAlias | 'securityStore' | 'temporaryDir'> &
  Pick<Required<ConfigSource>, 'federatedDatabases'>

/** Takes each setting from the first source that has it. */
export function mergeConfig(sources: readonly ConfigSource[]): Config {
  const merged: Merged = Object.assign({}, defaults, ...[...sources].reverse())
  const { data, federatedDatabases: configured, importDir } = merged
  const dialects = settingsByAlias(sources, 'dialects', configured)
  const changeLogs = settingsByAlias(sources, 'changeLogs', configured)
  const isolations = settingsByAlias(sources, 'isolations', configured)
  const federatedDatabases = configured.map((fd) => ({
    ...fd,
    store: fd.store ?? addressOfDirectory(join(data, fd.alias)),
    ...only('dialect', dialects, fd.alias),
    ...only('changeLog', changeLogs, fd.alias),
    ...only('isolation', isolations, fd.alias),
  }))
  const { config: _file, dialects: _dialects, changeLogs: _changeLogs, isolations: _isolations, ...settings } = merged
  const absolute = importDir === undefined ? undefined : resolve(importDir)
  const securityStore = merged.securityStore ?? addressOfDirectory(join(data, '.security'))
  const temporaryDir = resolve(merged.temporaryDir ?? join(data, '.temporary'))
  const config: Config = { ...settings, securityStore, federatedDatabases, importDir: absolute, temporaryDir }
  check(config)
  return config
}

/** Returns the settings by alias. Throws ConfigError for an alias that is not configured. */
function settingsByAlias<F extends ByAlias>(
  sources: readonly ConfigSource[],
  field: F,
  configured: Merged['federatedDatabases'],
): NonNullable<ConfigSource[F]> {
  const all: NonNullable<ConfigSource[F]> = Object.assign({}, ...sources.map((one) => one[field]).reverse())
  for (const alias of Object.keys(all)) {
    if (configured.some((fd) => fd.alias === alias)) continue
    throw new ConfigError(
      `${namesByAlias[field]} is given for the federated database ${alias}, which is not configured.`,
    )
  }
  return all
}

function only<K extends string, T>(name: K, all: Readonly<Record<string, T>>, alias: string): { [key in K]?: T } {
  return (Object.hasOwn(all, alias) ? { [name]: all[alias] } : {}) as { [key in K]?: T }
}

function check(config: Config): void {
  const { port, host, federatedDatabases, logLevel } = config
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw new ConfigError(`'${port}' is not a port (0 to 65535).`)
  if (federatedDatabases.length === 0) throw new ConfigError('At least one federated database must be configured.')
  checkWorkers(config)
  const aliases = new Set<string>()
  for (const { alias } of federatedDatabases) {
    if (!aliasForm.test(alias)) {
      throw new ConfigError(
        `'${alias}' is not an alias: letters, digits, _ and -, beginning with a letter or digit, at most 64.`,
      )
    }
    if (aliases.has(alias)) throw new ConfigError(`The federated database ${alias} is configured twice.`)
    aliases.add(alias)
  }
  checkDistinctStores([...federatedDatabases, { alias: securityAlias, store: config.securityStore }])
  checkImportDir(config.importDir)
  checkTls(config)
  checkProxies(config)
  if (config.jwt !== undefined && !config.auth) {
    throw new ConfigError('jwt requires authentication: add --auth, or remove jwt.')
  }
  if (config.default !== undefined && !aliases.has(config.default)) {
    throw new ConfigError(`The default federated database ${config.default} is not among ${[...aliases].join(', ')}.`)
  }
  if (!logLevels.includes(logLevel)) {
    throw new ConfigError(`'${logLevel}' is not a log level: ${logLevels.join(', ')}.`)
  }
  if (!config.auth && !config.insecure && !isLoopback(host)) {
    throw new ConfigError(
      `Listening on ${host} would let others on the network read and change everything, since authentication is off: enable it with --auth, or allow this with --insecure.`,
    )
  }
}

/** The name of the security database in messages, which is not a valid alias. */
const securityAlias = '(users, tokens and roles)'

function checkWorkers({ workers, federatedDatabases, auth, securityStore }: Config): void {
  if (!Number.isInteger(workers) || workers < 0 || workers > workersMax)
    throw new ConfigError(`'${workers}' is not a number of workers (0 to ${workersMax}).`)
  const inMemory = federatedDatabases.find(({ store }) => store === 'memory:')
  if (workers > 1 && auth && securityStore === 'memory:') {
    throw new ConfigError(`Users and tokens are kept in memory, which ${workers} workers cannot share.`)
  }
  if (workers <= 1 || inMemory === undefined) return
  throw new ConfigError(
    `The federated database ${inMemory.alias} is kept in memory, which ${workers} workers cannot share.`,
  )
}

function checkImportDir(importDir: string | undefined): void {
  if (importDir === undefined || isDirectory(importDir)) return
  throw new ConfigError(`The import directory ${importDir} is not an existing directory.`)
}

function checkTls({ tlsCert, tlsKey, tlsClientCa, tlsClientCerts, auth }: Config): void {
  if ((tlsCert === undefined) !== (tlsKey === undefined)) {
    const missing = tlsCert === undefined ? '--tls-cert' : '--tls-key'
    throw new ConfigError(`TLS requires a certificate and its key; ${missing} is not specified.`)
  }
  if (tlsClientCa === undefined) {
    if (tlsClientCerts === 'request') return
    throw new ConfigError('--tls-client-certs requires --tls-client-ca, which is not specified.')
  }
  if (tlsCert === undefined) throw new ConfigError('Client certificates require TLS: --tls-cert is not specified.')
  if (auth || tlsClientCerts === 'require') return
  throw new ConfigError('Client certificates require authentication: add --auth, or --tls-client-certs require.')
}

/** Without a configured header, the server might trust one that the client has forged. */
function checkProxies({ trustedProxies, proxyHeader }: Config): void {
  if (trustedProxies.length > 0 === (proxyHeader !== undefined)) return
  const missing = proxyHeader === undefined ? '--proxy-header' : '--trusted-proxy'
  throw new ConfigError(
    `--trusted-proxy and --proxy-header must be specified together, to find the addresses of clients; ${missing} is missing.`,
  )
}

function isDirectory(path: string): boolean {
  try {
    return statSync(path).isDirectory()
  } catch {
    return false
  }
}

/** Two aliases for one store would not be two federated databases. */
function checkDistinctStores(federatedDatabases: readonly FederatedDatabaseConfig[]): void {
  const aliasByPlace = new Map<string, string>()
  for (const { alias, store } of federatedDatabases) {
    const directory = storeDirectory(store)
    if (directory === undefined) continue
    const place = resolve(directory)
    const other = aliasByPlace.get(place)
    if (other !== undefined)
      throw new ConfigError(`The federated databases ${other} and ${alias} have one store, ${store}.`)
    aliasByPlace.set(place, alias)
  }
}
