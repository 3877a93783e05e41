/** The routes of the table of operations, and the replies to unknown paths. */
import type { Awaitable, FederatedDatabase } from '@ashlar/engine'
import { subjectOf } from '../audit/subject.ts'
import { authorizeAhead, dispatch } from '../dispatch/dispatch.ts'
import { type Operation, type OperationReply, type ServiceContext, statementOf } from '../dispatch/operation.ts'
import { methodRefusal, pathOfTarget } from '../dispatch/router.ts'
import { ServerError } from '../errors/server-errors.ts'
import { BodyLines } from '../json/body-lines.ts'
import { smallBodyBytes } from '../limits.ts'
import type { OperationCounts, RequestCounts } from '../metrics/request-counts.ts'
import { operations } from '../operations/table.ts'
import { everyone } from '../security/caller.ts'
import { sendEvents } from './event-reply.ts'
import type { Handle, HttpRequest, Route, RouteTable } from './http-request.ts'
import { sendLines } from './line-reply.ts'
import { contentTypeOf, negotiate } from './negotiate.ts'
import type { WithBody } from './read-body.ts'
import { sendRows } from './row-reply.ts'
import { sendReply } from './send-reply.ts'
import { SingleRequest } from './single-request.ts'

export function registerOperations(
  routes: RouteTable,
  service: ServiceContext,
  withBody: WithBody,
  requests: RequestCounts,
): void {
  for (const operation of operations) {
    const counts = requests.of(operation)
    const handle = handleOf(operation, service, counts)
    routes.add(operation.method, operation.path, {
      path: operation.path,
      acceptsPlainText: operation.acceptsPlainText === true,
      bodyIsObject: operation.bodyIsObject === true,
      takesArray: operation.takesArray === true,
      takesOperations: operation.statement?.kind === 'transaction',
      isQuery: operation.statement?.kind === 'query',
      takesLines: operation.takesLines === true,
      needsCaller: operation.needs !== 'nothing',
      counts,
      checks: checksOf(operation, service),
      // Operations without authentication accept only small bodies.
      handle:
        operation.method === 'GET'
          ? handle
          : withBody(handle, operation.needs === 'nothing' ? smallBodyBytes : undefined),
    })
  }
}

/** Returns checks that do not depend on the body. */
function checksOf(operation: Operation, service: ServiceContext): Route['checks'] {
  const { federatedDatabases, statements, unknownCaller } = service
  const mayBeForbidden = unknownCaller !== everyone && operation.method !== 'GET'
  const authorizeCaller = (request: HttpRequest): void => {
    const { caller = unknownCaller, query } = request
    authorizeAhead(operation, caller, () => {
      const fd = federatedDatabases.resolve(query.fdAlias, caller)
      if (request.audit !== undefined) request.audit.fd = fd.alias
      return fd
    })
  }
  return [
    ...(mayBeForbidden ? [authorizeCaller] : []),
    ...(operation.statement === undefined ? [] : [(request: HttpRequest) => statements.checkRoom(request)]),
  ]
}

type Writable = Parameters<typeof negotiate>[1]

const jsonOnly: Writable = ['json']
const rowTypes: Writable = ['json', 'ndjson']
const textOnly: Writable = ['text']
const linesOnly: Writable = ['ndjson']

/** Runs the handle within the span of the request, also after its body has arrived. */
function handleOf(operation: Operation, service: ServiceContext, counts: OperationCounts): Handle {
  const handle = untracedHandleOf(operation, service, counts)
  const { traces } = service
  if (traces === undefined) return handle
  return (request) => {
    const { span } = request
    return span === undefined ? handle(request) : traces.within(span, () => handle(request))
  }
}

function untracedHandleOf(operation: Operation, service: ServiceContext, counts: OperationCounts): Handle {
  const writable = operation.writes ?? (operation.streamsRows === true ? rowTypes : jsonOnly)
  return (request) => {
    request.counts = counts
    if (request.body instanceof BodyLines) return handleLines(operation, service, request)
    const returnsText = operation.returnsText?.(request.query) === true
    const chosen = operation.replyTypeOf?.({ query: request.query })
    const writableNow: Writable = chosen === undefined ? (returnsText ? textOnly : writable) : [chosen]
    const replyType = negotiate(request.headers.accept, writableNow)
    // A follower is not a statement, and occupies no slot.
    const form = replyType === 'events' ? undefined : statementOf(operation, request.body)
    const single = new SingleRequest(request, replyType, service, form)
    return form === undefined ? handleDirectly(operation, single, request) : handleStatement(operation, single, request)
  }
}

/** The reply is made of lines as well. */
function handleLines(operation: Operation, service: ServiceContext, request: HttpRequest): Promise<void> | undefined {
  try {
    const replyType = negotiate(request.headers.accept, linesOnly)
    const single = new SingleRequest(request, replyType, service, statementOf(operation, request.body))
    const handled = handleStatement(operation, single, request)
    return handled?.catch((error) => {
      throw unread(error, request)
    })
  } catch (error) {
    throw unread(error, request)
  }
}

