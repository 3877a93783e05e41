/** Replies of rows as a stream: never held as a whole, no faster than the client reads, ended when it disconnects. */
import { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Awaitable, CancelSignal, RowChunk, RowChunks } from '@ashlar/engine'
import type { ReplyType } from '../dispatch/operation.ts'
import { closingOf, framed, wholeReply } from '../dispatch/row-framing.ts'
import { ClientDisconnected } from '../errors/request-errors.ts'
import type { HttpRequest } from './http-request.ts'
import { contentTypeOf } from './negotiate.ts'
import { toProblem } from './send-problem.ts'
import { sendReply, sendStream } from './send-reply.ts'

type Chunk = IteratorResult<RowChunk, unknown>

/** Bytes of rows that a reply may have without being a stream. */
const readyBytesMax = 65_536

/** The statement whose rows are sent. */
export interface Replying {
  /** Headers of the reply. */
  readonly headers: Readonly<Record<string, string>>
  readonly signal: CancelSignal
  /** Waited for before a reply of many rows begins. */
  mayGoOn(): Promise<void> | undefined
  sent(bytes: number): void
  /** The client is to take what was sent before more rows are made. */
  pauses(): void
  /** The client has taken it; awaited before more rows are produced. */
  proceeds(): Promise<void> | undefined
}

/** Errors before the first byte are thrown, and answered as any error. `statement`: ends the reply if it is stopped. */
export function sendRows(
  rows: RowChunks,
  type: ReplyType,
  request: HttpRequest,
  statement?: Replying,
): Awaitable<void> {
  const { atHand } = rows
  return atHand === undefined
    ? sendStreamed(rows, type, request, statement)
    : sendWhole(atHand, type, request, statement)
}

function sendWhole(
  chunks: readonly RowChunk[],
  type: ReplyType,
  request: HttpRequest,
  statement: Replying | undefined,
): void {
  const body = wholeReply(chunks, type)
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
  if (first.done === true) return sendWhole([], type, request, statement)
  const { chunks, isWhole, next } = await readyChunks(iterator, first.value)
  if (isWhole) return sendWhole(chunks, type, request, statement)
  try {
    // It is refused before the reply begins, or not at all.
    await statement?.mayGoOn()
    // A statement that has its slot does not check there whether it was stopped meanwhile.
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
  /** Whether these are all rows. */
  readonly isWhole: boolean
  /** Chunks that have been requested. */
  readonly next: readonly Promise<Chunk>[]
}

function whole(chunks: readonly RowChunk[]): ReadyChunks {
  return { chunks, isWhole: true, next: [] }
}

/**
 * What can be had within this turn of the event loop, up to a bound. If that is all of it, or the rows fail, no stream is needed, which
 * costs as much as a short query.
 */
async function readyChunks(iterator: AsyncIterator<RowChunk>, first: RowChunk): Promise<ReadyChunks> {
  const chunks = [first]
  const turnIsOver = nextTurn()
  for (let bytes = first.bytes.length; bytes < readyBytesMax; ) {
    const next = nextChunk(iterator)
    next.catch(() => undefined)
    const known = await Promise.race([next, turnIsOver])
    if (known === undefined) return { chunks, isWhole: false, next: [next] }
    if (known.done === true) return whole(chunks)
    chunks.push(known.value)
    bytes += known.value.bytes.length
  }
  return { chunks, isWhole: false, next: [] }
}

/**
 * The bytes of the reply. `ahead`: chunks already asked for. `onFailure` answers with the last line, or undefined where
 * the reply is to break off. Destroying the stream ends the iteration, and so does the statement's signal, whose reason is the failure.
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
      push(isFirst ? wholeReply([], type) : Buffer.from(closingOf(type)))
      stream.push(null)
    } catch (error) {
      if (!stream.destroyed) fail(error)
    }
  }
  const signal = statement?.signal
  // Also while the client does not read, so that nothing asks for rows.
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

/** Empty chunks would end no wait of the stream. */
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
