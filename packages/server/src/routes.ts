/** Registers the table of operations with Fastify. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { FederatedDatabases } from './federated-databases.ts'
import { checkAccept } from './negotiate.ts'
import type { Operation, OperationReply, ServiceContext } from './operations/operation.ts'
import { operations } from './operations/table.ts'
import { listed } from './problem.ts'
import { ServerError } from './server-errors.ts'

type Query = Readonly<Record<string, unknown>>

export function registerOperations(app: FastifyInstance, fds: FederatedDatabases, service: ServiceContext): void {
  for (const operation of operations) {
    app.route({
      method: operation.method,
      url: operation.path,
      ...(operation.body === undefined ? {} : { schema: { body: operation.body } }),
      ...(operation.isBodyCheckedByEngine === true ? { validatorCompiler: () => () => true } : {}),
      handler: (request, reply) => handle(operation, fds, service, request, reply),
    })
  }
}

/** Answers at once where the operation does: a read by OID then needs no promise at all. */
function handle(
  operation: Operation,
  fds: FederatedDatabases,
  service: ServiceContext,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> | undefined {
  checkAccept(request.headers.accept)
  const query = request.query as Query
  for (const name in query) if (name !== 'fdAlias') throw unknownParameters(query)
  const asked = {
    params: request.params as Readonly<Record<string, string>>,
    body: request.body,
    service,
    get signal() {
      return signalOf(reply)
    },
  }
  const answer = operation.scope === 'service' ? operation.run(asked) : operation.run(fds.resolve(query.fdAlias), asked)
  if (answer instanceof Promise) return answer.then((later) => send(later, operation.status, reply))
  send(answer, operation.status, reply)
  return undefined
}

function send({ body, headers }: OperationReply, status: number, reply: FastifyReply): FastifyReply {
  reply.code(status)
  if (headers !== undefined) reply.headers(headers)
  if (body === undefined) return reply.send()
  reply.header('content-type', 'application/json; charset=utf-8')
  return reply.send(Buffer.isBuffer(body) ? body : JSON.stringify(body))
}

/** Made only for operations that ask for it: most end before a client could go away. */
function signalOf(reply: FastifyReply): AbortSignal {
  const controller = new AbortController()
  // Also after the reply is sent, when nobody listens any more.
  reply.raw.once('close', () => controller.abort(new Error('the client went away')))
  return controller.signal
}

function unknownParameters(query: Query): ServerError {
  const names = Object.keys(query).filter((name) => name !== 'fdAlias')
  return new ServerError('UnknownParameter', `The operation has no parameter ${listed(names)}.`)
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
