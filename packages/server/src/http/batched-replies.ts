/** Ends responses over HTTP/1.1 with a short text. */
import type { ServerResponse } from 'node:http'

/** The encoding of a reply text: `latin1` if each character is a byte of the reply. */
type TextEncoding = 'utf8' | 'latin1'

interface BatchedReply {
  readonly response: ServerResponse
  readonly text: string
  readonly encoding: TextEncoding
}

/** Replies in a batch, and the longest time that a reply is delayed while other requests of the same turn are processed. */
const batchMax = 32
const delayMsMax = 0.5

let batch: BatchedReply[] = []
let batchSinceMs = 0
let isFlushScheduled = false

/**
 * Ends the response by the end of the turn of the event loop, in a batch with other replies of that turn. A write to a waiting client wakes it: on
 * the same machine, as for a proxy, this is half of the CPU time of a read, and far less for a client that was woken just before.
 */
export function endInBatch(response: ServerResponse, text: string, encoding: TextEncoding): void {
  const nowMs = performance.now()
  if (batch.length === 0) batchSinceMs = nowMs
  batch.push({ response, text, encoding })
  if (batch.length >= batchMax || nowMs - batchSinceMs >= delayMsMax) flush()
  else if (!isFlushScheduled) {
    isFlushScheduled = true
    setImmediate(flushScheduled)
  }
}

/** Call before a request is processed, so that a reply is delayed by one long request, not by several. */
export function flushOverdue(nowMs: number): void {
  if (batch.length > 0 && nowMs - batchSinceMs >= delayMsMax) flush()
}

function flushScheduled(): void {
  isFlushScheduled = false
  flush()
}

function flush(): void {
  const replies = batch
  batch = []
  for (const { response, text, encoding } of replies) writeEnd(response, text, encoding)
}

/** Ends the response. `end` alone would write an empty chunk after the text, and pass both in a call that is slower than one for a text. */
export function writeEnd(response: ServerResponse, text: string, encoding: TextEncoding): void {
  const { socket } = response
  // The connection has closed, or the client has not read the previous data.
  if (socket === null || socket.writableLength > 0) {
    response.end(text, encoding)
    return
  }
  socket.cork()
  response.write(text, encoding)
  socket.uncork()
  response.end()
}
