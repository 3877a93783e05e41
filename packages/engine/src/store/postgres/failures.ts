/** What errors of PostgreSQL, of Citus and of the connection to them mean for a store. */
import pg from 'pg'
import { AshlarError } from '../../errors.ts'

/** A statement took longer than it may, or was cancelled: nothing of it was done. */
export const statementTimedOut = '57014'
const tooManyConnections = '53300'

export type Failure =
  /** The statement was not carried out, and never will be. */
  | 'refused'
  /** It was rolled back; over the same connection it may go through a moment later. */
  | 'passing'
  /** It was not carried out, because of the state of its session or transaction: another connection may carry it out. */
  | 'unusable'
  /** It was not carried out, since the database lacks something at present; the same again at once would not help. */
  | 'unavailable'
  /** Whether it was carried out is not known; the connection, or one behind it, is gone. */
  | 'lost'

/** By SQLSTATE, the longest prefix counts; a state that is not listed is 'refused'. */
const failureByState: Readonly<Record<string, Failure>> = {
  // Connection exceptions. Citus reports a node that it cannot reach so, possibly in the middle of a commit.
  '08': 'lost',
  // Transaction rollback: serialization failure, deadlock.
  '40': 'passing',
  // Statement completion unknown.
  '40003': 'lost',
  // Lock not available.
  '55P03': 'passing',
  // Read-only: a standby, or a primary that has been demoted.
  '25006': 'unusable',
  // A transaction that has failed already, and prepared statements and cursors that are gone with it.
  '25P01': 'unusable',
  '25P02': 'unusable',
  '26000': 'unusable',
  '34000': 'unusable',
  // Timeouts that end the session.
  '25P03': 'lost',
  '25P04': 'lost',
  // Insufficient resources.
  '53': 'unavailable',
  [tooManyConnections]: 'lost',
  // Operator intervention: shutdown, crash of another session, start-up, database dropped, idle session.
  '57P': 'lost',
  [statementTimedOut]: 'unavailable',
  // System errors: input and output.
  '58': 'unavailable',
  // Internal errors. Citus reports with this state that a node's connection broke under a statement or a commit.
  XX000: 'lost',
}

/** Why a state that is not 'refused' came up: the server's own texts may name users and the addresses of nodes. */
const reasonByState: Readonly<Record<string, string>> = {
  '08': 'the connection to the database, or to one of its nodes, was lost or cannot be made',
  '40': 'the change was rolled back each time because of others',
  '55P03': 'a lock could not be had',
  '25006': 'the server is read-only: it is a standby, or default_transaction_read_only is on',
  '25P': 'the session or its transaction was ended',
  '26000': 'the session or its transaction was ended',
  '34000': 'the session or its transaction was ended',
  '53': 'the database server lacks a resource',
  '53100': 'the disk of the database server is full',
  '53200': 'the database server is out of memory',
  [tooManyConnections]: 'the database server has no connection left',
  '57P': 'the database server ended the session, is shutting down, starting, or recovering',
  [statementTimedOut]: 'a statement took longer than statementMs, or was cancelled',
  '58': 'the operating system failed the database server',
  XX000: 'the database, or one of its nodes, failed under a statement',
}

const connectionLost = 'the connection to the database server was lost'
const notConnected = 'the database server did not answer in time when it was connected to'

/** Of errors of the network, by their code. */
const reasonByCode: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the host of the database server refuses connections to its port',
  ECONNRESET: connectionLost,
  EPIPE: connectionLost,
  ETIMEDOUT: 'the host of the database server does not answer',
  EHOSTUNREACH: 'the host of the database server cannot be reached',
  ENETUNREACH: 'the network of the database server cannot be reached',
  ENOTFOUND: 'the name of the database server is not known',
  EAI_AGAIN: 'the name of the database server cannot be looked up at present',
}

/** Of errors of the driver pg, which have no code. */
const reasonByText: readonly (readonly [RegExp, string])[] = [
  [/^Connection terminated due to connection timeout|^timeout expired|^Query read timeout/, notConnected],
  [/^timeout exceeded when trying to connect/, 'all connections to the database server were in use for patienceMs'],
  [/^Connection terminated|^Client (has encountered|was closed)/, connectionLost],
]

