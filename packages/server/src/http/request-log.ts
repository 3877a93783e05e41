/** The log's one line a request. */
import { type FastifyInstance, type FastifyReply, type FastifyRequest, LogController } from 'fastify'
import type { Logger } from 'pino'
import { clientDisconnectedStatus } from './send-problem.ts'

/** Keeps the framework from writing lines of its own. */
export class OneLineARequest extends LogController {
  constructor() {
    super({ disableRequestLogging: true })
  }

  override streamError(): void {
    // A stream that broke off is told by the line of its request.
  }
}

/** Also of requests whose clients went away (`aborted`) and of replies that failed on the way (`brokenOff`). */
export function logRequests(app: FastifyInstance, logger: Logger): void {
  // The level stays as it is while the server runs.
  if (!logger.isLevelEnabled('info')) return
  app.addHook('onRequest', (request, reply, done) => {
    reply.raw.once('close', () => logUnfinished(request, reply, logger))
    done()
  })
  app.addHook('onResponse', (request, reply, done) => {
    logger.info(lineOf(request, reply, reply.statusCode), 'request')
    done()
  })
}

function logUnfinished(request: FastifyRequest, reply: FastifyReply, logger: Logger): void {
  const { raw } = reply
  if (raw.writableFinished) return
  const status = raw.headersSent ? reply.statusCode : clientDisconnectedStatus
  const how = raw.errored instanceof Error ? { brokenOff: true } : { aborted: true }
  logger.info({ ...lineOf(request, reply, status), ...how }, 'request')
}

/** Without the query string, in which clients may send what nobody else is to read. */
function lineOf({ method, url }: FastifyRequest, { elapsedTime }: FastifyReply, status: number): object {
  return { method, url: url.split('?', 1)[0], status, ms: Math.round(elapsedTime * 100) / 100 }
}
