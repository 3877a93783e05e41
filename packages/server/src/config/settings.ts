/** The settings of a server, from which options, environment variables, fields of the file, defaults, help and docs/configuration.md follow. */

import type { ConfigSource } from './config.ts'
import { readCertificates, readJwt } from './read-identity.ts'
import {
  byAlias,
  oneOf,
  readBackups,
  readBoolean,
  readChangeLog,
  readDialect,
  readFdOption,
  readFds,
  readHostNames,
  readIsolation,
  readLimits,
  readOrigins,
  readPort,
  readProxies,
  readText,
  readTexts,
  readWorkers,
} from './read-value.ts'
import { readWebhooks } from './read-webhooks.ts'

/** `name`: the setting, as written by the user. */
type Read<T> = (value: unknown, name: string) => T

interface SettingOf<K extends keyof ConfigSource> {
  readonly field: K
  /** The command line option, from which the environment variable is derived. Without it, only the file has the setting. */
  readonly option?: string
  /** The option may be repeated; in the environment, values are separated by commas. `read` gets a list. */
  readonly isRepeatable?: true
  readonly help: string
  /** The default, an input of `read`. */
  readonly default?: unknown
  /** The description of the default, if there is none or its value is not shown. */
  readonly otherwise?: string
  readonly read: Read<NonNullable<ConfigSource[K]>>
  /** Replaces `read` for the configuration file. */
  readonly readInFile?: Read<NonNullable<ConfigSource[K]>>
  /** The setting is not available in the file. */
  readonly isNotInFile?: true
  /** The form in the file, for the documentation. */
  readonly inFile?: string
}

export type Setting = { [K in keyof ConfigSource]-?: SettingOf<K> }[keyof ConfigSource]

export const variablePrefix = 'ASHLAR_'

export const logLevels: readonly string[] = ['silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace']

