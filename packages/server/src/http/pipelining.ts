/** Requests that a client sends before it has the replies to earlier ones on the same connection (HTTP pipelining). */
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/**
 * Whatever a request holds (room for its body, a snapshot, a statement) is freed when its response closes. When a connection closes, Node
 * closes only the response that is being sent on it, and never those queued behind it; this closes them too. To be told of each response
 * that has no socket when its request comes: the one that is being sent has it, and Node closes it, also where it was queued before.
 */
export function closeWithConnection(response: ServerResponse): void {
  const { socket } = response.req
  const queued = queuedOn.get(socket) ?? new Set()
  if (!queuedOn.has(socket)) {
    queuedOn.set(socket, queued)
    socket.once('close', () => closeAll(queued))
  }
  queued.add(response)
  response.once('close', () => queued.delete(response))
}

/** One listener a connection: Node warns of a leak where a socket has more than ten. */
const queuedOn = new WeakMap<Socket, Set<ServerResponse>>()

function closeAll(queued: Iterable<ServerResponse>): void {
  for (const response of queued) {
    if (response.socket !== null || response.writableFinished) continue
    response.destroy()
    response.emit('close')
  }
}
