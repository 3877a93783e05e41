/** Requests that a client sends before it has the replies to earlier ones on the same connection (HTTP pipelining). */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'

/**
 * Whatever a request holds (room for its body, a snapshot, a statement) is freed when its response closes. When a connection closes, Node
 * closes only the response that is being sent on it, and never those queued behind it; this closes them too.
 */
export function closeQueuedResponses(server: Server): void {
  server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    // The response that is being sent has the socket. Node closes it, also where it was queued before.
    if (response.socket !== null) return
    socket.once('close', closeIfQueued)
    response.once('close', () => socket.off('close', closeIfQueued))
    function closeIfQueued(): void {
      if (response.socket !== null || response.writableFinished) return
      response.destroy()
      response.emit('close')
    }
  })
}
