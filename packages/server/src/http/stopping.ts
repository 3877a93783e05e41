/** How a server stops: every request on a connection that there is gets an answer, and those under way come to their end. */
import type { ServerResponse } from 'node:http'
import { Server, Socket } from 'node:net'
import { AshlarError } from '@ashlar/engine'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { idleConnectionMs, type ServerLimits } from '../limits.ts'

type StopLimits = Pick<ServerLimits, 'stopMsMax' | 'stopBodyMsMax'>

/**
 * While requests are under way, the others on connections that are kept alive are answered, by 503 and the end of the connection (contract
 * 1.4.9); Node alone would reset them. A body that does not arrive in time is refused: nothing was done of its request. What is still
 * under way when the time for stopping is over is broken off. Returns the connections that are open.
 */
export function stopInOrder(app: FastifyInstance, limits: StopLimits): Iterable<Socket> {
  const open = new Set<Socket>()
  const underWay = new Map<ServerResponse, FastifyReply>()
  /** While the server waits for them to come to their end. */
  let wake: (() => void) | undefined
  const note = (socket: Socket): void => {
    open.add(socket)
    socket.once('close', () => {
      open.delete(socket)
      // Of these no response is told.
      for (const response of underWay.keys()) if (response.req.socket === socket) underWay.delete(response)
      wake?.()
    })
  }
  app.server.on('connection', note)
  app.addHook('onRequest', ({ raw: { socket } }, reply, done) => {
    // Where the host has several addresses, it came to another server.
    if (!open.has(socket) && socket instanceof Socket) note(socket)
    underWay.set(reply.raw, reply)
    done()
  })
  app.addHook('onResponse', (_request, reply, done) => {
    underWay.delete(reply.raw)
    wake?.()
    done()
  })
  app.addHook('preClose', async () => {
    // The server's own way to stop listening would also end all connections that seem idle.
    if (app.server.listening) Server.prototype.close.call(app.server)
    let patience: 'all' | 'requests' | 'none' = 'all'
    const lose = (left: 'requests' | 'none') => (): void => {
      patience = left
      wake?.()
    }
    const timeouts = [
      setTimeout(lose('requests'), Math.min(idleConnectionMs, limits.stopMsMax)),
      setTimeout(() => refuseBodies(underWay.values()), limits.stopBodyMsMax),
      setTimeout(lose('none'), limits.stopMsMax),
    ]
    const isDone = (): boolean => {
      if (patience === 'none') return true
      return underWay.size === 0 && (patience === 'requests' || open.size === 0)
    }
    while (!isDone()) {
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    }
    for (const timeout of timeouts) clearTimeout(timeout)
    for (const socket of open) socket.destroy()
  })
  return open
}

function refuseBodies(replies: Iterable<FastifyReply>): void {
  for (const reply of replies) {
    const { body, raw, log } = reply.request
    if (raw.complete || body !== undefined || reply.sent) continue
    // What the framework tells of the body that breaks off now is told by the line of the request.
    reply.log = log.child({}, { level: 'silent' })
    const message = 'The server is stopping and no longer waits for the body of the request.'
    reply.header('connection', 'close').send(new AshlarError('ShuttingDown', message))
  }
}
