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

/** One candidate is unusable by its configuration; another is tried immediately, as in libpq. */
export class CandidateRefused extends Error {}

/** The server requires an authentication method that this Node does not support, such as MD5 under FIPS. */
class LoginImpossible extends Error {}

/** If one of several servers does not respond, time must remain for the next. */
const connectMsMin = 500

/** The first byte from a server: whether it encrypts; an authentication request, an error, or another protocol version. */
const firstBytes = { encrypted: 'SNE', plain: 'REv' }

/**
 * The servers of an address, each with the connection modes that `sslmode` allows, as in libpq. All connections of a store use the candidate that
 * succeeded last; if it fails, the next one is used.
 */
export class Servers {
  readonly connectMs: number
  private readonly candidates: readonly Candidate[]
  private readonly address: PostgresAddress
  private readonly watch: AnswerWatch
  private current = 0
  /** Candidates that failed permanently: if all have, waiting is useless. */
  private readonly refused = new Set<Candidate>()
  private readonly candidateOf = new WeakMap<pg.ClientBase, Candidate>()

  /** Throws an `Error` if a certificate cannot be read. */
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

  /** A class of clients that connect to the current candidate. */
  clientClass(): typeof pg.Client {
    const servers = this
    const { user, password, database } = this.address
    return class extends pg.Client {
      constructor(config: pg.ClientConfig) {
        const candidate = servers.candidates[servers.current] as Candidate
        const { server, ssl } = candidate
        const named = { user, password, database, host: server.host, port: server.port, ssl }
        super({ ...config, ...named, connectionTimeoutMillis: servers.connectMs } as pg.ClientConfig)
        servers.candidateOf.set(this, candidate)
        servers.watch.add(this)
        receiveRowsInBytes(this)
        const { stream } = (this as unknown as { connection: { stream: Socket } }).connection
        const expected = ssl === false ? firstBytes.plain : firstBytes.encrypted
        // Users of a connection learn of its failure by their failing query. Before there are any, this event is the only way in which pg reports
        // that it could not answer an authentication request.
        let isMade = false
        this.on('error', (error) => {
          if (!isMade) stream.destroy(new LoginImpossible(error.message, { cause: error }))
        })
        let isForeign = false
        stream.once('data', (bytes: Buffer) => {
          isForeign = !expected.includes(String.fromCharCode(bytes[0] ?? 0))
        })
        const connect = this.connect.bind(this) as (done: (error?: Error) => void) => void
        const connectAndReport = (done: (error?: Error) => void) => {
          connect((error) => {
            isMade = true
            const hasPassword = typeof (this as { password?: unknown }).password === 'string'
            done(error && servers.failed(candidate, isForeign ? foreign() : error, hasPassword))
          })
        }
        Object.assign(this, { connect: connectAndReport })
      }
    }
  }

  get count(): number {
    return this.candidates.length
  }

  /** Must be called after a connection was made and set up. */
  succeeded(): void {
    this.refused.clear()
  }

  /** Must be called if a connection was made, but is unusable. Returns the error to throw. */
  isUnfit(client: pg.ClientBase, error: Error): Error {
    return this.failed(this.candidateOf.get(client), error)
  }

  /** Selects the next candidate; if there are several hosts, skips other modes of one that does not respond. */
  private selectNext({ server }: Candidate, error: Error): void {
    const areSeveral = this.address.servers.length > 1
    do this.current = (this.current + 1) % this.candidates.length
    while (areSeveral && isSilent(error) && this.candidates[this.current]?.server === server)
  }

  /** Selects another candidate. Returns the error to throw: a Refusal if no candidate can ever succeed. */
  private failed(candidate: Candidate | undefined, error: Error, hasPassword = true): Error {
    // The server is reachable, and the mode is right.
    if (isOutOfConnections(error)) return error
    if (candidate !== undefined && candidate === this.candidates[this.current]) this.selectNext(candidate, error)
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
    // Only verify-full checks the host name.
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

/** The reason if a retry cannot help because the configuration of one side must change. */
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
