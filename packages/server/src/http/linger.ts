/** Refusals that are sent before the body has arrived, after which the connection ends. */
import type { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { lingerMsMax } from '../limits.ts'

/** Discards incoming data for a short time: closing a connection with unread bytes resets it, and the client might lose the refusal. */
export function lingerAfter(request: IncomingMessage, msMax = lingerMsMax): void {
  const { socket } = request
  // An HTTP/2 connection has other requests, and the stream ends with its reply.
  if (request.httpVersionMajor === 2) return
  // Test requests have none.
  if (request.complete || !(socket instanceof Socket)) return
  const destroySoon = socket.destroySoon.bind(socket)
  // Node calls it when a reply with `Connection: close` has been sent.
  socket.destroySoon = () => {
    if (request.complete || socket.destroyed) return destroySoon()
    socket.end()
    request.resume()
    const timeout = setTimeout(() => socket.destroy(), msMax)
    socket.once('close', () => clearTimeout(timeout))
    request.once('end', destroySoon)
  }
}