/** The database cannot be connected to as it, or the address, is set up: the same again would fail the same way. */
export class Refusal extends Error {
  constructor(reason: string, cause: unknown) {
    super(reason, { cause })
  }
}

/** A read that kept commits out was ended, so that they could go on. */
export class HeldTooLong extends Error {
  constructor(lockingMs: number) {
    super(`a read that keeps commits out took longer than ${lockingMs} ms, the limit lockingMs, and was ended`)
  }
}

/** The connection is closed then, and whether the statement was carried out is not known. */
export class NotAnswered extends Error {
  constructor(limitMs: number) {
    super(`the database server has not answered for ${limitMs} ms, so that the connection was given up`)
  }
}

/** A statement that failed because one before it on its connection had: `cause` is the error of that one. */
export class FollowedFailure extends Error {
  constructor(cause: unknown) {
    super('A statement before this one has failed.', { cause })
  }
}

export function failureOf(error: unknown): Failure {
  // Has been waited for already.
  if (error instanceof AshlarError) return 'refused'
  if (error instanceof Refusal || error instanceof HeldTooLong) return 'unavailable'
  if (error instanceof FollowedFailure) {
    const failure = failureOf(error.cause)
    return failure === 'refused' || error.cause instanceof HeldTooLong ? failure : 'unusable'
  }
  const state = stateOf(error)
  // Errors of the network and of the client: they are about the connection.
  if (state === undefined) return 'lost'
  return longestPrefix(failureByState, state) ?? 'refused'
}

/** The server, or what it allows this user or this database, has no connection left. */
export function isOutOfConnections(error: unknown): boolean {
  return stateOf(error) === tooManyConnections
}

/** The same may go well a moment later, over another connection or in another transaction. */
export function isPassing(failure: Failure): boolean {
  return failure === 'lost' || failure === 'passing' || failure === 'unusable'
}

export function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined
  return typeof error.code === 'string' ? error.code : undefined
}

/** The error that a client gets who could not be served because of the database. Only for what surely was not done. */
function storeUnavailable(location: string, error: unknown): AshlarError {
  return new AshlarError('StoreUnavailable', unusable(location, error))
}

/** The error for a commit that was sent and never answered, where the database could not be asked about it either. */
export function outcomeUnknown(location: string, error: unknown): AshlarError {
  const more = 'It is not known whether the change was made: look before you send it again.'
  return new AshlarError('OutcomeUnknown', `${unusable(location, error)} ${more}`)
}

/** The error of who has waited for as long as requests do, while all connections were in use; nothing was sent. */
export function allInUse({
  location,
  patienceMs,
}: {
  readonly location: string
  readonly patienceMs: number
}): AshlarError {
  return storeUnavailable(
    location,
    new Error(`all of its connections were in use for ${patienceMs} ms, the limit patienceMs`),
  )
}

function unusable(location: string, error: unknown): string {
  return `The store ${location} cannot be used at present: ${reasonOf(error)}.`
}

/** An error to be thrown for what a statement failed with: our own fault unless it is a matter of the database. */
export function toStoreError(location: string, error: unknown): unknown {
  if (error instanceof AshlarError) return error
  if (failureOf(error) === 'refused') return error instanceof FollowedFailure ? error.cause : error
  return storeUnavailable(location, error)
}

/** Why a statement failed or a connection could not be made; names no user, and no node but the one addressed. */
export function reasonOf(error: unknown): string {
  if (error instanceof FollowedFailure) return reasonOf(error.cause)
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0])
  const state = stateOf(error)
  if (state !== undefined) {
    const reason = longestPrefix(reasonByState, state)
    if (reason !== undefined) return `${reason} (SQLSTATE ${state})`
  }
  const code = codeOf(error)
  const ofCode = code === undefined ? undefined : reasonByCode[code]
  if (ofCode !== undefined) return `${ofCode} (${code})`
  const message = error instanceof Error ? error.message.replace(/\.$/, '') : String(error)
  return reasonByText.find(([text]) => text.test(message))?.[1] ?? message
}

/** SQLSTATE, of an error that the server has reported. */
function stateOf(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError ? error.code : undefined
}

function longestPrefix<T>(table: Readonly<Record<string, T>>, state: string): T | undefined {
  for (let length = state.length; length >= 2; length--) {
    const found = table[state.slice(0, length)]
    if (found !== undefined) return found
  }
  return undefined
}
