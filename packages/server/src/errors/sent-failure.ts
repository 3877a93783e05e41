/** Failures that only the server knows, as plain data, which one thread sends another; those of the engine are sent by the engine. */
import { type AshlarError, receivedError, type SentError, sentError } from '@ashlar/engine'
import type { Problem } from './problem.ts'
import { BodyValidationError, OperationFailure } from './request-errors.ts'
import { ServerError, type ServerErrorType } from './server-errors.ts'

export type SentFailure =
  | { readonly kind: 'engine'; readonly error: SentError }
  | { readonly kind: 'server'; readonly type: ServerErrorType; readonly message: string }
  | { readonly kind: 'body'; readonly problem: Problem }
  | { readonly kind: 'operation'; readonly operation: number; readonly cause: SentFailure }

/** Undefined for all other errors. */
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
