/** The HTTP server over a set of federated databases, not yet listening. */
import type { Socket } from 'node:net'
import { constants } from 'node:zlib'
import { AshlarError, type FederatedDatabase } from '@ashlar/engine'
import compress, { type FastifyCompressOptions } from '@fastify/compress'
import { type FastifyBaseLogger, type FastifyInstance, type FastifyRequest, fastify } from 'fastify'
import type { Logger } from 'pino'
import { FederatedDatabases } from './federated-databases.ts'
import { registerHealth } from './health.ts'
import { noteBody } from './idempotency/request-id.ts'
import type { Limits } from './limits.ts'
import { readContentType } from './negotiate.ts'
import { resources } from './operations/table.ts'
import { decodeText, parseJson } from './parse-json.ts'
import { answerBrokenRequest, sendProblem } from './problem.ts'
import { registerReferencePage } from './reference-page.ts'
import { logRequests, OneLineARequest } from './request-log.ts'
import { collectPaths, registerOperations } from './routes.ts'
import type { ServerError } from './server-errors.ts'
import { ToolRuns } from './tools/tool-runs.ts'
import { noSiblings, type Siblings } from './workers/siblings.ts'

export interface ServerOptions {
  readonly federatedDatabases: readonly FederatedDatabase[]
  readonly defaultAlias: string | undefined
  readonly limits: Limits
  readonly isShutdownAllowed: boolean
  readonly logger: Logger
  /** Other processes on the same port, if any. */
  readonly siblings?: Siblings
  /** Asked for by POST /shutdown. */
  onStop(): void
  /** From then on new requests are refused. */
  isStopping(): boolean
}

const compression: FastifyCompressOptions = {
  encodings: ['br', 'gzip'],
  // Shorter replies are not worth it.
  threshold: 1_024,
  customTypes: /^text\/|[+/](x-nd)?json(;|$)|[+/]xml(;|$)/,
  // Rows are on their way when they are there, not when there are enough of them.
  zlibOptions: { flush: constants.Z_SYNC_FLUSH },
  brotliOptions: { flush: constants.BROTLI_OPERATION_FLUSH },
}
const pathParameterCharactersMax = 4_096

export async function buildServer(options: ServerOptions): Promise<FastifyInstance> {
  const { limits } = options
  // The general type of loggers, lest this one's type becomes part of the instance's.
  const loggerInstance: FastifyBaseLogger = options.logger
  const app = fastify({
    loggerInstance,
    // One line a request, written below, instead of Fastify's two.
    logController: new OneLineARequest(),
    bodyLimit: limits.bodyBytesMax,
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: pathParameterCharactersMax },
    ajv: { customOptions: { coerceTypes: false, removeAdditional: false, useDefaults: false } },
    http: { maxHeaderSize: limits.requestHeaderBytesMax },
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    clientErrorHandler: answerBrokenRequest,
    frameworkErrors: (error, request, reply) => sendProblem(error, request, reply),
  })
  app.setErrorHandler((error, request, reply) => sendProblem(error, request, reply))
  app.setNotFoundHandler(collectPaths(app))
  takeBodies(app, limits)
  logRequests(app, options.logger)
  addHooks(app, options)
  closeUnusedConnections(app)
  await app.register(compress, compression)
  const toolRuns = new ToolRuns((err) => options.logger.error({ err }, 'a tool failed'))
  app.addHook('onClose', () => toolRuns.stop())
  const { siblings = noSiblings } = options
  siblings.answerWith(() => toolRuns.all())
  const fds = new FederatedDatabases(options.federatedDatabases, options.defaultAlias)
  registerOperations(app, fds, {
    limits,
    startedAt: (siblings.upSince ?? Date.now()) - performance.timeOrigin,
    isShutdownAllowed: options.isShutdownAllowed,
    resources,
    toolRuns,
    siblings,
    stop: options.onStop,
  })
  registerHealth(app, fds, options.isStopping)
  await registerReferencePage(app)
  return app
}

function takeBodies(app: FastifyInstance, limits: Limits): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (request, body, done) => {
    // What is checked here is checked for every route: a body that none asked for is not looked at.
    if (request.method === 'DELETE' || request.is404 || body.length === 0) return done(null, undefined)
    takeBody(request, body as Buffer, (bytes) => parseJson(bytes, limits.jsonDepthMax), done)
  })
  app.addContentTypeParser('text/plain', { parseAs: 'buffer' }, (request, body, done) => {
    const parse = (bytes: Buffer): unknown => (bytes.length === 0 ? undefined : { query: decodeText(bytes) })
    takeBody(request, body as Buffer, parse, done)
  })
}

/** `done` gets what `parse` makes of the body, or throws. */
function takeBody(
  request: FastifyRequest,
  body: Buffer,
  parse: (body: Buffer) => unknown,
  done: (error: Error | null, parsed?: unknown) => void,
): void {
  const end = (): void => {
    let parsed: unknown
    try {
      parsed = parse(body)
    } catch (error) {
      done(error as Error)
      return
    }
    done(null, parsed)
  }
  const noted = noteBody(request, body)
  if (noted === undefined) end()
  else void noted.then(end)
}

function addHooks(app: FastifyInstance, { isStopping }: ServerOptions): void {
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-content-type-options', 'nosniff')
    if (isStopping() && request.routeOptions.url?.startsWith('/health/') !== true) {
      reply.header('connection', 'close')
      return done(new AshlarError('ShuttingDown', 'The server is stopping and takes no further requests.'))
    }
    try {
      settleHeaders(request)
    } catch (error) {
      return done(error as ServerError)
    }
    done()
  })
  app.addHook('onResponse', (_request, _reply, done) => {
    // A connection that is kept alive would keep the server waiting for the next request on it.
    if (isStopping()) setImmediate(() => app.server.closeIdleConnections())
    done()
  })
}

/** To Node a connection is idle only after its first request: one on which nothing came would keep the server waiting. */
function closeUnusedConnections(app: FastifyInstance): void {
  const open = new Set<Socket>()
  app.server.on('connection', (socket: Socket) => {
    open.add(socket)
    socket.once('close', () => open.delete(socket))
  })
  app.addHook('preClose', (done) => {
    for (const socket of open) if (socket.bytesRead === 0) socket.destroy()
    done()
  })
}

/** Leaves the framework headers that it reads as we do. Throws UnsupportedMediaType. */
function settleHeaders(request: FastifyRequest): void {
  const { headers, method } = request.raw
  const takesBody = (method === 'POST' || method === 'PUT') && !request.is404
  const takesText = (): boolean => request.routeOptions.config.takesText === true
  const type = takesBody ? readContentType(headers['content-type'], takesText) : 'json'
  // Its own reading of a malformed one would refuse what is fine.
  if (headers['content-type'] !== undefined)
    headers['content-type'] = type === 'text' ? 'text/plain' : 'application/json'
  // Names of encodings are the same in any case (RFC 9110, 8.4.1).
  const encoding = headers['content-encoding']
  if (encoding !== undefined) headers['content-encoding'] = encoding.trim().toLowerCase()
}
