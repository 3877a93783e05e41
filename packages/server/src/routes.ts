/** Registers the table of operations with Fastify. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { FederatedDatabases } from './federated-databases.ts'
import { checkAccept } from './negotiate.ts'
import type { Operation, OperationReply, ServiceContext } from './operations/operation.ts'
import { operations, type Resource, resources } from './operations/table.ts'
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

async function handle(
  operation: Operation,
  fds: FederatedDatabases,
  service: ServiceContext,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  checkAccept(request.headers.accept)
  const query = request.query as Query
  for (const name in query) if (name !== 'fdAlias') throw unknownParameter(name)
  const asked = {
    params: request.params as Readonly<Record<string, string>>,
    body: request.body,
    service,
    get signal() {
      return signalOf(request)
    },
  }
  const answer =
    operation.scope === 'service' ? operation.run(asked) : await operation.run(fds.resolve(query.fdAlias), asked)
  return send(answer, operation.status, reply)
}

function send({ body, headers }: OperationReply, status: number, reply: FastifyReply): FastifyReply {
  reply.code(status)
  if (headers !== undefined) reply.headers(headers)
  if (body === undefined) return reply.send()
  reply.header('content-type', 'application/json; charset=utf-8')
  return reply.send(Buffer.isBuffer(body) ? body : JSON.stringify(body))
}

/** Made only for operations that ask for it: most end before a client could go away. */
function signalOf(request: FastifyRequest): AbortSignal {
  const controller = new AbortController()
  request.raw.socket.once('close', () => controller.abort(new Error('the client went away')))
  return controller.signal
}

function unknownParameter(name: string): ServerError {
  return new ServerError('UnknownParameter', `The operation has no parameter '${name.slice(0, 60)}'.`)
}

interface PathPattern {
  readonly pattern: RegExp
  readonly allowed: string
}

const patterns: readonly PathPattern[] = resources.map(toPattern)

function toPattern({ uri, supportedMethods }: Resource): PathPattern {
  const path = uri.replace(/\{\w+\}/g, '[^/]+').replace(/\/$/, '')
  const methods = supportedMethods.includes('GET') ? [...supportedMethods, 'HEAD'] : [...supportedMethods]
  return { pattern: new RegExp(`^${path}/?$`), allowed: [...methods, 'OPTIONS'].join(', ') }
}

/** What no route takes: OPTIONS and methods that the path does not have, and paths that do not exist. */
export function handleUnrouted(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const path = request.url.split('?', 1)[0] ?? ''
  const matching = patterns.find(({ pattern }) => pattern.test(path))
  if (matching === undefined) {
    throw new ServerError('ResourceNotFound', `There is nothing at ${path.slice(0, 200)}; GET /v1 lists the resources.`)
  }
  if (request.method === 'OPTIONS') return reply.code(204).header('allow', matching.allowed).send()
  throw new ServerError('MethodNotAllowed', `${path.slice(0, 200)} does not have the method ${request.method}.`, {
    allow: matching.allowed,
  })
}
