/** Bodies that may take any time to arrive, since they are worked on as they do. */
import type { IncomingMessage } from 'node:http'

const slow = new WeakSet<object>()
/** Of HTTP/1.1: by connection, the request whose body arrives there. */
const arriving = new WeakMap<object, IncomingMessage>()

/** Whoever reads the body looks after its sender. */
export function mayArriveSlowly(request: IncomingMessage): void {
  if (request.httpVersionMajor === 2) slow.add(request)
  else arriving.set(request.socket, request)
}

/** Of HTTP/2. */
export function isSlowBody(request: object): boolean {
  return slow.has(request)
}

/** Of HTTP/1.1: whether such a body arrives on the connection, of which Node tells once that the time for requests to arrive is over (`requestTimeout`). */
export function arrivesSlowly(socket: object): boolean {
  return arriving.get(socket)?.complete === false
}
