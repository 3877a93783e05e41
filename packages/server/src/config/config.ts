/** The configuration of a server: options before environment before file before defaults (contract 8). */
import { statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Dialect } from '@ashlar/engine'
import { isLoopback } from '../browsers/host-names.ts'
import type { Limits } from '../limits.ts'

export interface FederatedDatabaseConfig {
  readonly alias: string
  /** `lmdb:<directory>`, `postgres://…` or `memory:`. May hold a password: never to be printed. */
  readonly store: string
  /** As the configuration of the original names it. */
  readonly bootFile?: string | undefined
  /** Of queries that ask for none. */
  readonly dialect?: Dialect
}

export interface Config {
  readonly host: string
  readonly port: number
  readonly data: string
  /** Processes that answer on the port, together. */
  readonly workers: number
  /** Alias of the federated database that a request without fdAlias means. */
  readonly default: string | undefined
  readonly federatedDatabases: readonly FederatedDatabaseConfig[]
  readonly limits: Partial<Limits>
  readonly allowShutdown: boolean
  /** Whether listening beyond this machine is meant, though nobody has to authenticate. */
  readonly allowRemote: boolean
  /** Names of the server, in lower case, or `*`, that requests may have in `Host` beside its addresses. Undefined: not said. */
  readonly hosts: readonly string[] | undefined
  /** Origins whose pages may use the server from a browser, in lower case. */
  readonly cors: readonly string[]
  readonly logLevel: string
  /** The directory below which queries may read files, absolute; without one they read none. */
  readonly importDir: string | undefined
}

type GivenFederatedDatabase = Omit<FederatedDatabaseConfig, 'store'> & { readonly store?: string }

/** What one source says; an `alias` without a store is kept below the data directory. */
export interface ConfigSource {
  readonly host?: string
  readonly port?: number
  readonly data?: string
  readonly workers?: number
  readonly default?: string
  readonly federatedDatabases?: readonly GivenFederatedDatabase[]
  /** By alias; they come before what another source says of the federated database. */
  readonly dialects?: Readonly<Record<string, Dialect>>
  readonly limits?: Partial<Limits>
  readonly allowShutdown?: boolean
  readonly allowRemote?: boolean
  readonly hosts?: readonly string[]
  readonly cors?: readonly string[]
  readonly logLevel?: string
  readonly importDir?: string
}

/** What a configuration file says. */
export interface ConfigFile {
  readonly source: ConfigSource
  /** What of the file was left aside, for whoever starts the server to read. */
  readonly notes: readonly string[]
}

const logLevels = ['silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace'] as const
const workersMax = 256
const aliasForm = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/

/** A mistake of whoever configures; told in one sentence, without a stack. */
export class ConfigError extends Error {}

/** The first source that says something wins. Throws ConfigError. */
export function mergeConfig(sources: readonly ConfigSource[]): Config {
  const merged: ConfigSource = Object.assign({}, ...[...sources].reverse())
  const data = merged.data ?? './data'
  const given = merged.federatedDatabases ?? [{ alias: 'default' }]
  const dialects: Readonly<Record<string, Dialect>> = Object.assign({}, ...sources.map((one) => one.dialects).reverse())
  const federatedDatabases = given.map((fd) => {
    const dialect = Object.hasOwn(dialects, fd.alias) ? dialects[fd.alias] : fd.dialect
    const store = fd.store ?? `lmdb:${join(data, fd.alias)}`
    return { ...fd, store, ...(dialect === undefined ? {} : { dialect }) }
  })
  for (const alias of Object.keys(dialects)) {
    if (given.some((fd) => fd.alias === alias)) continue
    throw new ConfigError(`A dialect is given for the federated database ${alias}, which is not configured.`)
  }
  const config: Config = {
    host: merged.host ?? '127.0.0.1',
    port: merged.port ?? 8185,
    data,
    workers: merged.workers ?? 1,
    default: merged.default,
    federatedDatabases,
    limits: merged.limits ?? {},
    allowShutdown: merged.allowShutdown ?? false,
    allowRemote: merged.allowRemote ?? false,
    hosts: merged.hosts,
    cors: merged.cors ?? [],
    logLevel: merged.logLevel ?? 'info',
    importDir: merged.importDir === undefined ? undefined : resolve(merged.importDir),
  }
  check(config)
  return config
}

function check(config: Config): void {
  const { port, host, federatedDatabases, logLevel } = config
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw new ConfigError(`'${port}' is not a port (0 to 65535).`)
  if (federatedDatabases.length === 0) throw new ConfigError('At least one federated database is needed.')
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
  checkDistinctStores(federatedDatabases)
  checkImportDir(config.importDir)
  if (config.default !== undefined && !aliases.has(config.default)) {
    throw new ConfigError(`The default federated database ${config.default} is not among ${[...aliases].join(', ')}.`)
  }
  if (!logLevels.includes(logLevel as (typeof logLevels)[number])) {
    throw new ConfigError(`'${logLevel}' is not a log level: ${logLevels.join(', ')}.`)
  }
  if (!config.allowRemote && !isLoopback(host)) {
    throw new ConfigError(
      `Listening on ${host} lets others on the network read and change everything, since there is no authentication; if that is meant, say --allow-remote.`,
    )
  }
}

function checkWorkers({ workers, federatedDatabases }: Config): void {
  if (!Number.isInteger(workers) || workers < 1 || workers > workersMax)
    throw new ConfigError(`'${workers}' is not a number of workers (1 to ${workersMax}).`)
  const inMemory = federatedDatabases.find(({ store }) => store === 'memory:')
  if (workers === 1 || inMemory === undefined) return
  throw new ConfigError(
    `The federated database ${inMemory.alias} is kept in memory, which ${workers} workers cannot share.`,
  )
}

function checkImportDir(importDir: string | undefined): void {
  if (importDir === undefined || isDirectory(importDir)) return
  throw new ConfigError(`The import directory ${importDir} is no directory that exists.`)
}

function isDirectory(path: string): boolean {
  try {
    return statSync(path).isDirectory()
  } catch {
    return false
  }
}

/** Two aliases for one place would not be two federated databases. */
function checkDistinctStores(federatedDatabases: readonly FederatedDatabaseConfig[]): void {
  const aliasByPlace = new Map<string, string>()
  for (const { alias, store } of federatedDatabases) {
    if (!store.startsWith('lmdb:')) continue
    const place = resolve(store.slice('lmdb:'.length))
    const other = aliasByPlace.get(place)
    if (other !== undefined)
      throw new ConfigError(`The federated databases ${other} and ${alias} have one store, ${store}.`)
    aliasByPlace.set(place, alias)
  }
}
