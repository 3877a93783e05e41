/** Addresses of stores on PostgreSQL: `postgres://…`, with parameters of Ashlar among those of the protocol. */
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

/** Parameters that say how to connect, as libpq has them, and the variables that stand in for them. */
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
  /** In the order in which they are tried; more than one where the database can move from server to server. */
  readonly servers: readonly ServerAddress[]
  readonly user: string | undefined
  /** For the driver alone. */
  readonly password: string | undefined
  readonly database: string | undefined
  readonly applicationName: string | undefined
  readonly ssl: {
    readonly mode: SslMode
    /** Files; a root certificate may be `system` too. */
    readonly rootCertificate: string | undefined
    readonly certificate: string | undefined
    readonly key: string | undefined
  }
  /** Where the store is, without user and password. */
  readonly location: string
  /** The PostgreSQL schema in which the tables are. */
  readonly schema: string
  /** Connections that read at once; half as many, but at least two, commit beside them. */
  readonly connections: number
  /** How long one statement may take before it is given up; 0: for ever. */
  readonly statementMs: number
  /** On a distributed table: whether reads keep commits out, so as to see one point in time of all placements. */
  readonly areReadsLocking: boolean
  /** How long such a read may keep commits out before it is ended. */
  readonly lockingMs: number
  /** Whether Citus is to distribute a table that is made. */
  readonly isDistributed: boolean
  /** How long the database may be out of reach, and how long a free connection is waited for. */
  readonly patienceMs: number
}

/**
 * Reads `postgres://user:password@host:port,host:port/database?schema=ashlar&connections=20`; what is left out comes from PGHOST,
 * PGUSER, PGPASSWORD and the like. Throws an `Error` that never quotes a password.
 */
export function parsePostgresAddress(address: string): PostgresAddress {
  const parts = partsOf(address)
  const { location } = parts
  const own = { ...defaults }
  const given = new Map<ProtocolParameter, string>()
  for (const [name, value] of parts.parameters) {
    if (name in protocolVariables) given.set(name as ProtocolParameter, value)
    else if (name === 'schema') own.schema = checkedSchema(value, location)
    else if (name === 'connections') own.connections = wholeNumber(name, value, 1, connectionsMax, location)
    else if (name === 'statementMs') own.statementMs = wholeNumber(name, value, 0, 86_400_000, location)
    else if (name === 'reads') own.reads = oneOf(name, value, ['plain', 'locking'], location)
    else if (name === 'lockingMs') own.lockingMs = wholeNumber(name, value, 1, 86_400_000, location)
    else if (name === 'distribute') own.distribute = oneOf(name, value, ['no', 'citus'], location)
    else if (name === 'patienceMs') own.patienceMs = wholeNumber(name, value, 0, 86_400_000, location)
    else
      throw new PlaceRefused(
        'wrongPlace',
        `The store address ${location} has an unknown parameter '${name}'; use ${knownParameters()}.`,
      )
  }
  const protocol = (name: ProtocolParameter): string | undefined => {
    return given.get(name) ?? nonEmpty(process.env[protocolVariables[name]])
  }
  checkTarget(protocol('target_session_attrs'), location)
  const { reads, distribute, ...numbers } = own
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
    location: own.schema === defaults.schema ? location : `${location}?schema=${own.schema}`,
  }
}

/** An address as it may be printed: without user, password and what else could be secret. */
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

/** Several hosts make no URL as the standard of URLs has it, so it is taken apart here. */
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

/** `a:5432,b,[::1]:5433`; what is left out comes from PGHOST and PGPORT, which may be lists too. */
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

/** What is wrong may be the password itself, so nothing of the address is quoted. */
function unreadable(): Error {
  return new PlaceRefused(
    'wrongPlace',
    'The store address postgres:… cannot be read; use postgres://user:password@host:port/database, or several host:port with commas between them, with special characters of the password percent-encoded.',
  )
}

/** Whatever is asked for, only a server that writes will do; one that does not must not be asked for. */
function checkTarget(target: string | undefined, location: string): void {
  if (target !== undefined) oneOf('target_session_attrs', target, ['any', 'read-write', 'primary'], location)
}

function knownParameters(): string {
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
    `The store address ${location} has ${name}='${value}'; it is a whole number of ${min} to ${max}.`,
  )
}
