/** Which server a connection is made to, with or without encryption, and which connection failures are permanent. */
import { readFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import type { ConnectionOptions } from 'node:tls'
import pg from 'pg'
import type { PostgresAddress, ServerAddress } from './address.ts'
import type { AnswerWatch } from './answer-watch.ts'
import { receiveRowsInBytes } from './binary-rows.ts'
import { isOutOfConnections, Refusal } from './failures.ts'

interface Candidate {
  readonly server: ServerAddress
  readonly ssl: ConnectionOptions | false
}

/** One candidate can never do, by its configuration; another may, and is tried at once, as libpq does. */
export class CandidateRefused extends Error {}

/** The server asks for something that this Node cannot make, as MD5 under FIPS. */
class LoginImpossible extends Error {}

/** Of several servers, one that does not answer must leave time for the next. */
const connectMsMin = 500

/** What a server says first: that it encrypts or not; an authentication request, an error, or another version of the protocol. */
const firstBytes = { encrypted: 'SNE', plain: 'REv' }

/**
 * The servers of an address, each with the ways to connect that `sslmode` allows, as libpq has them. All connections of a store are
 * made to the candidate that was found good last; when it fails, the next one's turn comes.
 */
export class Servers {
  /** How long one candidate may take until it is connected to. */
  readonly connectMs: number
  private readonly candidates: readonly Candidate[]
  private readonly address: PostgresAddress
  private readonly watch: AnswerWatch
  private current = 0
  /** Those that have failed for good: once all have, waiting is of no use. */
  private readonly refused = new Set<Candidate>()
  private readonly ofClients = new WeakMap<pg.ClientBase, Candidate>()

  /** Throws an `Error` when a certificate cannot be read. */
  constructor(address: PostgresAddress, watch: AnswerWatch) {
    this.address = address
    this.watch = watch
    const tls = tlsOptions(address.ssl)
    const ways: readonly (ConnectionOptions | false)[] = {
      disable: [false as const],
      allow: [false as const, tls],
      prefer: [tls, false as const],
      require: [tls],
      'verify-ca': [tls],
      'verify-full': [tls],
    }[address.ssl.mode]
    this.candidates = address.servers.flatMap((server) => {
      const isSocket = server.host.startsWith('/')
      return (isSocket ? [false as const] : ways).map((ssl) => ({ server, ssl }))
    })
    const { servers, patienceMs } = address
    const tried = servers.length > 1 ? servers.length : this.candidates.length
    this.connectMs = Math.max(connectMsMin, Math.ceil(patienceMs / tried))
  }

  /** A class of clients, each of which is for the candidate whose turn it is. */
  clientClass(): typeof pg.Client {
    const servers = this
    const { user, password, database } = this.address
    return class extends pg.Client {
      constructor(config: pg.ClientConfig) {
        const candidate = servers.candidates[servers.current] as Candidate
        const { server, ssl } = candidate
        const named = { user, password, database, host: server.host, port: server.port, ssl }
        super({ ...config, ...named, connectionTimeoutMillis: servers.connectMs } as pg.ClientConfig)
        servers.ofClients.set(this, candidate)
        servers.watch.add(this)
        receiveRowsInBytes(this)
        const { stream } = (this as unknown as { connection: { stream: Socket } }).connection
        const expected = ssl === false ? firstBytes.plain : firstBytes.encrypted
        // What breaks a connection, its users learn by the query that fails. Before there are any, pg has this way alone to
        // tell that it could not make the answer to an authentication request.
        let isMade = false
        this.on('error', (error) => {
          if (!isMade) stream.destroy(new LoginImpossible(error.message, { cause: error }))
        })
        let isForeign = false
        stream.once('data', (bytes: Buffer) => {
          isForeign = !expected.includes(String.fromCharCode(bytes[0] ?? 0))
        })
        const connect = this.connect.bind(this) as (done: (error?: Error) => void) => void
        const told = (done: (error?: Error) => void) => {
          connect((error) => {
            isMade = true
            const hasPassword = typeof (this as { password?: unknown }).password === 'string'
            done(error && servers.failed(candidate, isForeign ? foreign() : error, hasPassword))
          })
        }
        Object.assign(this, { connect: told })
      }
    }
  }

  /** How many candidates there are to be tried. */
  get count(): number {
    return this.candidates.length
  }

  /** A connection was made and set up. */
  succeeded(): void {
    this.refused.clear()
  }

  /** A connection was made, but is of no use. The error to be thrown. */
  isUnfit(client: pg.ClientBase, error: Error): Error {
    return this.failed(this.ofClients.get(client), error)
  }

  /** A host that does not answer is not asked in another way while there are others. */
  private goOn({ server }: Candidate, error: Error): void {
    const areSeveral = this.address.servers.length > 1
    do this.current = (this.current + 1) % this.candidates.length
    while (areSeveral && isSilent(error) && this.candidates[this.current]?.server === server)
  }

  /** Another candidate's turn comes. The error to be thrown: a Refusal where no candidate can ever do. */
  private failed(candidate: Candidate | undefined, error: Error, hasPassword = true): Error {
    // The server is there, and the way to it is right.
    if (isOutOfConnections(error)) return error
    if (candidate !== undefined && candidate === this.candidates[this.current]) this.goOn(candidate, error)
    const refusal = refusalOf(error, hasPassword)
    if (refusal === undefined || candidate === undefined) {
      this.refused.clear()
      return error
    }
    this.refused.add(candidate)
    return this.refused.size === this.candidates.length
      ? new Refusal(refusal, error)
      : new CandidateRefused(refusal, { cause: error })
  }
}

function tlsOptions({ mode, rootCertificate, certificate, key }: PostgresAddress['ssl']): ConnectionOptions {
  const hasRoot = rootCertificate !== undefined
  if (mode === 'verify-ca' && !hasRoot) {
    throw new Error(
      'sslmode=verify-ca needs sslrootcert, the file with the certificate of the authority that is trusted',
    )
  }
  const isVerified = mode === 'verify-full' || mode === 'verify-ca' || (mode === 'require' && hasRoot)
  return {
    rejectUnauthorized: isVerified,
    ...(hasRoot && rootCertificate !== 'system' ? { ca: fileOf('sslrootcert', rootCertificate) } : {}),
    ...(certificate === undefined ? {} : { cert: fileOf('sslcert', certificate) }),
    ...(key === undefined ? {} : { key: fileOf('sslkey', key) }),
    // Only verify-full asks whether the certificate is for this very host.
    ...(isVerified && mode !== 'verify-full' ? { checkServerIdentity: () => undefined } : {}),
  }
}

function fileOf(parameter: string, path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new Error(`the file of ${parameter}, ${path}, cannot be read (${(error as NodeJS.ErrnoException).code})`)
  }
}

