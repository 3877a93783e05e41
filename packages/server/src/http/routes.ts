/** Registers the table of operations with Fastify. */
import type { FederatedDatabase, RequestId } from '@ashlar/engine'
import type { FastifyInstance, FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify'
import { checkParameters } from '../dispatch/find-operation.ts'
import type {
  FdOperation,
  Operation,
  OperationReply,
  OperationRequest,
  ReplyType,
  ServiceContext,
} from '../dispatch/operation.ts'
import { requireBody } from '../dispatch/require-body.ts'
import { runOnce } from '../dispatch/run-once.ts'
import { ClientDisconnected } from '../errors/request-errors.ts'
import { ServerError } from '../errors/server-errors.ts'
import type { FederatedDatabases } from '../federated-databases.ts'
import { operations } from '../operations/table.ts'
import type { Statement } from '../statements/statement.ts'
import type { Schema } from '../wire/json-schema.ts'
import { contentTypeOf, negotiate } from './negotiate.ts'
import { requestIdOf } from './request-id.ts'
import { sendRows } from './row-reply.ts'
import { validateBody } from './validate-body.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route's operation takes text beside JSON. */
    readonly acceptsPlainText?: boolean
    /** The body is one object to be created or changed. */
    readonly bodyIsObject?: boolean
    /** The path does not have the method: the route only says so. */
    readonly isRefused?: boolean
  }
}

type Query = Readonly<Record<string, unknown>>

export function registerOperations(app: FastifyInstance, fds: FederatedDatabases, service: ServiceContext): void {
  for (const operation of operations) {
    app.route({
      method: operation.method,
      url: operation.path,
      config: { acceptsPlainText: operation.acceptsPlainText === true, bodyIsObject: operation.bodyIsObject === true },
      ...(operation.body === undefined || operation.isBodyCheckedByEngine === true
        ? {}
        : { schema: { body: operation.body } }),
      ...(operation.statement === undefined ? {} : { onRequest: refuseBeforeBody(service) }),
      handler: (request, reply) => handle(operation, fds, service, request, reply),
    })
  }
  registerMethodNotAllowed(app)
}

function refuseBeforeBody({ statements }: ServiceContext): onRequestHookHandler {
  return (request, reply, done) => {
    try {
      statements.checkRoom(request)
      done()
    } catch (error) {
      // Its body was not read.
      if (!request.raw.complete) reply.header('connection', 'close')
      done(error as Error)
    }
  }
}

/** A fixed path goes before one with a parameter, also for methods that it does not have: no class is called `namespace`. */
function registerMethodNotAllowed(app: FastifyInstance): void {
  const fixed = new Set(operations.map(({ path }) => path).filter((path) => !path.includes(':')))
  for (const url of fixed) {
    const own = operations.filter(({ path }) => path === url).map(({ method }) => method)
    const covering = operations.filter(({ path }) => path.includes(':') && toPattern(path).test(url))
    const missing = new Set(covering.map(({ method }) => method).filter((method) => !own.includes(method)))
    for (const method of missing) {
      const refuse = (): never => {
        const allow = methodOrder.filter((word) => allowedBy(own).has(word)).join(', ')
        throw new ServerError('MethodNotAllowed', `${url} does not have the method ${method}.`, { allow })
      }
      app.route({ method, url, config: { isRefused: true }, onRequest: async () => refuse(), handler: refuse })
    }
  }
}

function allowedBy(methods: readonly string[]): Set<string> {
  return new Set([...methods, ...(methods.includes('GET') ? ['HEAD'] : []), 'OPTIONS'])
}

type Writable = readonly [ReplyType, ...ReplyType[]]

const jsonOnly: Writable = ['json']
const rowTypes: Writable = ['json', 'ndjson']
const textOnly: Writable = ['text']

function writableBy(operation: Operation, query: Query): Writable {
  if (operation.asksForText?.(query) === true) return textOnly
  return operation.streamsRows === true ? rowTypes : jsonOnly
}

