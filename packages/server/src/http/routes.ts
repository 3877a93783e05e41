/** Registers the table of operations with Fastify, and answers what no operation takes. */
import type { Awaitable, FederatedDatabase } from '@ashlar/engine'
import type { Span } from '@opentelemetry/api'
import type { FastifyInstance, FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify'
import { subjectOf } from '../audit/subject.ts'
import { authorizeAhead, dispatch } from '../dispatch/dispatch.ts'
import { type Operation, type OperationReply, type ServiceContext, statementOf } from '../dispatch/operation.ts'
import { methodRefusal, type Router } from '../dispatch/router.ts'
import { ServerError } from '../errors/server-errors.ts'
import { BodyLines } from '../json/body-lines.ts'
import { smallBodyBytes } from '../limits.ts'
import type { OperationCounts, RequestCounts } from '../metrics/request-counts.ts'
import { operations } from '../operations/table.ts'
import { everyone } from '../security/caller.ts'
import { sendEvents } from './event-reply.ts'
import { sendLines } from './line-reply.ts'
import { contentTypeOf, negotiate } from './negotiate.ts'
import { turnOf } from './pipelining.ts'
import type { Handle, WithBody } from './read-body.ts'
import { sendRows } from './row-reply.ts'
import { sendReply } from './send-reply.ts'
import { SingleRequest } from './single-request.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route's operation takes text beside JSON. */
    readonly acceptsPlainText?: boolean
    /** The body is one object to be created or changed. */
    readonly bodyIsObject?: boolean
    /** Or an array of such. */
    readonly takesArray?: boolean
    /** Or lines of such. */
    readonly takesLines?: boolean
    /** The path does not have the method: the route only says so. */
    readonly isRefused?: boolean
    /** The route's operation is for callers who are known. */
    readonly needsCaller?: boolean
    /** Nobody need be known, and callers who are known are shown more. */
    readonly mayHaveCaller?: boolean
    /** By which requests that were refused before they came to the operation are counted. */
    readonly counts?: OperationCounts
  }
  interface FastifyRequest {
    /** Where requests are traced. */
    span?: Span
    /** By which it is counted, once it has come to its operation. */
    counts?: OperationCounts
  }
}

export function registerOperations(
  app: FastifyInstance,
  service: ServiceContext,
  router: Router,
  withBody: WithBody,
  requests: RequestCounts,
): void {
  for (const operation of operations) {
    const counts = requests.of(operation)
    app.route({
      method: operation.method,
      url: operation.path,
      config: {
        acceptsPlainText: operation.acceptsPlainText === true,
        bodyIsObject: operation.bodyIsObject === true,
        takesArray: operation.takesArray === true,
        takesLines: operation.takesLines === true,
        needsCaller: operation.needs !== 'nothing',
        counts,
      },
      onRequest: beforeBody(operation, service),
      handler:
        operation.method === 'GET'
          ? handlerOf(operation, service, counts)
          : withBody(handlerOf(operation, service, counts), bodyBytesOf(operation)),
    })
  }
  registerMethodNotAllowed(app, router)
}

/** Whoever need not be known has little to say. */
function bodyBytesOf({ needs }: Operation): number | undefined {
  return needs === 'nothing' ? smallBodyBytes : undefined
}

/** What is refused whatever the body says. */
function beforeBody(operation: Operation, service: ServiceContext): onRequestHookHandler[] {
  const { federatedDatabases, statements, unknownCaller } = service
  const mayBeForbidden = unknownCaller !== everyone && operation.method !== 'GET'
  const authorizeCaller = (request: FastifyRequest): void => {
    const { caller = unknownCaller, query } = request
    authorizeAhead(operation, caller, () => {
      const fd = federatedDatabases.resolve((query as Record<string, unknown>).fdAlias, caller)
      if (request.audit !== undefined) request.audit.fd = fd.alias
      return fd
    })
  }
  return [
    ...(mayBeForbidden ? [refusing(authorizeCaller)] : []),
    ...(operation.statement === undefined
      ? []
      : [refusing((request: FastifyRequest) => statements.checkRoom(request))]),
  ]
}

function refusing(check: (request: FastifyRequest) => void): onRequestHookHandler {
  return (request, reply, done) => {
    try {
      check(request)
      done()
    } catch (error) {
      // Its body was not read.
      if (!request.raw.complete) reply.raw.setHeader('connection', 'close')
      done(error as Error)
    }
  }
}

type Writable = Parameters<typeof negotiate>[1]

const jsonOnly: Writable = ['json']
const rowTypes: Writable = ['json', 'ndjson']
const textOnly: Writable = ['text']
const linesOnly: Writable = ['ndjson']

