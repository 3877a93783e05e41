/** The HTTP server over a set of federated databases, not yet listening. */
import { AshlarError, type FederatedDatabase } from '@ashlar/engine'
import compress from '@fastify/compress'
import { type FastifyBaseLogger, type FastifyInstance, fastify, LogController } from 'fastify'
import type { Logger } from 'pino'
import { FederatedDatabases } from './federated-databases.ts'
import { registerHealth } from './health.ts'
import type { Limits } from './limits.ts'
import { checkContentType } from './negotiate.ts'
import { resources } from './operations/table.ts'
import { parseJson } from './parse-json.ts'
import { answerBrokenRequest, sendProblem } from './problem.ts'
import { registerReferencePage } from './reference-page.ts'
import { collectPaths, registerOperations } from './routes.ts'
import type { ServerError } from './server-errors.ts'

export interface ServerOptions {
  readonly federatedDatabases: readonly FederatedDatabase[]
  readonly defaultAlias: string | undefined
  readonly limits: Limits
  readonly isShutdownAllowed: boolean
  readonly logger: Logger
  /** Asked for by POST /shutdown. */
  onStop(): void
  /** From then on new requests are refused. */
  isStopping(): boolean
}

/** Replies shorter than this are not worth compressing. */
const compressedBytesMin = 1_024
const pathParameterCharactersMax = 4_096

export async function buildServer(options: ServerOptions): Promise<FastifyInstance> {
  const { limits } = options
  // The general type of loggers, lest this one's type becomes part of the instance's.
  const loggerInstance: FastifyBaseLogger = options.logger
  const app = fastify({
    loggerInstance,
    // One line a request, written below, instead of Fastify's two.
    logController: new LogController({ disableRequestLogging: true }),
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
  takeJsonBodies(app, limits)
  addHooks(app, options)
  await app.register(compress, { threshold: compressedBytesMin, encodings: ['br', 'gzip'] })
  const fds = new FederatedDatabases(options.federatedDatabases, options.defaultAlias)
  registerOperations(app, fds, {
    limits,
    startedAt: performance.now(),
    isShutdownAllowed: options.isShutdownAllowed,
    resources,
    stop: options.onStop,
  })
  registerHealth(app, fds, options.isStopping)
  await registerReferencePage(app)
  return app
}

function takeJsonBodies(app: FastifyInstance, limits: Limits): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (request, body, done) => {
    // What is checked here is checked for every route: a body that none asked for is not looked at.
    if (request.method === 'DELETE' || request.is404 || body.length === 0) return done(null, undefined)
    try {
      done(null, parseJson(body as Buffer, limits.jsonDepthMax))
    } catch (error) {
      done(error as Error)
    }
  })
}

function addHooks(app: FastifyInstance, { isStopping, logger }: ServerOptions): void {
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-content-type-options', 'nosniff')
    if (isStopping() && request.routeOptions.url?.startsWith('/health/') !== true) {
      reply.header('connection', 'close')
      return done(new AshlarError('ShuttingDown', 'The server is stopping and takes no further requests.'))
    }
    const { headers, method } = request.raw
    if (method === 'POST' || method === 'PUT') {
      try {
        if (!request.is404) checkContentType(headers['content-type'])
      } catch (error) {
        return done(error as ServerError)
      }
    }
    // The parser above takes any type; Fastify's own reading of a malformed one would refuse it.
    if (headers['content-type'] !== undefined) headers['content-type'] = 'application/json'
    done()
  })
  app.addHook('onResponse', (request, reply, done) => {
    if (logger.isLevelEnabled('info')) {
      const { method, url } = request
      logger.info({ method, url, status: reply.statusCode, ms: Math.round(reply.elapsedTime * 100) / 100 }, 'request')
    }
    // A connection that is kept alive would keep the server waiting for the next request on it.
    if (isStopping()) setImmediate(() => app.server.closeIdleConnections())
    done()
  })
}
