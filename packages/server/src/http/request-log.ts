/** The log's one line a request. */
import type { ServerResponse } from 'node:http'
import { type Logger, symbols } from 'pino'
import { withoutTokens } from '../security/secrets.ts'
import { clientAddressOf } from '../shares/client-address.ts'
import { clientDisconnectedStatus } from './send-problem.ts'

/** To be told once a response has closed, for how long its request took, and what id it has, if any. */
export type LogRequest = (response: ServerResponse, tookMs: number, requestId: string | undefined) => void

/** What of a logger it takes to write lines as the logger does. */
interface LoggerParts {
  readonly [symbols.streamSym]: { write(line: string): void }
  /** What each line has after its time: members of the JSON object, with a comma before. */
  readonly [symbols.chindingsSym]: string
}

/**
 * Also of requests whose clients went away (`aborted`) and of replies that failed on the way (`brokenOff`). Undefined where the logger's
 * level leaves these lines out. They are put together here, since the logger takes longer for a line than the server for a read.
 */
export function requestLog(logger: Logger): LogRequest | undefined {
  // The level stays as it is while the server runs.
  if (!logger.isLevelEnabled('info')) return undefined
  const { [symbols.streamSym]: stream, [symbols.chindingsSym]: bindings } = logger as unknown as LoggerParts
  const level = logger.levels.values.info
  return (response, tookMs, requestId) => {
    const { method = '', url = '' } = response.req
    const searchAt = url.indexOf('?')
    // Without the query string, in which clients may send what nobody else is to read.
    const path = JSON.stringify(withoutTokens(searchAt < 0 ? url : url.slice(0, searchAt)))
    const ms = Math.round(tookMs * 100) / 100
    const address = `"clientAddress":"${clientAddressOf(response.req)}",`
    const id = requestId === undefined ? '' : `,"requestId":${JSON.stringify(requestId)}`
    const ending = `"status":${statusOf(response)},"ms":${ms}${howItEnded(response)}${id},"msg":"request"}\n`
    stream.write(
      `{"level":${level},"time":${Date.now()}${bindings},${address}"method":"${method}","url":${path},${ending}`,
    )
  }
}

/** As it is told: that of the reply, or that its client went away before there was any. */
export function statusOf({ writableFinished, headersSent, statusCode }: ServerResponse): number {
  return writableFinished || headersSent ? statusCode : clientDisconnectedStatus
}

function howItEnded({ writableFinished, errored }: ServerResponse): string {
  if (writableFinished) return ''
  // Node 24 destroys replies of clients that went away with an error, as it does their requests.
  const isBrokenOff = errored instanceof Error && (errored as NodeJS.ErrnoException).code !== 'ECONNRESET'
  return isBrokenOff ? ',"brokenOff":true' : ',"aborted":true'
}
