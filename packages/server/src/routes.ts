/** Registers the table of operations with Fastify. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { FederatedDatabases } from './federated-databases.ts'
import { contentTypeOf, negotiate, type ReplyType } from './negotiate.ts'
import type { Operation, OperationReply, ServiceContext } from './operations/operation.ts'
import { operations } from './operations/table.ts'
import { ClientGone, listed } from './problem.ts'
import { sendRows } from './row-reply.ts'
import { ServerError } from './server-errors.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route's operation takes text beside JSON. */
    readonly takesText?: boolean
  }
}

type Query = Readonly<Record<string, unknown>>

export function registerOperations(app: FastifyInstance, fds: FederatedDatabases, service: ServiceContext): void {
  for (const operation of operations) {
    app.route({
      method: operation.method,
      url: operation.path,
      config: { takesText: operation.takesText === true },
      ...(operation.body === undefined ? {} : { schema: { body: operation.body } }),
      ...(operation.isBodyCheckedByEngine === true ? { validatorCompiler: () => () => true } : {}),
      handler: (request, reply) => handle(operation, fds, service, request, reply),
    })
  }
}

const jsonOnly: readonly ReplyType[] = ['json']
const rowTypes: readonly ReplyType[] = ['json', 'ndjson']

/** Answers at once where the operation does: a read by OID then needs no promise at all. */
function handle(
  operation: Operation,
  fds: FederatedDatabases,
  service: ServiceContext,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> | undefined {
  const replyType = negotiate(request.headers.accept, operation.writesRows === true ? rowTypes : jsonOnly)
  const query = request.query as Query
  for (const name in query) if (name !== 'fdAlias') checkParameters(query, operation)
  const asked = {
    params: request.params as Readonly<Record<string, string>>,
    query,
    body: request.body,
    replyType,
    service,
    get signal() {
      return signalOf(reply)
    },
  }
  const answer = operation.scope === 'service' ? operation.run(asked) : operation.run(fds.resolve(query.fdAlias), asked)
  if (answer instanceof Promise) {
    return answer.then((later) => {
      if (later.rows !== undefined) return sendRows(later.rows, replyType, request, reply)
      return send(later, operation.status, reply)
    })
  }
  send(answer, operation.status, reply)
  return undefined
}

function send({ body, headers }: OperationReply, status: number, reply: FastifyReply): FastifyReply {
  reply.code(status)
  if (headers !== undefined) reply.headers(headers)
  if (body === undefined) return reply.send()
  reply.header('content-type', contentTypeOf.json)
  return reply.send(Buffer.isBuffer(body) ? body : JSON.stringify(body))
}

/** Made only for operations that ask for it: most end before a client could go away. */
function signalOf(reply: FastifyReply): AbortSignal {
  const controller = new AbortController()
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) controller.abort(new ClientGone())
  })
  return controller.signal
}

function checkParameters(query: Query, { queryParameters = {} }: Operation): void {
  const names = Object.keys(query).filter((name) => name !== 'fdAlias' && !Object.hasOwn(queryParameters, name))
  if (names.length > 0) throw new ServerError('UnknownParameter', `The operation has no parameter ${listed(names)}.`)
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
  app.addHook('onRoute', ({ url, method }) => {
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
