/** Whatever fails becomes one body shape (REST interface, section 1, Errors). Nothing else writes an error body. */
import { randomUUID } from 'node:crypto'
import { type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { AshlarError, type ErrorDetail } from '@ashlar/engine'
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import type { ServerLimits } from './limits.ts'
import { lingerAfter } from './linger.ts'
import type { Schema } from './operations/json-schema.ts'
import { type ProblemType, problemEntry, ServerError } from './server-errors.ts'

/** Readable by clients that look for `message` and `type`, and a valid problem document (RFC 9457). */
export interface Problem {
  readonly type: ProblemType
  readonly title: string
  readonly status: number
  readonly message: string
  readonly errors?: readonly ErrorDetail[]
  /** Of an AshlarError: its extensions. */
  readonly [extension: string]: unknown
}

/** Told by the log alone, since nobody is there to get it; the number is custom. */
export const clientGoneStatus = 499

/** The client went away: whatever comes of the request, nobody is told. */
export class ClientGone extends Error {
  constructor() {
    super('the client went away')
  }
}

/** An operation of a transaction failed: with its status and type, and which one it was (REST interface, section 7). */
export class OperationFailure extends Error {
  /** From 1. */
  readonly operation: number
  override readonly cause: AshlarError | ServerError | BodyFault

  constructor(operation: number, cause: AshlarError | ServerError | BodyFault) {
    super(cause.message)
    this.operation = operation
    this.cause = cause
  }
}

/** A body within a request that is not as its schema has it. */
export class BodyFault extends Error {
  readonly problem: Problem

  constructor(problem: Problem) {
    super(problem.message)
    this.problem = problem
  }
}

/** What the engine checks itself it takes for a value; that there is none at all is told here. Throws BodyFault. */
export function checkBodyIsThere(body: unknown): void {
  if (body === undefined) throw new BodyFault(fromFaults([], undefined, undefined))
}

/** Throws BodyFault. */
export function checkBody(schema: Schema, body: unknown, request: FastifyRequest): void {
  const validate = request.getValidationFunction(schema) ?? request.compileValidationSchema(schema)
  if (validate(body)) return
  const errors = (validate as { readonly errors?: readonly Fault[] }).errors ?? []
  throw new BodyFault(fromFaults(errors, body, schema))
}

const retryAfterSeconds = '1'

export function sendProblem(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  if (error instanceof ClientGone) return void reply.code(clientGoneStatus).send()
  const problem = toProblem(error, request)
  lingerAfter(request.raw)
  const cause = error instanceof OperationFailure ? error.cause : error
  if (cause instanceof ServerError) reply.headers(cause.headers)
  const isLasting = cause instanceof AshlarError && cause.isLasting
  if (problemEntry(problem.type).isRepeatable && !isLasting) reply.header('retry-after', retryAfterSeconds)
  const asksForProblem = request.headers.accept?.includes('application/problem+json') === true
  reply
    .code(problem.status)
    .header('content-type', asksForProblem ? 'application/problem+json' : 'application/json; charset=utf-8')
    .send(JSON.stringify(problem))
}

/** Our own faults are logged here, under the id that the message tells. */
export function toProblem(error: unknown, request: FastifyRequest): Problem {
  const problem = problemOf(error, request)
  // A body that is a text, or missing, has no places that a JSON pointer could name.
  if (request.body !== undefined && request.headers['content-type'] !== 'text/plain') return problem
  const { errors: _, ...rest } = problem
  return rest
}

function problemOf(error: unknown, request: FastifyRequest): Problem {
  if (error instanceof AshlarError) {
    // Nothing that a client did: the operator has to know.
    if (error.kind === 'fault') request.log.error({ err: error }, 'damaged data')
    return withExtensions(makeProblem(error.type, error.message, error.errors), error)
  }
  if (error instanceof ServerError) return makeProblem(error.type, error.message)
  if (error instanceof BodyFault) return error.problem
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
  const known = fromFastify(error as FastifyError, request)
  if (known !== undefined) return known
  const id = randomUUID()
  request.log.error({ err: error, errorId: id }, 'request failed')
  return makeProblem('SystemError', `The server failed; its log tells more under the id ${id}.`)
}

/** Places in the body of an operation are places in the body of the transaction. */
function withinOperation(operation: number, errors: readonly ErrorDetail[]): ErrorDetail[] {
  return errors.map(({ pointer, message }) => ({ pointer: `/${operation - 1}/body${pointer}`, message }))
}

function makeProblem(type: ProblemType, message: string, errors: readonly ErrorDetail[] = []): Problem {
  const { status, title } = problemEntry(type)
  return { type, title, status, message, ...(errors.length === 0 ? {} : { errors }) }
}

const ownMembers = ['type', 'title', 'status', 'message', 'errors']

function withExtensions(problem: Problem, { extensions }: AshlarError): Problem {
  const added = Object.entries(extensions).filter(([name]) => !ownMembers.includes(name))
  return added.length === 0 ? problem : { ...problem, ...Object.fromEntries(added) }
}

function fromFastify(error: FastifyError, request: FastifyRequest): Problem | undefined {
  if (error.validation !== undefined) return fromValidation(error, request)
  switch (error.code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return makeProblem('BodyTooLarge', 'The body is larger than the server takes.')
    case 'FST_ERR_BAD_URL':
      return makeProblem('MalformedUrl', 'The path of the URL cannot be decoded.')
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return makeProblem('MalformedUrl', 'A part of the path is longer than any name.')
    default:
      // What Fastify finds in a request; a body that breaks off, for one.
      if (error.statusCode === undefined || error.statusCode < 400 || error.statusCode >= 500) return undefined
      return makeProblem('MalformedRequest', 'The length or the encoding of the body does not match its headers.')
  }
}

interface Fault {
  readonly keyword?: string
  readonly instancePath?: string
  readonly message?: string
  readonly params?: Readonly<Record<string, unknown>>
}

function fromValidation({ validation }: FastifyError, { body, routeOptions }: FastifyRequest): Problem {
  return fromFaults(validation ?? [], body, routeOptions.schema?.body)
}

/** The first fault found, named by its place; unknown fields by their names. */
function fromFaults(faults: readonly Fault[], body: unknown, schema: unknown): Problem {
  const [fault] = faults
  const pointer = fault?.instancePath ?? ''
  const where = pointer === '' ? 'The body' : pointer
  if (body === undefined) return makeProblem('MalformedRequest', 'The operation needs a body.')
  if (fault?.keyword === 'additionalProperties') return fromUnknownFields(body, schema)
  const missing = fault?.keyword === 'required' ? fault.params?.missingProperty : undefined
  const message =
    missing === undefined ? `${where} ${fault?.message ?? 'is malformed'}.` : `${where} needs the field '${missing}'.`
  return makeProblem('MalformedRequest', message, [{ pointer, message }])
}

function fromUnknownFields(body: unknown, schema: unknown): Problem {
  const known = Object.keys((schema as { readonly properties?: object } | undefined)?.properties ?? {})
  const names = Object.keys(body as object).filter((name) => !known.includes(name))
  const message = `The body has no field ${listed(names)}.`
  const details = names.slice(0, namesListedMax).map((name) => {
    // Not repeated in full, and a part of it is no place.
    const pointer = name.length > nameCharactersMax ? '' : `/${name.replace(/~/g, '~0').replace(/\//g, '~1')}`
    return { pointer, message: 'is not a field of the operation' }
  })
  return makeProblem('UnknownField', message, details)
}

const namesListedMax = 10
const nameCharactersMax = 60

/** Names as a client sent them, bounded. */
export function listed(names: readonly string[]): string {
  const shown = names.slice(0, namesListedMax).map((name) => `'${name.slice(0, nameCharactersMax)}'`)
  return `${shown.join(', ')}${names.length > namesListedMax ? ' and others' : ''}`
}

type BrokenRequest = Error & { readonly code?: string }

/** What is no HTTP request at all, has too large headers or does not arrive: no route sees it, or none is to. */
export function answerBrokenRequest(error: BrokenRequest, socket: Socket, limits: ServerLimits): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) return
  // Within a reply it would be taken for a part of that.
  if ((socket as { readonly _httpMessage?: ServerResponse })._httpMessage?.headersSent === true) {
    socket.destroy()
    return
  }
  const problem = problemOfBroken(error, limits)
  const body = JSON.stringify(problem)
  const head = [
    `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ]
  if (socket.writable) socket.write(`${head.join('\r\n')}\r\n\r\n${body}`)
  socket.destroySoon()
}

function problemOfBroken({ code }: BrokenRequest, limits: ServerLimits): Problem {
  if (code === 'HPE_HEADER_OVERFLOW') {
    const message = `The headers of the request are larger than ${limits.requestHeaderBytesMax} bytes (requestHeaderBytesMax).`
    return makeProblem('HeadersTooLarge', message)
  }
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    const { headersMsMax, requestMsMax } = limits
    const message = `The request took too long to arrive: its headers must arrive within ${headersMsMax} ms (headersMsMax), all of it within ${requestMsMax} ms (requestMsMax).`
    return makeProblem('RequestTimeout', message)
  }
  return makeProblem('MalformedRequest', 'The request is not valid HTTP.')
}
