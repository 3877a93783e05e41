/**
 * Bodies as Node's parser of HTTP/1.1 hands them over. A stream is begun, flows, ends and is closed by a turn of Node's queues each, which takes as
 * long as a tenth of a short query.
 */
import { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'

/** What Node keeps of a request beside its types; of a version that keeps other things, it reads to the end what has been read. */
interface RequestState {
  _consuming?: boolean
  readonly _readableState?: { ended?: boolean; endEmitted?: boolean }
}

/**
 * Calls `take` for each piece of the body, and `end` once all of it has come, within the parser's own call. False where that cannot be, and
 * nothing is done then: the body is none of the parser's, or has begun to arrive. The stream is over afterwards, but tells nobody; it still fails
 * where the body is broken off, and whoever begins to read it has what comes from then on.
 */
export function takeOfParser(body: Readable, take: (piece: Buffer) => void, end: () => void): boolean {
  // Those of HTTP/2, and what is decompressed, are other streams.
  if (Object.getPrototypeOf(body) !== IncomingMessage.prototype) return false
  const request = body as IncomingMessage & RequestState
  const { push } = request
  if (request.complete || request.destroyed || request.readableFlowing !== null || request.readableLength > 0) {
    return false
  }
  request.push = (piece: Buffer | null): boolean => {
    if (request.readableFlowing !== null) return push.call(request, piece)
    if (piece === null) {
      markRead(request)
      end()
    } else take(piece)
    return true
  }
  return true
}

/** Node would see to that when the reply is sent. */
function markRead(request: RequestState): void {
  request._consuming = true
  const { _readableState: state } = request
  if (state === undefined) return
  state.ended = true
  state.endEmitted = true
}