/** Returns the error for a request with an unread body, whose reply closes the connection. */
function unread(error: unknown, request: HttpRequest): unknown {
  if (!request.raw.complete) request.endConnection()
  return error
}

/** Returns no promise if the operation needs none. */
function handleDirectly(operation: Operation, single: SingleRequest, request: HttpRequest): Promise<void> | undefined {
  const answer = dispatch(operation, single, single)
  if (answer instanceof Promise) return sendAsync(answer, operation, single, request)
  send(answer, operation, single, request)
  return undefined
}

/** Sends a reply that took longer, for which a statement may have been created. */
function sendAsync(
  answer: Promise<OperationReply>,
  operation: Operation,
  single: SingleRequest,
  request: HttpRequest,
): Promise<void> {
  const fail = (error: unknown): never => {
    throw failed(error, single, request)
  }
  return answer.then((later) => {
    const { statement } = single
    if (statement === undefined) return send(later, operation, single, request)
    try {
      send({ ...later, headers: { ...statement.headers, ...later.headers } }, operation, single, request)
      statement.worked()
    } catch (error) {
      fail(error)
    }
  }, fail)
}

/** The slot is released once the rows are being sent. */
function handleStatement(operation: Operation, single: SingleRequest, request: HttpRequest): Promise<void> | undefined {
  let sent: Awaitable<void>
  try {
    const answer = dispatch(operation, single, single)
    sent =
      answer instanceof Promise
        ? answer.then((later) => sendAnswer(later, operation, single, request))
        : sendAnswer(answer, operation, single, request)
  } catch (error) {
    throw failed(error, single, request)
  }
  if (sent instanceof Promise) {
    return sent.then(
      () => single.statement?.worked(),
      (error) => {
        throw failed(error, single, request)
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
  request: HttpRequest,
): Awaitable<void> {
  const { statement, replyType } = single
  if (answer.rows !== undefined) return sendRows(answer.rows, replyType, request, statement)
  if (answer.lines !== undefined) return sendLines(answer.lines, request, statement)
  const headers = { ...statement?.headers, ...answer.headers }
  return send({ ...answer, headers }, operation, single, request)
}

/** Adds the ID of the statement to the error. */
function failed(error: unknown, { statement }: SingleRequest, { response }: HttpRequest): unknown {
  if (statement === undefined) return error
  statement.worked()
  if (!response.headersSent) response.setHeader('statement-id', statement.id)
  return error
}

/** Replies up to this size are buffered for a client without being counted. */
const uncountedReplyBytes = 65_536

/** Throws ServerBusy and TooManyRequests if there is no memory for a large reply to a read, until its client has received it. */
function send(answer: OperationReply, operation: Operation, single: SingleRequest, request: HttpRequest): void {
  const { fd }: { readonly fd?: FederatedDatabase } = single
  const { body, headers, status = operation.status, type } = answer
  const { audit, params, response } = request
  if (audit !== undefined && operation.tag === 'Security') audit.subject = subjectOf(operation.path, params, body)
  if (answer.events !== undefined) {
    sendEvents(answer.events, request)
    return
  }
  // A reply without rows also has its type.
  if (body === undefined) {
    sendReply(request, status, headers, type && contentTypeOf[type])
    return
  }
  const payload = Buffer.isBuffer(body) ? body : JSON.stringify(body)
  // A request that has changed data is not refused, however long its reply is.
  const isRead = operation.method === 'GET' && fd !== undefined
  if (isRead && payload.length > uncountedReplyBytes && !response.destroyed) {
    response.once('close', fd.reserveMemory(payload.length, single.memoryHolder))
  }
  sendReply(request, status, headers, contentTypeOf[type ?? 'json'], payload)
}

/** Answers OPTIONS, unsupported methods, and unknown paths. */
export function unroutedHandle(routes: RouteTable, withBody: WithBody): Handle {
  const answer: Handle = (request) => {
    const path = pathOfTarget(request.url)
    const allow = routes.methodsAt(path)
    if (allow === undefined) {
      const message = `There is nothing at ${path.slice(0, 200)}; GET /v1 lists the resources.`
      throw new ServerError('ResourceNotFound', message)
    }
    if (request.method !== 'OPTIONS') {
      throw new ServerError('MethodNotAllowed', methodRefusal(path, request.method, allow.split(', ')), { allow })
    }
    sendReply(request, 204, { allow })
    return undefined
  }
  const answerAfterBody = withBody(answer)
  // Unsupported methods are refused before the body, which may be long, or never arrive.
  return (request) => {
    const isRefused = request.method !== 'OPTIONS' && routes.methodsAt(pathOfTarget(request.url)) !== undefined
    return (isRefused ? answer : answerAfterBody)(request)
  }
}
