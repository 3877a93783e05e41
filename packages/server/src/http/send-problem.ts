/** The body of all errors (contract 1.4.1). Nothing else writes an error body. */
import { randomUUID } from 'node:crypto'
import { AshlarError } from '@ashlar/engine'
import { isRepeatable, knownProblem, retryAfterSeconds, withoutPlaces } from '../errors/known-problem.ts'
import { makeProblem, type Problem } from '../errors/problem.ts'
import { ClientDisconnected, LineFailure, OperationFailure } from '../errors/request-errors.ts'
import { ServerError } from '../errors/server-errors.ts'
import type { HttpRequest } from './http-request.ts'
import { lingerAfter } from './linger.ts'
import { sendReply } from './send-reply.ts'

/** Used only in the log, since the client is gone; the number is custom. */
export const clientDisconnectedStatus = 499

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
  const headers = {
    ...(isRepeatable(problem, cause) && { 'retry-after': String(retryAfterSeconds) }),
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
  const hasPlaces = request.body !== undefined && request.headers['content-type'] !== 'text/plain'
  return hasPlaces ? problem : withoutPlaces(problem)
}

function problemOf(error: unknown, { log }: HttpRequest): Problem {
  const problem = knownProblem(error)
  if (problem !== undefined) {
    // Not caused by a client: the operator must know.
    const cause = error instanceof OperationFailure || error instanceof LineFailure ? error.cause : error
    if (cause instanceof AshlarError && cause.kind === 'fault') log.error({ err: cause }, 'damaged data')
    return problem
  }
  // Not an internal error, and the client is gone.
  if (error instanceof ClientDisconnected) return makeProblem('SystemError', error.message)
  const id = randomUUID()
  log.error({ err: error, errorId: id }, 'request failed')
  return makeProblem('SystemError', `Internal server error; the log of the server has details under the id ${id}.`)
}
