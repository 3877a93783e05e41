/** Replies of server-sent events (text/event-stream): no faster than the client reads, ended when it disconnects. */
import { Readable } from 'node:stream'
import type { ReplyEvent, ServerEvents } from '../dispatch/operation.ts'
import { endedReplyMsMax } from '../limits.ts'
import type { HttpRequest } from './http-request.ts'
import { contentTypeOf } from './negotiate.ts'
import { toProblem } from './send-problem.ts'
import { sendStream } from './send-reply.ts'

/** Proxies must not buffer or cache events. */
const headers = { 'cache-control': 'no-store', 'x-accel-buffering': 'no' }

export function sendEvents({ all, until }: ServerEvents, request: HttpRequest): void {
  const stream = Readable.from(framed(all, request), { objectMode: false, highWaterMark: 65_536 })
  sendStream(request, 200, headers, contentTypeOf.events, stream)
  const endAfterRead = (): void => destroyIfUnread(request)
  if (until.aborted) endAfterRead()
  else until.addEventListener('abort', endAfterRead)
}

/** The last event waits until the client has read the preceding ones, of which there may be many. */
function destroyIfUnread({ response }: HttpRequest): void {
  if (response.destroyed) return
  const timer = setTimeout(() => {
    if (!response.writableFinished) response.destroy(new Error('its reader did not take the end'))
  }, endedReplyMsMax).unref()
  response.once('close', () => clearTimeout(timer))
}

async function* framed(events: AsyncIterable<ReplyEvent>, request: HttpRequest): AsyncGenerator<Buffer> {
  try {
    for await (const event of events) yield eventText(event)
  } catch (error) {
    if (request.response.destroyed) return
    const problem = toProblem(error, request)
    if (problem.type !== 'SystemError') request.log.info({ problem }, 'reply failed')
    yield eventText({ name: 'error', data: Buffer.from(JSON.stringify(problem)) })
  }
}

const heartbeat = Buffer.from(':\n\n')

function eventText({ name, id, data }: ReplyEvent): Buffer {
  if (data === undefined) return heartbeat
  const head = `${id === undefined ? '' : `id: ${id}\n`}${name === undefined ? '' : `event: ${name}\n`}data: `
  return Buffer.concat([Buffer.from(head), data, Buffer.from('\n\n')])
}
