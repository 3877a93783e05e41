/** The settings of a server, each described once: options, environment, file, defaults, help and docs/configuration.md follow. */
import type { ConfigSource } from './config.ts'
import { readBackups } from './read-backups.ts'
import { readCertificates, readClientCertificates } from './read-certificates.ts'
import { readJwt } from './read-jwt.ts'
import {
  readAuditFailure,
  readBoolean,
  readChangeLogs,
  readDialects,
  readFdOption,
  readFds,
  readHostNames,
  readLimits,
  readOrigins,
  readPort,
  readText,
  readTexts,
  readWorkers,
} from './read-value.ts'
import { readWebhooks } from './read-webhooks.ts'

/** `name`: the setting as whoever gave the value knows it. Throws ConfigError. */
type Read<T> = (value: unknown, name: string) => T

interface SettingOf<K extends keyof ConfigSource> {
  /** As the configuration calls it, and the file where it has it. */
  readonly field: K
  /** As the command line has it. The environment variable follows from it; without one, only the file has the setting. */
  readonly option?: string
  /** The option may be given several times; in the environment, values are separated by commas. `read` is given a list. */
  readonly isRepeatable?: true
  readonly help: string
  /** What `read` is given where no source says anything. */
  readonly default?: unknown
  /** The default in words, where it is none or not told as it is given. */
  readonly otherwise?: string
  readonly read: Read<NonNullable<ConfigSource[K]>>
  /** How the file has it, where that is not as the environment has it; undefined is what the file leaves to the others. */
  readonly readInFile?: Read<ConfigSource[K] | undefined>
  /** What the documents say of the file. */
  readonly inFile?: string
}

export type Setting = { [K in keyof ConfigSource]-?: SettingOf<K> }[keyof ConfigSource]

export const variablePrefix = 'ASHLAR_'

export const logLevels: readonly string[] = ['silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace']

const orNull =
  <T>(read: Read<T>): Read<T | undefined> =>
  (value, name) =>
    value === null ? undefined : read(value, name)

