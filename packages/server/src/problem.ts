/** Whatever fails becomes one body shape (REST interface, section 1, Errors). Nothing else writes an error body. */
import { randomUUID } from 'node:crypto'
import { AshlarError, type ErrorDetail } from '@ashlar/engine'
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { type ProblemType, problemEntry, ServerError } from './server-errors.ts'

/** Readable by clients that look for `message` and `type`, and a valid problem document (RFC 9457). */
export interface Problem {
  readonly type: ProblemType
  readonly title: string
  readonly status: number
  readonly message: string
  readonly errors?: readonly ErrorDetail[]
}

const retryAfterSeconds = '1'

export function sendProblem(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const problem = toProblem(error, request)
  if (error instanceof ServerError) reply.headers(error.headers)
  if (problem.status === 503) reply.header('retry-after', retryAfterSeconds)
  const asksForProblem = request.headers.accept?.includes('application/problem+json') === true
  reply
    .code(problem.status)
    .header('content-type', asksForProblem ? 'application/problem+json' : 'application/json; charset=utf-8')
    .send(JSON.stringify(problem))
}

function toProblem(error: unknown, request: FastifyRequest): Problem {
  if (error instanceof AshlarError) return makeProblem(error.type, error.message, error.errors)
  if (error instanceof ServerError) return makeProblem(error.type, error.message)
  const known = fromFastify(error as FastifyError)
  if (known !== undefined) return known
  const id = randomUUID()
  request.log.error({ err: error, errorId: id }, 'request failed')
  return makeProblem('SystemError', `The server failed; its log tells more under the id ${id}.`)
}

function makeProblem(type: ProblemType, message: string, errors: readonly ErrorDetail[] = []): Problem {
  const { status, title } = problemEntry(type)
  return { type, title, status, message, ...(errors.length === 0 ? {} : { errors }) }
}

function fromFastify(error: FastifyError): Problem | undefined {
  if (error.validation !== undefined) return fromValidation(error)
  switch (error.code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return makeProblem('BodyTooLarge', 'The body is larger than the server takes.')
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
    case 'FST_CP_ERR_INVALID_CONTENT_ENCODING':
      return makeProblem('UnsupportedMediaType', `The body is not of a type that is taken here: ${error.message}.`)
    case 'FST_ERR_BAD_URL':
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return makeProblem('MalformedUrl', 'The path of the URL cannot be decoded.')
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
    case 'FST_CP_ERR_INVALID_CONTENT':
      return makeProblem('MalformedRequest', 'The body is not as long, or not encoded, as its headers say.')
    default:
      return isBrokenBody(error) ? makeProblem('MalformedRequest', 'The body cannot be decompressed.') : undefined
  }
}

/** zlib's errors of input that is not what Content-Encoding says. */
function isBrokenBody(error: { readonly code?: string }): boolean {
  return error.code?.startsWith('Z_') === true || error.code?.startsWith('ERR__ERROR_') === true
}

/** The first fault found, named by its place; unknown fields by their name. */
function fromValidation(error: FastifyError): Problem {
  const [fault] = error.validation ?? []
  const pointer = fault?.instancePath ?? ''
  const where = pointer === '' ? 'The body' : pointer
  const unknown = fault?.keyword === 'additionalProperties' ? fault.params?.additionalProperty : undefined
  if (unknown !== undefined) {
    const message = `${where} has no field '${String(unknown).slice(0, 60)}'.`
    return makeProblem('UnknownField', message, [{ pointer: `${pointer}/${String(unknown)}`, message }])
  }
  const missing = fault?.keyword === 'required' ? fault.params?.missingProperty : undefined
  const message =
    missing === undefined ? `${where} ${fault?.message ?? 'is malformed'}.` : `${where} needs the field '${missing}'.`
  return makeProblem('MalformedRequest', message, [{ pointer, message }])
}