/** Begins when it is the request's turn on its connection. */
function handlerOf(operation: Operation, service: ServiceContext, counts: OperationCounts): Handle {
  const handle = tracedHandlerOf(operation, service, counts)
  return (request, reply) => {
    const turn = turnOf(reply.raw)
    return turn === undefined ? handle(request, reply) : turn.then(() => handle(request, reply))
  }
}

/** What the request begins belongs to its span, also where it goes on only once its body has come. */
function tracedHandlerOf(operation: Operation, service: ServiceContext, counts: OperationCounts): Handle {
  const handle = untracedHandlerOf(operation, service, counts)
  const { traces } = service
  if (traces === undefined) return handle
  return (request, reply) => {
    const { span } = request
    return span === undefined ? handle(request, reply) : traces.within(span, () => handle(request, reply))
  }
}

function untracedHandlerOf(operation: Operation, service: ServiceContext, counts: OperationCounts): Handle {
  const writable = operation.writes ?? (operation.streamsRows === true ? rowTypes : jsonOnly)
  return (request, reply) => {
    request.counts = counts
    if (request.body instanceof BodyLines) return handleLines(operation, service, request, reply)
    const asksForText = operation.asksForText?.(request.query as Record<string, unknown>) === true
    const chosen = operation.replyTypeOf?.({ query: request.query as Record<string, unknown> })
    const writableNow: Writable = chosen === undefined ? (asksForText ? textOnly : writable) : [chosen]
    const replyType = negotiate(request.headers.accept, writableNow)
    // Who follows is no statement, and takes no slot from them.
    const form = replyType === 'events' ? undefined : statementOf(operation, request.body)
    const single = new SingleRequest(request, reply, replyType, service, form)
    return form === undefined
      ? handleAtOnce(operation, single, reply)
      : handleStatement(operation, single, request, reply)
  }
}

