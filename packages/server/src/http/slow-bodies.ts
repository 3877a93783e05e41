/** Bodies that may take any time to arrive, since they are worked on as they do. */
import type { IncomingMessage } from 'node:http'

/** Of HTTP/2. */
const slow = new WeakSet<object>()

interface WithParser {
  /** Node's own; what is removed is no longer among the connections whose requests have to arrive in time (`requestTimeout`). */
  readonly parser?: { remove?(): void } | null
}

/** Whoever reads the body looks after its sender. */
export function mayArriveSlowly(request: IncomingMessage): void {
  if (request.httpVersionMajor === 2) slow.add(request)
  else (request.socket as WithParser | null)?.parser?.remove?.()
}

export function isSlowBody(request: object): boolean {
  return slow.has(request)
}
