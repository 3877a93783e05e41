/** The body of all errors (contract 1.4.1). Nothing else writes an error body. */
import { randomUUID } from 'node:crypto'
import { AshlarError } from '@ashlar/engine'
import { makeProblem, type Problem, type ProblemDetail, problemDetails } from '../errors/problem.ts'
import { BodyValidationError, ClientDisconnected, LineFailure, OperationFailure } from '../errors/request-errors.ts'
import { problemEntry, ServerError } from '../errors/server-errors.ts'
import type { HttpRequest } from './http-request.ts'
import { lingerAfter } from './linger.ts'
import { sendReply } from './send-reply.ts'

/** Used only in the log, since the client is gone; the number is custom. */
export const clientDisconnectedStatus = 499

const retryAfterSeconds = '1'

export function sendProblem(error: unknown, request: HttpRequest): void {
  if (error instanceof ClientDisconnected) {
    sendReply(request, clientDisconnectedStatus, undefined)
    return
  }
  const problem = toProblem(error, request)
  request.problemType = problem.type
  if (request.audit !== undefined) request.audit.problemType = problem.type
  lingerAfter(request.raw)
  const cause = error instanceof OperationFailure ? error.cause : error
  const isFatal = cause instanceof AshlarError && cause.isFatal
  const headers = {
    ...(problemEntry(problem.type).isRepeatable && !isFatal && { 'retry-after': retryAfterSeconds }),
    ...(cause instanceof ServerError && cause.headers),
  }
  const acceptsProblem = request.headers.accept?.includes('application/problem+json') === true
  const type = acceptsProblem ? 'application/problem+json' : 'application/json; charset=utf-8'
  sendReply(request, problem.status, headers, type, JSON.stringify(problem))
}

/** Makes the error body. Internal errors are logged here, under the ID in the message. */
export function toProblem(error: unknown, request: HttpRequest): Problem {
  const problem = problemOf(error, request)
  // A text or a missing body has no locations for JSON pointers.
  if (request.body !== undefined && request.headers['content-type'] !== 'text/plain') return problem
  const { errors, ...rest } = problem
  // Violations of constraints say more than their place.
  return errors?.some(({ constraint }) => constraint !== undefined) === true ? problem : rest
}

function problemOf(error: unknown, request: HttpRequest): Problem {
  if (error instanceof AshlarError) {
    // Not caused by a client: the operator must know.
    if (error.kind === 'fault') request.log.error({ err: error }, 'damaged data')
    return withExtensions(makeProblem(error.type, error.message, problemDetails(error)), error)
  }
  if (error instanceof ServerError) return makeProblem(error.type, error.message)
  if (error instanceof BodyValidationError) return error.problem
  if (error instanceof OperationFailure) {
    const { operation, cause } = error
    const problem = problemOf(cause, request)
    const { errors } = problem
    return {
      ...problem,
      message: `While executing operation ${operation}, encountered: ${problem.message}`,
      ...(errors === undefined ? {} : { errors: withinOperation(operation, errors) }),
      operation,
    }
  }
  if (error instanceof LineFailure) {
    const problem = problemOf(error.cause, request)
    return { ...problem, message: `Line ${error.line}: ${problem.message}`, line: error.line }
  }
  // Not an internal error, and the client is gone.
  if (error instanceof ClientDisconnected) return makeProblem('SystemError', error.message)
  const id = randomUUID()
  request.log.error({ err: error, errorId: id }, 'request failed')
  return makeProblem('SystemError', `Internal server error; the log of the server has details under the id ${id}.`)
}

/** Prefixes locations in the body of an operation with the location of that body in the transaction. */
function withinOperation(operation: number, errors: readonly ProblemDetail[]): ProblemDetail[] {
  return errors.map((error) => ({ ...error, pointer: `/${operation - 1}/body${error.pointer}` }))
}

const standardMembers = ['type', 'title', 'status', 'message', 'errors']

function withExtensions(problem: Problem, { extensions }: AshlarError): Problem {
  const added = Object.entries(extensions).filter(([name]) => !standardMembers.includes(name))
  return added.length === 0 ? problem : { ...problem, ...Object.fromEntries(added) }
}
