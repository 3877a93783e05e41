/** What errors of PostgreSQL and of the way to it mean for a store. */
import { AshlarError } from '../../errors.ts'

/** Deadlock, serialization failure, lock not available: the same statement may go through a moment later. */
const passing = new Set(['40P01', '40001', '55P03'])
/** The transaction, which others may share, has ended by a statement that failed: it is of no more use than its connection. */
const transactionFailed = '25P02'
/** A statement took longer than it may: nothing of it was done. */
export const statementTimedOut = '57014'
/** The server ends, starts, or has no connection left. */
const comingBack = /^(57P0[0-9]|53300|08)/
const outOfReach = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOENT',
  'EAI_AGAIN',
])

export type Failure =
  /** The server answered: the statement was not carried out, and will not be. */
  | 'refused'
  /** As refused, but worth another attempt. */
  | 'passing'
  /** The connection is gone: whether the statement was carried out is not known. */
  | 'lost'

export function failureOf(error: unknown): Failure {
  // Has been waited for already.
  if (error instanceof AshlarError) return 'refused'
  const code = codeOf(error)
  if (code !== undefined && passing.has(code)) return 'passing'
  if (code === transactionFailed) return 'lost'
  if (code === undefined || comingBack.test(code) || outOfReach.has(code)) return 'lost'
  return /^[0-9A-Z]{5}$/.test(code) ? 'refused' : 'lost'
}

export function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined
  return typeof error.code === 'string' ? error.code : undefined
}

/** The error that a client gets who could not be served because of the database. Only for what surely was not done. */
export function storeUnavailable(location: string, error: unknown): AshlarError {
  return new AshlarError('StoreUnavailable', unusable(location, error))
}

/** The error for a commit that was sent and never answered, where the database could not be asked about it either. */
export function outcomeUnknown(location: string, error: unknown): AshlarError {
  const more = 'It is not known whether the change was made: look before you send it again.'
  return new AshlarError('OutcomeUnknown', `${unusable(location, error)} ${more}`)
}

function unusable(location: string, error: unknown): string {
  const reason = codeOf(error) === statementTimedOut ? 'a statement took longer than statementMs' : messageOf(error)
  return `The store ${location} cannot be used at present: ${reason}.`
}

/** An error to be thrown for what a statement failed with: our own fault unless the database is out of reach. */
export function thrownFor(location: string, error: unknown): unknown {
  if (error instanceof AshlarError) return error
  return failureOf(error) === 'lost' || codeOf(error) === statementTimedOut ? storeUnavailable(location, error) : error
}

function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return messageOf(error.errors[0])
  return error instanceof Error ? error.message.replace(/\.$/, '') : String(error)
}
