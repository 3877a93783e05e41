/** Streams replies of rows: never buffered entirely, at the pace of the client, ended when it disconnects. */
import { Readable } from 'node:stream'
import { setImmediate as nextIteration } from 'node:timers/promises'
import type { Awaitable, CancelSignal, RowChunk, RowChunks } from '@ashlar/engine'
import type { ReplyType } from '../dispatch/operation.ts'
import { closingOf, completeReply, framed } from '../dispatch/row-framing.ts'
import { ClientDisconnected } from '../errors/request-errors.ts'
import type { HttpRequest } from './http-request.ts'
import { contentTypeOf } from './negotiate.ts'
import { toProblem } from './send-problem.ts'
import { sendReply, sendStream } from './send-reply.ts'

type Chunk = IteratorResult<RowChunk, unknown>

/** Up to this size, rows are sent without a stream. */
const readyBytesMax = 65_536

export interface Replying {
  readonly headers: Readonly<Record<string, string>>
  readonly signal: CancelSignal
  /** Awaited before a reply of many rows begins. */
  mayContinue(): Promise<void> | undefined
  sent(bytes: number): void
  /** Call when the client must read the data sent so far before more rows are produced. */
  pauses(): void
  /** Call when the client has read it, and await the result before more rows are produced. */
  proceeds(): Promise<void> | undefined
}

/** Errors before the first byte are thrown. `statement`: ends the reply if it is stopped. */
export function sendRows(
  rows: RowChunks,
  type: ReplyType,
  request: HttpRequest,
  statement?: Replying,
): Awaitable<void> {
  const { atHand } = rows
  return atHand === undefined
    ? sendStreamed(rows, type, request, statement)
    : sendBuffered(atHand, type, request, statement)
}

function sendBuffered(
  chunks: readonly RowChunk[],
  type: ReplyType,
  request: HttpRequest,
  statement: Replying | undefined,
): void {
  const body = completeReply(chunks, type)
  statement?.sent(body.length)
  sendReply(request, 200, statement?.headers, contentTypeOf[type], body)
}

async function sendStreamed(
  rows: RowChunks,
  type: ReplyType,
  request: HttpRequest,
  statement: Replying | undefined,
): Promise<void> {
  const iterator = rows[Symbol.asyncIterator]()
  const first = await nextChunk(iterator)
  if (first.done === true) return sendBuffered([], type, request, statement)
  const { chunks, isComplete, next } = await readyChunks(iterator, first.value)
  if (isComplete) return sendBuffered(chunks, type, request, statement)
  try {
    // The statement can only be refused before the reply begins.
    await statement?.mayContinue()
    // A statement that has its slot does not check whether it was stopped meanwhile.
    statement?.signal.throwIfAborted()
    if (request.response.destroyed) throw new ClientDisconnected()
  } catch (error) {
    cancelRows(iterator)
    throw error
  }
  const stream = rowStream(
    iterator,
    [...chunks.map((value) => Promise.resolve({ value })), ...next],
    type,
    (error) => {
      if (request.response.destroyed) return undefined
      const problem = toProblem(error, request)
      if (problem.type !== 'SystemError') request.log.info({ problem }, 'reply failed')
      if (type === 'ndjson') return JSON.stringify({ error: problem })
      request.response.destroy(error as Error)
      return undefined
    },
    statement,
  )
  sendStream(request, 200, statement?.headers, contentTypeOf[type], stream)
}

interface ReadyChunks {
  readonly chunks: readonly RowChunk[]
  readonly isComplete: boolean
  readonly next: readonly Promise<Chunk>[]
}

function complete(chunks: readonly RowChunk[]): ReadyChunks {
  return { chunks, isComplete: true, next: [] }
}

/** Returns the chunks available in this event loop iteration. If they are complete, no stream is needed, which costs as much as a short query. */
async function readyChunks(iterator: AsyncIterator<RowChunk>, first: RowChunk): Promise<ReadyChunks> {
  const chunks = [first]
  const iterationEnd = nextIteration()
  for (let bytes = first.bytes.length; bytes < readyBytesMax; ) {
    const next = nextChunk(iterator)
    next.catch(() => undefined)
    const ready = await Promise.race([next, iterationEnd])
    if (ready === undefined) return { chunks, isComplete: false, next: [next] }
    if (ready.done === true) return complete(chunks)
    chunks.push(ready.value)
    bytes += ready.value.bytes.length
  }
  return { chunks, isComplete: false, next: [] }
}

/**
 * The bytes of the reply. `ahead`: chunks already requested. `onFailure` returns the last line, or undefined to abort the reply. Destroying the
 * stream ends the iteration, and so does the statement's signal, whose reason is the failure.
 */
export function rowStream(
  iterator: AsyncIterator<RowChunk>,
  ahead: Promise<Chunk>[],
  type: ReplyType,
  onFailure: (error: unknown) => string | undefined,
  statement?: Replying,
): Readable {
  let isFirst = true
  const push = (bytes: Buffer): void => {
    statement?.sent(bytes.length)
    if (!stream.push(bytes)) statement?.pauses()
  }
  let isEnded = false
  const fail = (error: unknown): void => {
    if (isEnded) return
    isEnded = true
    cancelRows(iterator)
    const line = onFailure(error)
    if (line === undefined) stream.destroy()
    else {
      push(Buffer.from(`${isFirst ? '' : '\n'}${line}\n`))
      stream.push(null)
    }
  }
  const advance = async (): Promise<void> => {
    try {
      const slot = statement?.proceeds()
      if (slot !== undefined) await slot
      const chunk = await (ahead.shift() ?? nextChunk(iterator))
      if (stream.destroyed || isEnded) return
      if (chunk.done !== true) {
        push(framed(chunk.value, type, isFirst))
        isFirst = false
        return
      }
      isEnded = true
      push(isFirst ? completeReply([], type) : Buffer.from(closingOf(type)))
      stream.push(null)
    } catch (error) {
      if (!stream.destroyed) fail(error)
    }
  }
  const signal = statement?.signal
  // Also while the client does not read, when no rows are requested.
  const stop = (): void => fail(signal?.reason)
  const stream = new Readable({
    read: () => void advance(),
    destroy(error, done) {
      signal?.removeEventListener('abort', stop)
      cancelRows(iterator)
      done(error)
    },
  })
  if (signal?.aborted === true) stop()
  else signal?.addEventListener('abort', stop)
  return stream
}

/** Skips empty chunks, which would not complete a read of the stream. */
async function nextChunk(iterator: AsyncIterator<RowChunk>): Promise<Chunk> {
  for (;;) {
    const chunk = await iterator.next()
    if (chunk.done === true || chunk.value.bytes.length > 0) return chunk
  }
}

/** Not awaited: a running step ends by the signal of the request, and its outcome is not needed. */
function cancelRows(iterator: AsyncIterator<RowChunk>): void {
  void iterator.return?.().catch(() => undefined)
}
