/** Addresses of stores on PostgreSQL: `postgres://…`, with parameters of Ashlar and of the protocol. */
import { PlaceRefused } from '../place-refused.ts'

const defaults = {
  schema: 'ashlar',
  connections: 20,
  statementMs: 30_000,
  patienceMs: 10_000,
  lockingMs: 10_000,
  reads: 'plain',
  distribute: 'no',
}
const connectionsMax = 1_000
const portMax = 65_535
const portDefault = '5432'

/** Connection parameters as in libpq, and their environment variables. */
const protocolVariables = {
  sslmode: 'PGSSLMODE',
  sslrootcert: 'PGSSLROOTCERT',
  sslcert: 'PGSSLCERT',
  sslkey: 'PGSSLKEY',
  target_session_attrs: 'PGTARGETSESSIONATTRS',
  application_name: 'PGAPPNAME',
} as const
type ProtocolParameter = keyof typeof protocolVariables

const sslModes = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full'] as const
export type SslMode = (typeof sslModes)[number]
const schemaName = /^[a-z_][a-z0-9_]{0,62}$/

export interface ServerAddress {
  /** A name, an IP address, or the directory of a socket, which begins with a slash. */
  readonly host: string
  readonly port: number
}

export interface PostgresAddress {
  /** In the order of connection attempts; several if the database can fail over between servers. */
  readonly servers: readonly ServerAddress[]
  readonly user: string | undefined
  readonly password: string | undefined
  readonly database: string | undefined
  readonly applicationName: string | undefined
  readonly ssl: {
    readonly mode: SslMode
    /** Files; the root certificate may also be `system`. */
    readonly rootCertificate: string | undefined
    readonly certificate: string | undefined
    readonly key: string | undefined
  }
  /** The location of the store, without user and password. */
  readonly location: string
  readonly schema: string
  /** Connections for reads; half as many, but at least two, are for commits. */
  readonly connections: number
  readonly statementMs: number
  /** On a distributed table: whether reads block commits, to see all placements at one point in time. */
  readonly areReadsLocking: boolean
  /** Time limit of a read that blocks commits. */
  readonly lockingMs: number
  readonly isDistributed: boolean
  /** How long to wait for an unreachable database or a free connection. */
  readonly patienceMs: number
}

/**
 * Parses `postgres://user:password@host:port,host:port/database?schema=ashlar&connections=20`; defaults come from
 * PGHOST, PGUSER, PGPASSWORD and the like. Throws an `Error` that never quotes a password.
 */
export function parsePostgresAddress(address: string): PostgresAddress {
  const parts = partsOf(address)
  const { location } = parts
  const settings = { ...defaults }
  const protocolParameters = new Map<ProtocolParameter, string>()
  for (const [name, value] of parts.parameters) {
    if (name in protocolVariables) protocolParameters.set(name as ProtocolParameter, value)
    else if (name === 'schema') settings.schema = checkedSchema(value, location)
    else if (name === 'connections') settings.connections = wholeNumber(name, value, 1, connectionsMax, location)
    else if (name === 'statementMs') settings.statementMs = wholeNumber(name, value, 0, 86_400_000, location)
    else if (name === 'reads') settings.reads = oneOf(name, value, ['plain', 'locking'], location)
    else if (name === 'lockingMs') settings.lockingMs = wholeNumber(name, value, 1, 86_400_000, location)
    else if (name === 'distribute') settings.distribute = oneOf(name, value, ['no', 'citus'], location)
    else if (name === 'patienceMs') settings.patienceMs = wholeNumber(name, value, 0, 86_400_000, location)
    else
      throw new PlaceRefused(
        'wrongPlace',
        `The store address ${location} has an unknown parameter '${name}'; use ${supportedParameters()}.`,
      )
  }
  const protocol = (name: ProtocolParameter): string | undefined => {
    return protocolParameters.get(name) ?? nonEmpty(process.env[protocolVariables[name]])
  }
  checkTarget(protocol('target_session_attrs'), location)
  const { reads, distribute, ...numbers } = settings
  return {
    ...numbers,
    servers: parts.servers,
    user: parts.user,
    password: parts.password,
    database: parts.database,
    applicationName: protocol('application_name'),
    ssl: {
      mode: oneOf('sslmode', protocol('sslmode') ?? 'prefer', sslModes, location) as SslMode,
      rootCertificate: protocol('sslrootcert'),
      certificate: protocol('sslcert'),
      key: protocol('sslkey'),
    },
    areReadsLocking: reads === 'locking',
    isDistributed: distribute === 'citus',
    location: settings.schema === defaults.schema ? location : `${location}?schema=${settings.schema}`,
  }
}

