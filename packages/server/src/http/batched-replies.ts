/** Ends responses over HTTP/1.1 with a short text. */
import type { ServerResponse } from 'node:http'

/** The encoding of a reply text: `latin1` if each character is a byte of the reply. */
type TextEncoding = 'utf8' | 'latin1'

interface HeldReply {
  readonly response: ServerResponse
  readonly text: string
  readonly encoding: TextEncoding
}

/** A reply waits for so many others at most, and for so long while other requests of the same turn are worked on. */
const heldMax = 32
const heldMsMax = 0.5

let held: HeldReply[] = []
let heldSinceMs = 0
let isFlushScheduled = false

/**
 * Ends the response at the end of the turn of the event loop at the latest, together with the other replies of that turn. A write to a client that waits
 * wakes it: on the same machine, as for a proxy, this is half of the CPU time of a read, and far less for a client that was woken a moment ago.
 */
export function endWith(response: ServerResponse, text: string, encoding: TextEncoding): void {
  const nowMs = performance.now()
  if (held.length === 0) heldSinceMs = nowMs
  held.push({ response, text, encoding })
  if (held.length >= heldMax || nowMs - heldSinceMs >= heldMsMax) flush()
  else if (!isFlushScheduled) {
    isFlushScheduled = true
    setImmediate(endTurn)
  }
}

/** To be called before a request is worked on, so that a reply waits for one that takes long, and not for several. */
export function flushOverdue(nowMs: number): void {
  if (held.length > 0 && nowMs - heldSinceMs >= heldMsMax) flush()
}

function endTurn(): void {
  isFlushScheduled = false
  flush()
}

function flush(): void {
  const replies = held
  held = []
  for (const { response, text, encoding } of replies) writeEnd(response, text, encoding)
}

/** Ends the response now. `end` alone writes an empty piece after the text, and both by a call for several, which takes longer than one for a text. */
export function writeEnd(response: ServerResponse, text: string, encoding: TextEncoding): void {
  const { socket } = response
  // The connection has closed, or the client does not take what was sent before.
  if (socket === null || socket.writableLength > 0) {
    response.end(text, encoding)
    return
  }
  socket.cork()
  response.write(text, encoding)
  socket.uncork()
  response.end()
}