/** Answers at once where the operation does: a read by OID then needs no promise at all. */
function handle(
  operation: Operation,
  fds: FederatedDatabases,
  service: ServiceContext,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> | undefined {
  const query = request.query as Query
  const replyType = negotiate(request.headers.accept, writableBy(operation, query))
  for (const name in query) if (name !== 'fdAlias') checkParameters(query, operation)
  if (operation.isBodyCheckedByEngine === true) requireBody(request.body)
  let statement: Statement | undefined
  let signal: AbortSignal | undefined
  const asked = {
    params: request.params as Readonly<Record<string, string>>,
    query,
    body: request.body,
    headers: request.headers,
    replyType,
    service,
    check: (schema: Schema, body: unknown) => validateBody(schema, body, request),
    get signal() {
      signal ??= statement?.signal ?? signalOf(reply)
      return signal
    },
    get mayGoOn() {
      return statement?.mayGoOn
    },
    get onEnded() {
      return statement?.breakOff
    },
  }
  const run = (): OperationReply | Promise<OperationReply> =>
    operation.scope === 'service' ? operation.run(asked) : runWithin(operation, fds, asked, idOf(operation, request))
  const deliver = (answer: OperationReply): FastifyReply | Promise<FastifyReply> => {
    if (answer.rows !== undefined) return sendRows(answer.rows, replyType, request, reply, statement)
    return send(answer, operation.status, reply)
  }
  statement = beginStatement(operation, fds, asked, request, reply)
  if (statement !== undefined) return carryOut(statement, async () => deliver(await run()))
  const answer = run()
  if (answer instanceof Promise) return answer.then(deliver)
  send(answer, operation.status, reply)
  return undefined
}

async function carryOut(statement: Statement, work: () => Promise<FastifyReply>): Promise<FastifyReply> {
  try {
    const turn = statement.mayBegin()
    if (turn !== undefined) await turn
    return await work()
  } finally {
    statement.worked()
  }
}

function beginStatement(
  operation: Operation,
  fds: FederatedDatabases,
  asked: OperationRequest,
  request: FastifyRequest,
  reply: FastifyReply,
): Statement | undefined {
  if (operation.statement === undefined || operation.scope !== 'fd') return undefined
  const { alias: fdAlias } = fdOf(operation, fds, asked)
  const { kind, text } = operation.statement
  const begun = asked.service.statements.begin({ kind, text: text(asked.body), fdAlias }, request, reply)
  reply.header('statement-id', begun.id)
  return begun
}

function fdOf(operation: FdOperation, fds: FederatedDatabases, request: OperationRequest): FederatedDatabase {
  return operation.chooseFd?.(request) ?? fds.resolve(request.query.fdAlias)
}

function runWithin(
  operation: FdOperation,
  fds: FederatedDatabases,
  request: OperationRequest,
  requestId: RequestId | undefined,
): OperationReply | Promise<OperationReply> {
  const fd = fdOf(operation, fds, request)
  // Not a copy: it would ask for the signal.
  const within = Object.assign(request, { fd, requestId })
  return requestId === undefined ? operation.run(fd, within) : runOnce(operation, within)
}

/** Reading is the same however often it is done. */
function idOf({ method }: Operation, request: FastifyRequest): RequestId | undefined {
  return method === 'GET' ? undefined : requestIdOf(request)
}

function send(answer: OperationReply, usual: number, reply: FastifyReply): FastifyReply {
  const { body, headers, status = usual, type } = answer
  reply.code(status)
  if (headers !== undefined) reply.headers(headers)
  // A reply without rows is of its type as well.
  if (body !== undefined || type !== undefined) reply.header('content-type', contentTypeOf[type ?? 'json'])
  if (body === undefined) return reply.send()
  return reply.send(Buffer.isBuffer(body) ? body : JSON.stringify(body))
}

/** Made only for operations that ask for it: most end before a client could go away. */
function signalOf(reply: FastifyReply): AbortSignal {
  const controller = new AbortController()
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) controller.abort(new ClientDisconnected())
  })
  return controller.signal
}

interface Path {
  readonly pattern: RegExp
  readonly methods: Set<string>
}

const methodOrder = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS']

/**
 * Notes every path that is registered from here on. Returns what answers a request that no route takes: OPTIONS,
 * methods that the path does not have, and paths that do not exist.
 */
export function collectPaths(app: FastifyInstance): (request: FastifyRequest, reply: FastifyReply) => FastifyReply {
  const byUrl = new Map<string, Path>()
  app.addHook('onRoute', ({ url, method, config }) => {
    if (config?.isRefused === true) return
    const path = byUrl.get(url) ?? { pattern: toPattern(url), methods: new Set(['OPTIONS']) }
    for (const word of [method].flat()) path.methods.add(word)
    byUrl.set(url, path)
  })
  const find = (path: string): Path | undefined => {
    // A fixed path goes before one with a parameter: no class is called `namespace`.
    const matching = [...byUrl].filter(([, { pattern }]) => pattern.test(path))
    return (matching.find(([url]) => !url.includes(':')) ?? matching[0])?.[1]
  }
  return (request, reply) => {
    const path = request.url.split('?', 1)[0] ?? ''
    const found = find(path)
    if (found === undefined) {
      const message = `There is nothing at ${path.slice(0, 200)}; GET /v1 lists the resources.`
      throw new ServerError('ResourceNotFound', message)
    }
    const allow = methodOrder.filter((method) => found.methods.has(method)).join(', ')
    if (request.method === 'OPTIONS') return reply.code(204).header('allow', allow).send()
    const message = `${path.slice(0, 200)} does not have the method ${request.method}.`
    throw new ServerError('MethodNotAllowed', message, { allow })
  }
}

function toPattern(url: string): RegExp {
  return new RegExp(`^${url.replace(/\/$/, '').replace(/[.]/g, '\\.').replace(/:\w+/g, '[^/]+')}/?$`)
}