/** The file has no such setting of this name. */
export const nowhere = (): undefined => undefined

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
    help: 'directory below which federated databases are kept',
    default: './data',
    read: readText,
  },
  {
    field: 'federatedDatabases',
    option: '--fd <alias[=store]>',
    isRepeatable: true,
    help: 'a federated database; a store is lmdb:<dir>, postgres://<host>/<database> or memory:',
    default: ['default'],
    read: (value, name) => readTexts(value, name).map(readFdOption),
    readInFile: readFds,
    inFile: 'federatedDatabases: [{alias, store}]',
  },
  {
    field: 'dialects',
    option: '--dialect <alias=dialect>',
    isRepeatable: true,
    help: 'how queries of a federated database are understood and answered: ashlar, or objectivity as by the original',
    otherwise: 'ashlar',
    read: (value, name) => readDialects(readTexts(value, name), name),
    readInFile: nowhere,
    inFile: 'federatedDatabases: [{dialect}]',
  },
  {
    field: 'changeLogs',
    option: '--change-log <alias=on|off|auto>',
    isRepeatable: true,
    help: 'whether what is committed in a federated database is logged, for GET /v1/changes; auto = where its store can',
    otherwise: 'auto',
    read: (value, name) => readChangeLogs(readTexts(value, name), name),
    readInFile: nowhere,
    inFile: 'federatedDatabases: [{changeLog}]',
  },
  {
    field: 'workers',
    option: '--workers <number>',
    help: 'processes that answer on the port, together; 0 = the process that is started answers, and none restarts it',
    default: '1',
    read: readWorkers,
  },
  {
    field: 'default',
    option: '--default <alias>',
    help: 'the federated database that requests without fdAlias mean',
    otherwise: 'the only one',
    read: readText,
  },
  {
    field: 'config',
    option: '--config <file>',
    help: 'a configuration file: JSON, or the XML of the original server',
    otherwise: 'none',
    read: readText,
    readInFile: nowhere,
    inFile: '',
  },
  {
    field: 'importDir',
    option: '--import-dir <dir>',
    help: 'directory below which IMPORT CSV may read',
    otherwise: 'none',
    read: readText,
    readInFile: orNull(readText),
  },
  {
    field: 'backups',
    help: 'where backups are kept, and which are made by themselves: directory, every, incrementalEvery, keep',
    otherwise: 'none',
    read: readBackups,
    readInFile: orNull(readBackups),
    inFile: 'backups: {directory, every, …}',
  },
  {
    field: 'webhooks',
    help: 'receivers to which changes are posted: allowedHosts, allowPrivateAddresses, hooks',
    otherwise: 'none',
    read: readWebhooks,
    readInFile: orNull(readWebhooks),
    inFile: 'webhooks: {allowedHosts, hooks, …}',
  },
  {
    field: 'allowShutdown',
    option: '--allow-shutdown',
    help: 'let POST /shutdown stop the server',
    default: 'false',
    read: readBoolean,
  },
  {
    field: 'auth',
    option: '--auth',
    help: 'callers have to authenticate; at the first start an administrator is created',
    default: 'false',
    read: readBoolean,
  },
  {
    field: 'securityStore',
    option: '--security-store <store>',
    help: 'store of users, tokens and roles; servers that share one name the same',
    otherwise: '.security in the data directory',
    read: readText,
    readInFile: orNull(readText),
  },
  {
    field: 'insecure',
    option: '--insecure',
    help: 'listen beyond this machine though nobody has to authenticate: anyone there may do everything',
    default: 'false',
    read: readBoolean,
  },
  {
    field: 'hosts',
    option: '--host-name <name>',
    isRepeatable: true,
    help: 'a name of this server that browsers may ask it by; * = any',
    otherwise: 'its addresses; beyond this machine any',
    read: readHostNames,
    readInFile: orNull(readHostNames),
    inFile: 'hosts: […]',
  },
  {
    field: 'cors',
    option: '--cors <origin>',
    isRepeatable: true,
    help: 'an origin whose pages may use this server from a browser',
    default: [],
    otherwise: 'none',
    read: readOrigins,
    readInFile: orNull(readOrigins),
    inFile: 'cors: […]',
  },
  {
    field: 'tlsCert',
    option: '--tls-cert <file>',
    help: 'serve by HTTPS with this certificate, a PEM file with those that lead to its root; loaded again when it changes',
    otherwise: 'none: HTTP',
    read: readText,
    readInFile: orNull(readText),
  },
  {
    field: 'tlsKey',
    option: '--tls-key <file>',
    help: 'the key of the certificate, a PEM file without a password',
    otherwise: 'none',
    read: readText,
    readInFile: orNull(readText),
  },
  {
    field: 'tlsClientCa',
    option: '--tls-client-ca <file>',
    help: 'authorities whose certificates clients may show to be known by, a PEM file; loaded again when it changes',
    otherwise: 'none: clients are not asked',
    read: readText,
    readInFile: orNull(readText),
  },
  {
    field: 'tlsClientCerts',
    option: '--tls-client-certs <request|require>',
    help: 'whether clients may show a certificate of these authorities, or cannot connect without one',
    default: 'request',
    read: readClientCertificates,
  },
  {
    field: 'certificates',
    help: 'whose the certificates of clients are: name (CN, email, DNS or URI), users and roles by that name',
    default: {},
    otherwise: 'their CN is the name of a user',
    read: readCertificates,
    inFile: 'certificates: {name, users, roles}',
  },
  {
    field: 'jwt',
    help: 'whose JWTs are taken: issuer, audience, jwks, and what their claims mean',
    otherwise: 'none',
    read: readJwt,
    readInFile: orNull(readJwt),
    inFile: 'jwt: {issuer, audience, jwks, …}',
  },
  {
    field: 'auditLog',
    option: '--audit-log <file>',
    help: 'a file of JSON lines that tells who has changed what, and what was refused',
    otherwise: 'none',
    read: readText,
    readInFile: orNull(readText),
  },
  {
    field: 'auditOnFailure',
    option: '--audit-on-failure <refuse|continue>',
    help: 'whether changes are refused while the audit log cannot be written, or done and counted',
    default: 'refuse',
    read: readAuditFailure,
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
    help: 'bounds of what requests may take, by their names (below); GET /v1/fd shows them',
    default: {},
    otherwise: 'those below',
    read: readLimits,
    inFile: 'limits: {…}',
  },
]

/** Settings that have another name now. */
const renamed: Readonly<Record<string, string>> = {
  '--allow-remote': '--insecure, or --auth for callers to authenticate',
  ASHLAR_ALLOW_REMOTE: 'ASHLAR_INSECURE, or ASHLAR_AUTH for callers to authenticate',
  allowRemote: 'insecure, or auth for callers to authenticate',
}

/** What to say of a setting by a name that it had; undefined for any other. */
export function renamedNote(name: string): string | undefined {
  return Object.hasOwn(renamed, name) ? `${name} is now called ${renamed[name]}.` : undefined
}

/** The options that have another name now. */
export const renamedOptions = Object.keys(renamed).filter((name) => name.startsWith('--'))

/** The name of its option: `--host-name`. */
export function optionName(option: string): string {
  return option.split(' ', 1)[0] ?? ''
}

/** `ASHLAR_HOST_NAME`. */
export function variableOf(option: string): string {
  return `${variablePrefix}${optionName(option).slice(2).replaceAll('-', '_').toUpperCase()}`
}

/** What is said of the default. */
export function defaultText({ default: value, otherwise }: Setting): string {
  return otherwise ?? [value].flat().join(', ')
}

export const defaults: ConfigSource = Object.fromEntries(
  settings
    .filter((setting) => setting.default !== undefined)
    .map((setting) => [setting.field, setting.read(setting.default, `the default of ${setting.field}`)]),
)
