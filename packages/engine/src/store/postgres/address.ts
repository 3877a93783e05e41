/** Addresses of stores on PostgreSQL: `postgres://…`, with parameters of ours among those of the protocol. */

const defaults = {
  schema: 'ashlar',
  connections: 20,
  statementMs: 30_000,
  patienceMs: 10_000,
  reads: 'plain',
  distribute: 'no',
}
const connectionsMax = 1_000

/** Parameters that say how to connect; what they mean is what they mean to every client of PostgreSQL. */
const protocolParameters = new Set(['sslmode', 'sslrootcert', 'sslcert', 'sslkey', 'application_name'])
const schemaName = /^[a-z_][a-z0-9_]{0,62}$/

export interface PostgresAddress {
  /** Holds the password, if one was given: for the driver alone. */
  readonly connectionString: string
  /** Where the store is, without user and password. */
  readonly location: string
  /** The PostgreSQL schema in which the tables are. */
  readonly schema: string
  /** Connections that read at once; half as many, but at least two, commit beside them. */
  readonly connections: number
  /** How long one statement may take before it is given up; 0: for ever. */
  readonly statementMs: number
  /** On a distributed table: whether reads keep commits out, so as to see one moment of all placements. */
  readonly areReadsLocking: boolean
  /** Whether Citus is to distribute a table that is made. */
  readonly isDistributed: boolean
  /** How long the database may be out of reach, and how long a free connection is waited for. */
  readonly patienceMs: number
}

/**
 * Reads `postgres://user:password@host:port/database?schema=ashlar&connections=20&statementMs=30000&patienceMs=10000`;
 * what is left out comes from PGHOST, PGUSER, PGPASSWORD and the like. Throws an `Error` that never quotes a password.
 */
export function parsePostgresAddress(address: string): PostgresAddress {
  const url = urlOf(address)
  const location = locationOf(url)
  const own = { ...defaults }
  for (const [name, value] of [...url.searchParams]) {
    if (protocolParameters.has(name)) continue
    if (name === 'schema') own.schema = checkedSchema(value, location)
    else if (name === 'connections') own.connections = wholeNumber(name, value, 1, connectionsMax, location)
    else if (name === 'statementMs') own.statementMs = wholeNumber(name, value, 0, 86_400_000, location)
    else if (name === 'reads') own.reads = oneOf(name, value, ['plain', 'locking'], location)
    else if (name === 'distribute') own.distribute = oneOf(name, value, ['no', 'citus'], location)
    else if (name === 'patienceMs') own.patienceMs = wholeNumber(name, value, 0, 86_400_000, location)
    else throw new Error(`The store address ${location} has an unknown parameter '${name}'; use ${knownParameters()}.`)
    url.searchParams.delete(name)
  }
  const { reads, distribute, ...numbers } = own
  return {
    ...numbers,
    areReadsLocking: reads === 'locking',
    isDistributed: distribute === 'citus',
    location: own.schema === defaults.schema ? location : `${location}?schema=${own.schema}`,
    ...{ connectionString: url.href },
  }
}

function knownParameters(): string {
  return [...Object.keys(defaults), ...protocolParameters].join(', ')
}

function urlOf(address: string): URL {
  try {
    return new URL(address)
  } catch {
    // What is wrong may be the password itself, so nothing of the address is quoted.
    throw new Error(
      'The store address postgres:… cannot be read as a URL; use postgres://user:password@host:port/database, with special characters of the password percent-encoded.',
    )
  }
}

function locationOf(url: URL): string {
  return `postgres://${url.host}${url.pathname}`
}

function checkedSchema(value: string, location: string): string {
  if (schemaName.test(value)) return value
  throw new Error(
    `The store address ${location} names the schema '${value}'; a schema is 1 to 63 characters of a-z, 0-9 and _, not beginning with a digit.`,
  )
}

function oneOf(name: string, value: string, words: readonly string[], location: string): string {
  if (words.includes(value)) return value
  throw new Error(`The store address ${location} has ${name}='${value}'; it is ${words.join(' or ')}.`)
}

function wholeNumber(name: string, value: string, min: number, max: number, location: string): number {
  const number = Number(value)
  if (/^\d+$/.test(value) && number >= min && number <= max) return number
  throw new Error(`The store address ${location} has ${name}='${value}'; it is a whole number of ${min} to ${max}.`)
}

/** An address as it may be printed: without user, password and what else could be secret. */
export function withoutCredentials(address: string): string {
  if (!/^postgres(ql)?:/.test(address)) return address
  try {
    return locationOf(new URL(address))
  } catch {
    return 'postgres:…'
  }
}