/** A printable address, without user, password and other possible secrets. */
export function withoutCredentials(address: string): string {
  if (!/^postgres(ql)?:/.test(address)) return address
  try {
    return partsOf(address).location
  } catch {
    return 'postgres:…'
  }
}

interface AddressParts {
  readonly servers: readonly ServerAddress[]
  readonly user: string | undefined
  readonly password: string | undefined
  readonly database: string | undefined
  readonly location: string
  readonly parameters: URLSearchParams
}

/** `URL` refuses several hosts, so the address is parsed here. */
function partsOf(address: string): AddressParts {
  const match = /^postgres(?:ql)?:\/\/(?:([^@/?#]*)@)?([^@/?#]*)(?:\/([^/?#]*))?(?:\?([^#]*))?$/.exec(address)
  if (match === null) throw unreadable()
  const [, credentials, hosts = '', database, query] = match
  const colon = credentials?.indexOf(':') ?? -1
  return {
    servers: serversIn(hosts),
    user: decoded(colon < 0 ? credentials : credentials?.slice(0, colon)),
    password: decoded(colon < 0 ? undefined : credentials?.slice(colon + 1)),
    database: decoded(database),
    location: `postgres://${hosts}${database === undefined ? '' : `/${database}`}`,
    parameters: new URLSearchParams(query ?? ''),
  }
}

/** `a:5432,b,[::1]:5433`; defaults come from PGHOST and PGPORT, which may be lists too. */
function serversIn(text: string): ServerAddress[] {
  const ports = (nonEmpty(process.env.PGPORT) ?? portDefault).split(',')
  const listed = text === '' ? (nonEmpty(process.env.PGHOST) ?? 'localhost').split(',') : text.split(',')
  return listed.map((one, i) => {
    const match = text === '' ? [one, one] : /^(\[[0-9a-f:.]+\]|[^:[\]]*)(?::(\d*))?$/i.exec(one)
    if (match === null) throw unreadable()
    const [, host = '', port = ''] = match
    const number = Number(port === '' ? (ports[i] ?? ports[0]) : port)
    if (!Number.isInteger(number) || number < 1 || number > portMax) throw unreadable()
    return { host: decoded(host.replace(/^\[(.*)\]$/, '$1')) ?? 'localhost', port: number }
  })
}

function decoded(text: string | undefined): string | undefined {
  if (text === undefined || text === '') return undefined
  try {
    return decodeURIComponent(text)
  } catch {
    throw unreadable()
  }
}

/** The unreadable part may be the password, so nothing of the address is quoted. */
function unreadable(): Error {
  return new PlaceRefused(
    'wrongPlace',
    'The store address postgres:… cannot be read; use postgres://user:password@host:port/database, or several host:port with commas between them, with special characters of the password percent-encoded.',
  )
}

/** Only a primary is usable, so no other target may be requested. */
function checkTarget(target: string | undefined, location: string): void {
  if (target !== undefined) oneOf('target_session_attrs', target, ['any', 'read-write', 'primary'], location)
}

function supportedParameters(): string {
  return [...Object.keys(defaults), ...Object.keys(protocolVariables)].join(', ')
}

function nonEmpty(text: string | undefined): string | undefined {
  return text === '' ? undefined : text
}

function checkedSchema(value: string, location: string): string {
  if (schemaName.test(value)) return value
  throw new PlaceRefused(
    'wrongPlace',
    `The store address ${location} names the schema '${value}'; a schema is 1 to 63 characters of a-z, 0-9 and _, not beginning with a digit.`,
  )
}

function oneOf(name: string, value: string, words: readonly string[], location: string): string {
  if (words.includes(value)) return value
  throw new PlaceRefused(
    'wrongPlace',
    `The store address ${location} has ${name}='${value}'; it is ${words.join(' or ')}.`,
  )
}

function wholeNumber(name: string, value: string, min: number, max: number, location: string): number {
  const number = Number(value)
  if (/^\d+$/.test(value) && number >= min && number <= max) return number
  throw new PlaceRefused(
    'wrongPlace',
    `The store address ${location} has ${name}='${value}'; it must be an integer from ${min} to ${max}.`,
  )
}
