/** Stops a server: each request on an existing connection gets a reply, and running requests complete. */
import type { IncomingHttpHeaders } from 'node:http'
import { Server, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { AshlarError, type Placed, UnorderedSet } from '@ashlar/engine'
import { idleConnectionMs, type ServerLimits } from '../limits.ts'
import type { HttpRequest } from './http-request.ts'
import type { Http2Sessions } from './http2-sessions.ts'
import { sendProblem } from './send-problem.ts'

export interface ActiveRequest extends Placed {
  readonly request: HttpRequest
}

export interface ActiveRequests {
  readonly count: number
  readonly connections: ReadonlySet<Socket>
  begin(request: HttpRequest): ActiveRequest
  /** Stops listening; resolves when all connections have ended. */
  stop(): Promise<void>
  /** Call when the response has closed: it has been sent, or the client has disconnected. */
  end(request: ActiveRequest): void
}

/**
 * Answers requests on keep-alive connections with 503 and closes them while earlier requests complete (contract 1.4.9); Node alone would reset them.
 * A body that does not arrive in time is refused, before its request has changed anything. Requests that exceed the time for stopping are aborted.
 * Call with each request.
 */
export function stopInOrder(
  server: Server,
  limits: Pick<ServerLimits, 'stopMsMax' | 'stopBodyMsMax'>,
  http2?: Http2Sessions,
): ActiveRequests {
  const open = new Set<Socket>()
  let inProgress = 0
  /** Requests whose body may not have arrived. */
  const withBody = new UnorderedSet<ActiveRequest>()
  /** Set while the server waits for their end. */
  let wake: (() => void) | undefined
  const note = (socket: Socket): void => {
    open.add(socket)
    socket.once('close', () => {
      open.delete(socket)
      wake?.()
    })
  }
  server.on('connection', note)
  // Requests arrive on another socket than the accepted one.
  server.on('secureConnection', note)
  const stop = async (): Promise<void> => {
    // The close of http.Server would also end all connections that seem idle.
    if (server.listening) Server.prototype.close.call(server)
    http2?.announceEnd()
    let patience: 'all' | 'requests' | 'none' = 'all'
    const lose = (left: 'requests' | 'none') => (): void => {
      patience = left
      wake?.()
    }
    const timeouts = [
      setTimeout(lose('requests'), Math.min(idleConnectionMs, limits.stopMsMax)),
      setTimeout(() => refuseBodies(withBody.all()), limits.stopBodyMsMax),
      setTimeout(lose('none'), limits.stopMsMax),
    ]
    const isDone = (): boolean => {
      if (patience === 'none') return true
      return inProgress === 0 && (patience === 'requests' || open.size === 0)
    }
    while (!isDone()) {
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    }
    for (const timeout of timeouts) clearTimeout(timeout)
    if (http2 !== undefined) await Promise.race([http2.end(), delay(idleConnectionMs)])
    for (const socket of open) socket.destroy()
  }
  return {
    get count() {
      return inProgress
    },
    connections: open,
    stop,
    begin(request) {
      inProgress++
      const active: ActiveRequest = { request, place: undefined }
      if (hasBody(request.headers)) withBody.add(active)
      return active
    },
    end(request) {
      inProgress--
      withBody.delete(request)
      wake?.()
    },
  }
}

function hasBody(headers: IncomingHttpHeaders): boolean {
  return headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined
}

function refuseBodies(requests: readonly ActiveRequest[]): void {
  for (const { request } of requests) {
    if (request.raw.complete || request.body !== undefined || request.isAnswered) continue
    const message = 'The server is stopping and no longer waits for the body of the request.'
    request.endConnection()
    sendProblem(new AshlarError('ShuttingDown', message), request)
  }
}
