/** Writes the log line of each request. */
import type { ServerResponse } from 'node:http'
import type { Logger } from 'pino'
import { withoutTokens } from '../security/secrets.ts'
import { clientAddressOf } from '../shares/client-address.ts'
import { clientDisconnectedStatus } from './send-problem.ts'

/** Called once a response has closed, with the duration of the request and its id, if any. */
export type LogRequest = (response: ServerResponse, tookMs: number, requestId: string | undefined) => void

/**
 * Undefined if the level of the logger omits these lines. They are also written for requests whose clients disconnected (`aborted`), and for replies
 * that failed during transmission (`brokenOff`).
 */
export function requestLog(logger: Logger): LogRequest | undefined {
  // The level does not change while the server runs.
  if (!logger.isLevelEnabled('info')) return undefined
  return (response, tookMs, requestId) => {
    const { method, url = '' } = response.req
    // The query string is omitted, since clients may send secrets in it.
    const [path = ''] = url.split('?', 1)
    const line = {
      clientAddress: clientAddressOf(response.req),
      method,
      url: withoutTokens(path),
      status: statusOf(response),
      ms: Math.round(tookMs * 100) / 100,
      ...howItEnded(response),
      ...(requestId !== undefined && { requestId }),
    }
    logger.info(line, 'request')
  }
}

/** Returns the status of the reply, or 499 if the client disconnected before there was one. */
export function statusOf({ writableFinished, headersSent, statusCode }: ServerResponse): number {
  return writableFinished || headersSent ? statusCode : clientDisconnectedStatus
}

function howItEnded({ writableFinished, errored }: ServerResponse): object {
  if (writableFinished) return {}
  // Node 24 destroys the replies of clients that disconnected with an error, as it does their requests.
  const isFailed = errored instanceof Error && (errored as NodeJS.ErrnoException).code !== 'ECONNRESET'
  return isFailed ? { brokenOff: true } : { aborted: true }
}
