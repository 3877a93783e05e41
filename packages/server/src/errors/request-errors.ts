/** Errors of the server without a type in the catalogue. */
import { type AshlarError, receivedError, type SentError, sentError } from '@ashlar/engine'
import type { Problem } from './problem.ts'
import { ServerError, type ServerErrorType } from './server-errors.ts'

/** The client has disconnected, so that no reply is sent. */
export class ClientDisconnected extends Error {
  constructor() {
    super('the client disconnected')
  }
}

/** Failure of an operation in a transaction, with the operation's number and its error as the cause (contract 7.1.9). */
export class OperationFailure extends Error {
  /** Starts at 1. */
  readonly operation: number
  override readonly cause: AshlarError | ServerError | BodyValidationError

  constructor(operation: number, cause: AshlarError | ServerError | BodyValidationError) {
    super(cause.message)
    this.operation = operation
    this.cause = cause
  }
}

/** Failure of a line in an atomic load, with the line's number and its error as the cause (contract 2.2.9). */
export class LineFailure extends Error {
  /** Starts at 1. */
  readonly line: number
  override readonly cause: unknown

  constructor(line: number, cause: unknown) {
    super(`Line ${line} failed.`)
    this.line = line
    this.cause = cause
  }
}

/** A request body that violates its schema. */
export class BodyValidationError extends Error {
  readonly problem: Problem

  constructor(problem: Problem) {
    super(problem.message)
    this.problem = problem
  }
}

export type SentFailure =
  | { readonly kind: 'engine'; readonly error: SentError }
  | { readonly kind: 'server'; readonly type: ServerErrorType; readonly message: string }
  | { readonly kind: 'body'; readonly problem: Problem }
  | { readonly kind: 'operation'; readonly operation: number; readonly cause: SentFailure }

/** Returns undefined for all other errors. */
export function sentFailure(error: unknown): Exclude<SentFailure, { kind: 'engine' }> | undefined {
  if (error instanceof ServerError) return { kind: 'server', type: error.type, message: error.message }
  if (error instanceof BodyValidationError) return { kind: 'body', problem: error.problem }
  if (!(error instanceof OperationFailure)) return undefined
  const { operation, cause } = error
  return { kind: 'operation', operation, cause: sentFailure(cause) ?? { kind: 'engine', error: sentError(cause) } }
}

export function receivedFailure(sent: SentFailure): AshlarError | ServerError | BodyValidationError | OperationFailure {
  switch (sent.kind) {
    case 'engine':
      return receivedError(sent.error) as AshlarError
    case 'server':
      return new ServerError(sent.type, sent.message)
    case 'body':
      return new BodyValidationError(sent.problem)
    default:
      return new OperationFailure(sent.operation, receivedFailure(sent.cause) as OperationFailure['cause'])
  }
}
