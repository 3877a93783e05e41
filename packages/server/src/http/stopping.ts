/** How a server stops: every request on a connection that there is gets an answer, and those under way come to their end. */
import type { IncomingHttpHeaders } from 'node:http'
import { Server, Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { AshlarError, type Placed, UnorderedSet } from '@ashlar/engine'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { idleConnectionMs, type ServerLimits } from '../limits.ts'
import type { Http2Sessions } from './http2-sessions.ts'

type StopLimits = Pick<ServerLimits, 'stopMsMax' | 'stopBodyMsMax'>

export interface RequestUnderWay extends Placed {
  readonly reply: FastifyReply
}

export interface RequestsUnderWay {
  readonly count: number
  /** The connections that are open. */
  readonly connections: ReadonlySet<Socket>
  begin(reply: FastifyReply): RequestUnderWay
  /** Once the response has closed; by then it has been sent, or nobody is there to take it. */
  end(request: RequestUnderWay): void
}

/**
 * While requests are under way, the others on connections that are kept alive are answered, by 503 and the end of the connection (contract
 * 1.4.9); Node alone would reset them. A body that does not arrive in time is refused: nothing was done of its request. What is still
 * under way when the time for stopping is over is broken off. To be told of each request.
 */
export function stopInOrder(app: FastifyInstance, limits: StopLimits, http2?: Http2Sessions): RequestsUnderWay {
  const open = new Set<Socket>()
  let underWay = 0
  /** Those of requests that have a body, which may not have arrived. */
  const withBody = new UnorderedSet<RequestUnderWay>()
  /** While the server waits for them to come to their end. */
  let wake: (() => void) | undefined
  const note = (socket: Socket): void => {
    open.add(socket)
    socket.once('close', () => {
      open.delete(socket)
      wake?.()
    })
  }
  app.server.on('connection', note)
  // Requests come on another socket than the one that was accepted.
  app.server.on('secureConnection', note)
  app.addHook('preClose', async () => {
    // The server's own way to stop listening would also end all connections that seem idle.
    if (app.server.listening) Server.prototype.close.call(app.server)
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
      return underWay === 0 && (patience === 'requests' || open.size === 0)
    }
    while (!isDone()) {
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    }
    for (const timeout of timeouts) clearTimeout(timeout)
    if (http2 !== undefined) await Promise.race([http2.end(), delay(idleConnectionMs)])
    for (const socket of open) socket.destroy()
  })
  return {
    get count() {
      return underWay
    },
    connections: open,
    begin(reply) {
      const { socket, headers } = reply.request.raw
      // Where the host has several addresses, it came to another server.
      if (!open.has(socket) && socket instanceof Socket) note(socket)
      underWay++
      const request: RequestUnderWay = { reply, place: undefined }
      if (hasBody(headers)) withBody.add(request)
      return request
    },
    end(request) {
      underWay--
      withBody.delete(request)
      wake?.()
    },
  }
}

function hasBody(headers: IncomingHttpHeaders): boolean {
  return headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined
}

function refuseBodies(requests: readonly RequestUnderWay[]): void {
  for (const { reply } of requests) {
    const { body, raw, log } = reply.request
    if (raw.complete || body !== undefined || reply.sent) continue
    // What the framework tells of the body that breaks off now is told by the line of the request.
    reply.log = log.child({}, { level: 'silent' })
    const message = 'The server is stopping and no longer waits for the body of the request.'
    reply.raw.setHeader('connection', 'close')
    reply.send(new AshlarError('ShuttingDown', message))
  }
}