/** The reply is made of lines as well. */
function handleLines(
  operation: Operation,
  service: ServiceContext,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> | undefined {
  try {
    const replyType = negotiate(request.headers.accept, linesOnly)
    const single = new SingleRequest(request, reply, replyType, service, statementOf(operation, request.body))
    const handled = handleStatement(operation, single, request, reply)
    return handled?.catch((error) => {
      throw unread(error, request, reply)
    })
  } catch (error) {
    throw unread(error, request, reply)
  }
}

/** The error, whose reply ends the connection where the client still sends. */
function unread(error: unknown, request: FastifyRequest, reply: FastifyReply): unknown {
  if (!request.raw.complete) reply.header('connection', 'close')
  return error
}

/** Without a promise where the operation needs none. */
function handleAtOnce(operation: Operation, single: SingleRequest, reply: FastifyReply): Promise<void> | undefined {
  const answer = dispatch(operation, single, single)
  if (answer instanceof Promise) return sendLater(answer, operation, single, reply)
  send(answer, operation, single, reply)
  return undefined
}

/** What took long has become a statement meanwhile. */
function sendLater(
  answer: Promise<OperationReply>,
  operation: Operation,
  single: SingleRequest,
  reply: FastifyReply,
): Promise<void> {
  const fail = (error: unknown): never => {
    throw failed(error, single, reply)
  }
  return answer.then((later) => {
    const { statement } = single
    if (statement === undefined) return send(later, operation, single, reply)
    try {
      send({ ...later, headers: { ...statement.headers, ...later.headers } }, operation, single, reply)
      statement.worked()
    } catch (error) {
      fail(error)
    }
  }, fail)
}

/** Its slot is given back once its rows are on their way. */
function handleStatement(
  operation: Operation,
  single: SingleRequest,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> | undefined {
  let sent: Awaitable<void>
  try {
    const answer = dispatch(operation, single, single)
    sent =
      answer instanceof Promise
        ? answer.then((later) => sendAnswer(later, operation, single, request, reply))
        : sendAnswer(answer, operation, single, request, reply)
  } catch (error) {
    throw failed(error, single, reply)
  }
  if (sent instanceof Promise) {
    return sent.then(
      () => single.statement?.worked(),
      (error) => {
        throw failed(error, single, reply)
      },
    )
  }
  single.statement?.worked()
  return undefined
}

function sendAnswer(
  answer: OperationReply,
  operation: Operation,
  single: SingleRequest,
  request: FastifyRequest,
  reply: FastifyReply,
): Awaitable<void> {
  const { statement, replyType } = single
  if (answer.rows !== undefined) return sendRows(answer.rows, replyType, request, reply, statement)
  if (answer.lines !== undefined) return sendLines(answer.lines, request, reply, statement)
  const headers = { ...statement?.headers, ...answer.headers }
  return send({ ...answer, headers }, operation, single, reply)
}

/** The error, whose reply names the statement. */
function failed(error: unknown, { statement }: SingleRequest, { raw }: FastifyReply): unknown {
  if (statement === undefined) return error
  statement.worked()
  if (!raw.headersSent) raw.setHeader('statement-id', statement.id)
  return error
}

/** Bytes of a reply that are held for a client without being counted. */
const uncountedReplyBytes = 65_536

/** Throws ServerBusy and TooManyRequests where so large a reply to a read finds no room until its client has taken it. */
function send(answer: OperationReply, operation: Operation, single: SingleRequest, reply: FastifyReply): void {
  const { fd }: { readonly fd?: FederatedDatabase } = single
  const { body, headers, status = operation.status, type } = answer
  const { audit, params } = reply.request
  if (audit !== undefined && operation.tag === 'Security') audit.subject = subjectOf(operation.path, params, body)
  if (answer.events !== undefined) {
    sendEvents(answer.events, reply)
    return
  }
  // A reply without rows is of its type as well.
  if (body === undefined) {
    sendReply(reply, status, headers, type && contentTypeOf[type])
    return
  }
  const payload = Buffer.isBuffer(body) ? body : JSON.stringify(body)
  // What has changed something is not refused any more, for whatever its reply takes.
  const isOfRead = operation.method === 'GET' && fd !== undefined
  if (isOfRead && payload.length > uncountedReplyBytes && !reply.raw.destroyed) {
    reply.raw.once('close', fd.reserveMemory(payload.length, single.memoryHolder))
  }
  sendReply(reply, status, headers, contentTypeOf[type ?? 'json'], payload)
}

/**
 * Answers OPTIONS, methods that a path does not have, and paths that do not exist. To be called before any route is registered; routes
 * that are no operations are entered in the router as they are.
 */
export function answerUnrouted(app: FastifyInstance, router: Router, withBody: WithBody): void {
  app.addHook('onRoute', ({ url, method, config }) => {
    if (config?.isRefused !== true) router.add(url, [method].flat())
  })
  const answer: Handle = (request, reply) => {
    const path = pathOf(request)
    const allow = router.methodsAt(path)
    if (allow === undefined) {
      const message = `There is nothing at ${path.slice(0, 200)}; GET /v1 lists the resources.`
      throw new ServerError('ResourceNotFound', message)
    }
    if (request.method !== 'OPTIONS') throw methodNotAllowed(request, allow)
    sendReply(reply, 204, { allow })
    return undefined
  }
  const answerAfterBody = withBody(answer)
  // What a path does not have is refused at once: the body may be long, or never come.
  app.setNotFoundHandler((request, reply) => {
    const isRefused = request.method !== 'OPTIONS' && router.methodsAt(pathOf(request)) !== undefined
    return (isRefused ? answer : answerAfterBody)(request, reply)
  })
}

/**
 * For the framework's router PUT /v1/schema/namespace would be a class, since namespaces have no PUT. Methods that it would find nowhere are refused where nothing
 * is found: each route takes a while at the start.
 */
function registerMethodNotAllowed(app: FastifyInstance, router: Router): void {
  const refuse = (request: FastifyRequest): never => {
    throw methodNotAllowed(request, router.methodsAt(pathOf(request)))
  }
  const [withParameters, fixed] = [true, false].map((isWanted) =>
    operations.filter(({ path }) => path.includes(':') === isWanted),
  ) as [Operation[], Operation[]]
  const elsewhere = withParameters.map(({ method, path }) => ({ method, paths: pathsLike(path) }))
  for (const url of new Set(fixed.map(({ path }) => path))) {
    const found = new Set(elsewhere.filter(({ paths }) => paths.test(url)).map(({ method }) => method))
    const missing = [...found].filter((method) => !fixed.some((other) => other.path === url && other.method === method))
    if (missing.length === 0) continue
    app.route({
      method: missing,
      url,
      config: { isRefused: true },
      onRequest: async (request) => refuse(request),
      handler: refuse,
    })
  }
}

/** `path`: with `:name` for parameters. */
function pathsLike(path: string): RegExp {
  return new RegExp(`^${path.replaceAll(/:\w+/g, '[^/]+')}$`)
}

function pathOf({ url }: FastifyRequest): string {
  return url.split('?', 1)[0] ?? ''
}

function methodNotAllowed(request: FastifyRequest, allow = ''): ServerError {
  const message = methodRefusal(pathOf(request), request.method, allow.split(', '))
  return new ServerError('MethodNotAllowed', message, { allow })
}