function isSilent({ message, code }: NodeJS.ErrnoException): boolean {
  return message === 'timeout expired' || code === 'ETIMEDOUT' || code === 'EHOSTUNREACH' || code === 'ENETUNREACH'
}

function foreign(): Error {
  return new Error('what answers does not speak the PostgreSQL protocol')
}

const certificateProblem = /CERT|^ERR_TLS|^ERR_SSL|UNABLE_TO_|^ERR_OSSL/

/** A sentence where trying again cannot help: the configuration of one side has to be changed. */
function refusalOf(error: Error, hasPassword: boolean): string | undefined {
  const { code, message } = error as NodeJS.ErrnoException
  if (/client password must be/.test(message) || (code === '28P01' && !hasPassword)) {
    return 'the server asks for a password, and none is given'
  }
  if (code === '28P01') return 'password authentication failed'
  if (code === '28000') return 'the server rejects this user'
  if (code === '3D000') return 'the database does not exist'
  if (code === '42501') return 'the user may not connect to this database'
  if (message.startsWith('what answers does not')) return message
  if (error instanceof LoginImpossible)
    return `this Node.js cannot perform the authentication that the server requires: ${message}`
  if (message === 'The server does not support SSL connections') return 'the server does not encrypt connections'
  if (message.startsWith('SASL')) return 'password authentication by SCRAM failed'
  if (code !== undefined && certificateProblem.test(code))
    return `the certificate of the server is not accepted: ${message}`
  return undefined
}
