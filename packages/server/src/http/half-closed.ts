/** Clients that close their side of a connection once they have sent their requests, as `nc -N` and some clients of HTTP/1.0 do (contract 1.5.16). */
import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { halfClosedMsMax } from '../limits.ts'
import { allowHalfOpen } from '../node-internals.ts'

/**
 * They get their replies. One who has left altogether looks the same until something is sent to it: where nothing has been to send for a while, the
 * connection ends, and with it what it had asked for. To be called before there are connections.
 */
export function answerHalfClosed(server: Server): void {
  allowHalfOpen(server)
  server.on('connection', (socket: Socket) => {
    socket.once('end', () => endWhenSilent(socket))
  })
}

function endWhenSilent(socket: Socket): void {
  let sentBefore = socket.bytesWritten
  const timer = setInterval(() => {
    // What waits to be sent is looked after as that of any client who does not read.
    if (socket.bytesWritten === sentBefore && socket.writableLength === 0) socket.destroy()
    sentBefore = socket.bytesWritten
  }, halfClosedMsMax)
  socket.once('close', () => clearInterval(timer))
}
