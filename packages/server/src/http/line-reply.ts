/** Replies of lines that are sent as they are produced, possibly while the client is still sending lines. */
import { Socket } from 'node:net'
import { Readable } from 'node:stream'
import { bulkLingerMsMax } from '../limits.ts'
import type { HttpRequest } from './http-request.ts'
import { lingerAfter } from './linger.ts'
import { contentTypeOf } from './negotiate.ts'
import type { Replying } from './row-reply.ts'
import { toProblem } from './send-problem.ts'
import { sendLiveStream } from './send-reply.ts'

/** Sends the lines. An error before the first line is thrown, a later one becomes the last line. */
export async function sendLines(
  lines: AsyncIterable<Buffer>,
  request: HttpRequest,
  statement: Replying | undefined,
): Promise<void> {
  const iterator = lines[Symbol.asyncIterator]()
  const first = await iterator.next()
  const all = async function* (): AsyncGenerator<Buffer> {
    try {
      for (let next = first; next.done !== true; next = await iterator.next()) {
        statement?.sent(next.value.length)
        yield next.value
      }
    } catch (error) {
      // The client has disconnected.
      if (request.response.destroyed) return
      const problem = toProblem(error, request)
      if (problem.type !== 'SystemError') request.log.info({ problem }, 'reply failed')
      yield Buffer.from(`${JSON.stringify({ error: problem })}\n`)
    }
  }
  endUnread(request)
  sendLiveStream(request, 200, statement?.headers, contentTypeOf.ndjson, Readable.from(all(), { objectMode: false }))
}

/** If the client is still sending a body that is not read, closes the connection once the client can have the reply. */
function endUnread({ raw: request, response }: HttpRequest): void {
  response.once('finish', () => {
    const { socket } = request
    // Test requests have none.
    if (request.complete || request.httpVersionMajor === 2 || !(socket instanceof Socket)) return
    lingerAfter(request, bulkLingerMsMax)
    socket.destroySoon()
  })
}
