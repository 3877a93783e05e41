/** Classification of errors of PostgreSQL, Citus and the connection, for a store. */
import pg from 'pg'
import { AshlarError } from '../../errors.ts'

/** A statement exceeded its time or was cancelled, and had no effect. */
export const statementTimedOut = '57014'
const tooManyConnections = '53300'

export type Failure =
  /** The statement was not executed, and never will be. */
  | 'refused'
  /** It was rolled back; a retry on the same connection may succeed soon. */
  | 'passing'
  /** It was not executed because of its session or transaction: another connection may succeed. */
  | 'unusable'
  /** It was not executed because the database is temporarily short of something; an immediate retry would fail too. */
  | 'unavailable'
  /** Its outcome is unknown; the connection, or one behind it, is lost. */
  | 'lost'

/** By SQLSTATE; the longest matching prefix counts, and unlisted states are 'refused'. */
const failureByState: Readonly<Record<string, Failure>> = {
  // Connection exceptions. Citus also reports an unreachable node so, possibly in the middle of a commit.
  '08': 'lost',
  // Transaction rollback: serialization failure, deadlock.
  '40': 'passing',
  // Statement completion unknown.
  '40003': 'lost',
  // Lock not available.
  '55P03': 'passing',
  // Read-only: a standby, or a primary that has been demoted.
  '25006': 'unusable',
  // A failed transaction, and prepared statements and cursors that are gone with it.
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
  // Internal errors. Citus also reports so that a node's connection broke during a statement or a commit.
  XX000: 'lost',
}

/** Reasons for states that are not 'refused': the server's texts may name users and addresses of nodes. */
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

/** For errors of the driver pg, which have no code. */
const reasonByText: readonly (readonly [RegExp, string])[] = [
  [/^Connection terminated due to connection timeout|^timeout expired|^Query read timeout/, notConnected],
  [/^timeout exceeded when trying to connect/, 'all connections to the database server were in use for patienceMs'],
  [/^Connection terminated|^Client (has encountered|was closed)/, connectionLost],
]

/** The configuration of the database, or the address, prevents connections: a retry would fail alike. */
export class Refusal extends Error {
  constructor(reason: string, cause: unknown) {
    super(reason, { cause })
  }
}

/** A read that blocked commits exceeded its time limit and was ended. */
export class LockingReadTimeout extends Error {
  constructor(lockingMs: number) {
    super(`a read that keeps commits out took longer than ${lockingMs} ms, the limit lockingMs, and was ended`)
  }
}

/** The connection was closed since the server did not respond; the outcome of the statement is unknown. */
export class NotAnswered extends Error {
  constructor(limitMs: number) {
    super(`the database server has not answered for ${limitMs} ms, so that the connection was abandoned`)
  }
}

/** A statement failed because an earlier one on its connection did; `cause` is that error. */
export class FollowedFailure extends Error {
  constructor(cause: unknown) {
    super('A statement before this one has failed.', { cause })
  }
}

export function failureOf(error: unknown): Failure {
  // Such an error was thrown after waiting, and is not retried.
  if (error instanceof AshlarError) return 'refused'
  if (error instanceof Refusal || error instanceof LockingReadTimeout) return 'unavailable'
  if (error instanceof FollowedFailure) {
    const failure = failureOf(error.cause)
    return failure === 'refused' || error.cause instanceof LockingReadTimeout ? failure : 'unusable'
  }
  const state = stateOf(error)
  // Errors of the network and of the client concern the connection.
  if (state === undefined) return 'lost'
  return longestPrefix(failureByState, state) ?? 'refused'
}

/** The server, or its limit for this user or database, has no connection left. */
export function isOutOfConnections(error: unknown): boolean {
  return stateOf(error) === tooManyConnections
}

/** Whether a retry may succeed soon, over another connection or in another transaction. */
export function isPassing(failure: Failure): boolean {
  return failure === 'lost' || failure === 'passing' || failure === 'unusable'
}

export function sqlState(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined
  return typeof error.code === 'string' ? error.code : undefined
}

/** The error reported to clients for an unusable database. Only for operations that definitely had no effect. */
function storeUnavailable(location: string, error: unknown): AshlarError {
  return new AshlarError('StoreUnavailable', unusable(location, error))
}

/** The error for a commit that was sent but not answered, if its outcome cannot be determined either. */
export function outcomeUnknown(location: string, error: unknown): AshlarError {
  const more = 'It is not known whether the change was made: look before you send it again.'
  return new AshlarError('OutcomeUnknown', `${unusable(location, error)} ${more}`)
}

/** The error after waiting for the full patience while all connections were in use; nothing was sent. */
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
  return `The store ${location} cannot be used at present: ${describeSqlFailure(error)}.`
}

/** The error of a store that cannot be opened. */
export function startFailure(location: string, error: unknown): Error {
  if (error instanceof AshlarError) return error
  return new Error(`The store ${location} cannot be opened: ${describeSqlFailure(error)}.`, { cause: error })
}

/** The error to throw for a failed statement: an internal one unless the database is the cause. */
export function toStoreError(location: string, error: unknown): unknown {
  if (error instanceof AshlarError) return error
  if (failureOf(error) === 'refused') return error instanceof FollowedFailure ? error.cause : error
  return storeUnavailable(location, error)
}

/** The reason for a failed statement or connection; names no user, and no node but the addressed one. */
export function describeSqlFailure(error: unknown): string {
  if (error instanceof FollowedFailure) return describeSqlFailure(error.cause)
  if (error instanceof AggregateError && error.errors.length > 0) return describeSqlFailure(error.errors[0])
  const state = stateOf(error)
  if (state !== undefined) {
    const reason = longestPrefix(reasonByState, state)
    if (reason !== undefined) return `${reason} (SQLSTATE ${state})`
  }
  const code = sqlState(error)
  const reason = code === undefined ? undefined : reasonByCode[code]
  if (reason !== undefined) return `${reason} (${code})`
  const message = error instanceof Error ? error.message.replace(/\.$/, '') : String(error)
  return reasonByText.find(([text]) => text.test(message))?.[1] ?? message
}

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
