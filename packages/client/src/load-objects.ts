/** Bulk loads: one streamed request, or where request bodies cannot be streamed, one request for each chunk of lines. */
import { stringifyBody } from './json.ts'
import { LinePieces, streamOfLines } from './line-pieces.ts'
import type { BulkLine, LoadOptions } from './options.ts'
import { readRows } from './rows.ts'
import { type Transport, untilAborted } from './transport.ts'
import type { BulkReply, BulkSummary, Oid } from './wire.ts'

type Lines = AsyncIterable<BulkLine> | Iterable<BulkLine>
type Replies = AsyncGenerator<BulkReply | BulkSummary, void, undefined>

/** About the size of a batch of the server, so that lines may refer to later ones as in a stream. */
const chunkCharactersMax = 2 ** 21
const chunkWaitMs = 20
/** Buffer limit for an atomic load that cannot be streamed, since it must be one request. */
export const atomicCharactersMax = 2 ** 25

const accept = 'application/x-ndjson'

export function loadObjects(transport: Transport, lines: Lines, options: LoadOptions): Replies {
  const { requestStreams = canStream(transport.baseUrl) } = transport.options
  if (requestStreams) return loadByStream(transport, lines, options)
  return loadInChunks(transport, lines, options)
}

async function* loadByStream(transport: Transport, lines: Lines, options: LoadOptions): Replies {
  const ending = new AbortController()
  let failure: { readonly error: unknown } | undefined
  const onFailure = (error: unknown): void => {
    failure = { error }
  }
  try {
    const stream = streamOfLines(lines, (line) => stringifyBody(line), ending.signal, onFailure)
    yield* send(transport, stream, options)
  } catch (error) {
    throw failure === undefined ? error : failure.error
  } finally {
    ending.abort()
  }
}

async function* loadInChunks(transport: Transport, lines: Lines, options: LoadOptions): Replies {
  const { isAtomic = false, onError } = options
  const names = new Names()
  const sizes = isAtomic
    ? { charactersMax: atomicCharactersMax + 1, waitMs: 2 ** 31 - 1 }
    : { charactersMax: chunkCharactersMax, waitMs: chunkWaitMs }
  const chunks = new LinePieces(lines, (line: BulkLine) => names.toLine(line), sizes)
  const total = { created: 0, updated: 0, deleted: 0, failed: 0 }
  try {
    for (let sent = 0, isDone = false; !isDone; sent++) {
      const { text, isLast } = await untilAborted(chunks.next(), options.signal)
      // A load without lines is sent too, since it may be refused.
      if (text === '' && sent > 0) break
      if (text.length > atomicCharactersMax && isAtomic) throw tooLong()
      for await (const reply of send(transport, text, options)) {
        if ('summary' in reply) add(total, reply.summary)
        else yield names.replyOf(reply)
      }
      names.endChunk()
      isDone = isLast || (total.failed > 0 && onError !== 'skip')
    }
    const { deleted, ...others } = total
    yield { summary: { ...others, ...(deleted > 0 && { deleted }) } }
  } finally {
    // The load is over, so a failure of the lines cannot be reported, and they may never end.
    chunks.end().catch(() => undefined)
  }
}

async function* send(
  transport: Transport,
  lines: string | ReadableStream<Uint8Array>,
  { onError, isAtomic, upsertOn, signal, timeoutMs }: LoadOptions,
): Replies {
  const parameters = { onError, atomic: isAtomic, upsertOn }
  const body = await transport.open('POST', '/v1/object', { lines, accept, parameters, signal, timeoutMs })
  yield* readRows<BulkReply | BulkSummary>(body, transport.parse)
}

/** Combines chunks to one load: numbers lines throughout, and replaces names of earlier chunks by OIDs. */
class Names {
  private linesBefore = 0
  private lines = 0
  /** Names in this chunk by line number. */
  private readonly nameOf = new Map<number, string>()
  private readonly oids = new Map<string, Oid>()

  toLine(line: BulkLine): string {
    this.lines++
    if (line.id !== undefined) this.nameOf.set(this.lines, line.id)
    return stringifyBody(line, (holder, name, value) => {
      if (!value.includes('${')) return value
      const [, uri = '', id = ''] = /^(\/v1\/object\/)?\$\{([\w-]+)\}$/.exec(value) ?? []
      const oid = this.oids.get(id)
      const isUri = holder === line && name === 'uri'
      return oid === undefined || (uri !== '' && !isUri) ? value : uri + oid
    })
  }

  replyOf(reply: BulkReply): BulkReply {
    const id = this.nameOf.get(reply.line)
    if (id !== undefined && reply.__identifier__ !== undefined) this.oids.set(id, reply.__identifier__)
    return { ...reply, line: reply.line + this.linesBefore }
  }

  endChunk(): void {
    this.linesBefore += this.lines
    this.lines = 0
    this.nameOf.clear()
  }
}

function add(total: Record<keyof BulkSummary['summary'], number>, summary: BulkSummary['summary']): void {
  total.created += summary.created
  total.updated += summary.updated
  total.deleted += summary.deleted ?? 0
  total.failed += summary.failed
}

function tooLong(): RangeError {
  return new RangeError(
    `An atomic load is one request. This environment cannot stream a request body, and holds at most ${atomicCharactersMax} characters of lines: load without isAtomic, in parts, or from Node.`,
  )
}

/** Browsers stream bodies over HTTP/2 only or not at all. Firefox and Safari ignore `duplex`, and convert the stream to a string. */
function canStream(url: string): boolean {
  if ('document' in globalThis || 'WorkerGlobalScope' in globalThis) return false
  try {
    let isDuplexRead = false
    const init = {
      method: 'POST',
      body: new ReadableStream(),
      get duplex() {
        isDuplexRead = true
        return 'half'
      },
    }
    return !new Request(url, init as RequestInit).headers.has('content-type') && isDuplexRead
  } catch {
    return false
  }
}