export const settings: readonly Setting[] = [
  {
    field: 'host',
    option: '--host <address>',
    help: 'address to listen on',
    default: '127.0.0.1',
    read: readText,
  },
  {
    field: 'port',
    option: '--port <number>',
    help: 'port to listen on; 0 = any free one',
    default: '8185',
    read: readPort,
  },
  {
    field: 'data',
    option: '--data <dir>',
    help: 'directory in which federated databases are stored',
    default: './data',
    read: readText,
  },
  {
    field: 'federatedDatabases',
    option: '--fd <alias[=store]>',
    isRepeatable: true,
    help: 'a federated database to serve; a store is lmdb:<dir>, postgres://<host>/<database>, citus://<coordinator>/<database> or memory:',
    default: ['default'],
    read: (value, name) => readTexts(value, name).map(readFdOption),
    readInFile: readFds,
    inFile: 'federatedDatabases: [{alias, store}]',
  },
  {
    field: 'dialects',
    option: '--dialect <alias=dialect>',
    isRepeatable: true,
    help: 'query dialect of a federated database: ashlar, or objectivity for that of the original',
    otherwise: 'ashlar',
    read: byAlias(readDialect),
    isNotInFile: true,
    inFile: 'federatedDatabases: [{dialect}]',
  },
  {
    field: 'isolations',
    option: '--isolation <alias=level>',
    isRepeatable: true,
    help: 'isolation of transactions and of queries that change something: serializable, or snapshot',
    otherwise: 'serializable',
    read: byAlias(readIsolation),
    isNotInFile: true,
    inFile: 'federatedDatabases: [{isolation}]',
  },
  {
    field: 'changeLogs',
    option: '--change-log <alias=on|off|auto>',
    isRepeatable: true,
    help: 'change log (change data capture) of a federated database, for GET /v1/changes; auto = on if its store supports it',
    otherwise: 'auto',
    read: byAlias(readChangeLog),
    isNotInFile: true,
    inFile: 'federatedDatabases: [{changeLog}]',
  },
  {
    field: 'workers',
    option: '--workers <number>',
    help: 'worker processes that share the port; 0 = serve in the main process, without a supervisor that restarts it',
    default: '1',
    read: readWorkers,
  },
  {
    field: 'default',
    option: '--default <alias>',
    help: 'the federated database for requests without fdAlias',
    otherwise: 'the only one',
    read: readText,
  },
  {
    field: 'config',
    option: '--config <file>',
    help: 'a configuration file: JSON, or the XML of the original server',
    read: readText,
    isNotInFile: true,
    inFile: '',
  },
  {
    field: 'importDir',
    option: '--import-dir <dir>',
    help: 'directory from which IMPORT CSV may read files',
    read: readText,
  },
  {
    field: 'temporaryDir',
    option: '--temporary-dir <dir>',
    help: 'directory of temporary files, for statements that sort, group or join more than memory may hold',
    otherwise: '.temporary in the data directory',
    read: readText,
  },
  {
    field: 'backups',
    help: 'backup directory, and schedule of automatic backups: directory, every, incrementalEvery, keep',
    read: readBackups,
    inFile: 'backups: {directory, every, …}',
  },
  {
    field: 'webhooks',
    help: 'webhooks that changes are posted to: allowedHosts, allowPrivateAddresses, hooks',
    read: readWebhooks,
    inFile: 'webhooks: {allowedHosts, hooks, …}',
  },
  {
    field: 'allowShutdown',
    option: '--allow-shutdown',
    help: 'allow POST /shutdown to stop the server',
    default: 'false',
    read: readBoolean,
  },
  {
    field: 'auth',
    option: '--auth',
    help: 'require authentication; the first start creates an administrator',
    default: 'false',
    read: readBoolean,
  },
  {
    field: 'securityStore',
    option: '--security-store <store>',
    help: 'store of users, tokens and roles; servers that share them name the same store',
    otherwise: '.security in the data directory',
    read: readText,
  },
  {
    field: 'insecure',
    option: '--insecure',
    help: 'allow listening on other than loopback addresses without authentication: anyone who reaches the server may do everything',
    default: 'false',
    read: readBoolean,
  },
  {
    field: 'hosts',
    option: '--host-name <name>',
    isRepeatable: true,
    help: 'a host name under which browsers may address this server; * = any',
    otherwise: 'its addresses; any, if it listens beyond loopback',
    read: readHostNames,
    inFile: 'hosts: […]',
  },
  {
    field: 'trustedProxies',
    option: '--trusted-proxy <address>',
    isRepeatable: true,
    help: 'a proxy that is trusted to name the addresses of clients: an address, a network (10.0.0.0/8), loopback, linklocal or uniquelocal; with --proxy-header',
    default: [],
    read: readProxies,
    inFile: 'trustedProxies: […]',
  },
  {
    field: 'proxyHeader',
    option: '--proxy-header <name>',
    help: 'how trusted proxies name the client: x-forwarded-for, forwarded (RFC 7239) or proxy-protocol (of TCP, versions 1 and 2)',
    read: oneOf('x-forwarded-for', 'forwarded', 'proxy-protocol'),
  },
  {
    field: 'cors',
    option: '--cors <origin>',
    isRepeatable: true,
    help: 'an origin whose web pages may use this server (CORS)',
    default: [],
    read: readOrigins,
    inFile: 'cors: […]',
  },
  {
    field: 'tlsCert',
    option: '--tls-cert <file>',
    help: 'serve HTTPS with this certificate, a PEM file with its full chain; reloaded when it changes',
    otherwise: 'none: HTTP',
    read: readText,
  },
  {
    field: 'tlsKey',
    option: '--tls-key <file>',
    help: 'private key of the certificate, a PEM file without a passphrase',
    read: readText,
  },
  {
    field: 'tlsClientCa',
    option: '--tls-client-ca <file>',
    help: 'certificate authorities for client certificates (mutual TLS), a PEM file; reloaded when it changes',
    otherwise: 'none: no client certificates are requested',
    read: readText,
  },
  {
    field: 'tlsClientCerts',
    option: '--tls-client-certs <request|require>',
    help: 'whether a client certificate of these authorities is optional (request) or required (require)',
    default: 'request',
    read: oneOf('request', 'require'),
  },
  {
    field: 'certificates',
    help: 'how client certificates map to callers: name (CN, email, DNS or URI), users and roles by that name',
    default: {},
    otherwise: 'the CN is a user name',
    read: readCertificates,
    inFile: 'certificates: {name, users, roles}',
  },
  {
    field: 'jwt',
    help: 'JWTs to accept: issuer, audience, jwks, and how claims map to names and roles',
    read: readJwt,
    inFile: 'jwt: {issuer, audience, jwks, …}',
  },
  {
    field: 'auditLog',
    option: '--audit-log <file>',
    help: 'audit log: a file of JSON lines that records who changed what, and what was refused',
    read: readText,
  },
  {
    field: 'auditOnFailure',
    option: '--audit-on-failure <refuse|continue>',
    help: 'while the audit log cannot be written: refuse changes, or continue and count them',
    default: 'refuse',
    read: oneOf('refuse', 'continue'),
  },
  {
    field: 'logLevel',
    option: '--log-level <level>',
    help: `${logLevels.slice(0, -1).join(', ')} or ${logLevels.at(-1)}`,
    default: 'info',
    read: readText,
  },
  {
    field: 'limits',
    help: 'resource limits, by name (below); GET /v1/fd shows them',
    default: {},
    otherwise: 'those below',
    read: readLimits,
    inFile: 'limits: {…}',
  },
]

const renamed: Readonly<Record<string, string>> = {
  '--allow-remote': '--insecure, or --auth for callers to authenticate',
  ASHLAR_ALLOW_REMOTE: 'ASHLAR_INSECURE, or ASHLAR_AUTH for callers to authenticate',
  allowRemote: 'insecure, or auth for callers to authenticate',
}

/** Returns a note about a setting that was renamed; undefined for any other name. */
export function renamedNote(name: string): string | undefined {
  return Object.hasOwn(renamed, name) ? `${name} is now called ${renamed[name]}.` : undefined
}

export const renamedOptions = Object.keys(renamed).filter((name) => name.startsWith('--'))

/** Returns the name of an option without its operand, such as `--host-name`. */
export function optionName(option: string): string {
  return option.split(' ', 1)[0] ?? ''
}

/** Returns the name of a variable, such as `ASHLAR_HOST_NAME`. */
export function variableOf(option: string): string {
  return `${variablePrefix}${optionName(option).slice(2).replaceAll('-', '_').toUpperCase()}`
}

export function defaultText({ default: value = [], otherwise }: Setting): string {
  return otherwise ?? ([value].flat().join(', ') || 'none')
}

/** Whether null in the file means no value. */
export function mayBeNull({ default: value, isRepeatable, readInFile }: Setting): boolean {
  return readInFile === undefined && (value === undefined || isRepeatable === true)
}

export const defaults: ConfigSource = Object.fromEntries(
  settings
    .filter((setting) => setting.default !== undefined)
    .map((setting) => [setting.field, setting.read(setting.default, `the default of ${setting.field}`)]),
)
