/** Writes replies: head and body, buffered or streamed, compressed if the client accepts it. */
import type { ServerResponse } from 'node:http'
import { pipeline, Readable, type Transform, type Writable } from 'node:stream'
import { yieldToNewWork } from '@ashlar/engine'
import { encodedTag } from '../dispatch/entity-tags.ts'
import { endInBatch, writeEnd } from './batched-replies.ts'
import { compressorFor, isNegotiated } from './compression.ts'
import type { HttpRequest } from './http-request.ts'

/** A larger body is written in parts: the operating system would accept all that fits its buffers, possibly megabytes, in one blocking call. */
const largeBytes = 524_288

/** Bytes of a body that is sent as one string with the head: writing two buffers takes longer than a short copy. */
const oneTextBytes = 16_384

type Headers = Readonly<Record<string, string>>

/**
 * `headers`: in addition to type and length, and to headers set on the response before, which is slower. `type`: the content type of the body; a
 * reply without a body may have one too.
 */
export function sendReply(
  request: HttpRequest,
  status: number,
  headers: Headers | undefined,
  type?: string,
  body?: string | Buffer,
): void {
  const { response } = request
  if (request.isAnswered) {
    request.log.warn({ url: request.url }, 'a request was answered twice')
    return
  }
  const length = body === undefined ? 0 : Buffer.byteLength(body)
  const compressor = length === 0 ? undefined : compressorFor(request.headers, type, length)
  if (compressor !== undefined) {
    compressor.stream.end(body)
    sendStreams(request, status, encodedHead(response, headers, type, compressor.encoding), [compressor.stream])
    return
  }
  // Caches must know that the body depends on the request (RFC 9110, 12.5.5), and a 304 has the headers of its 200 (15.4.5).
  const varied = status === 304 || isNegotiated(type, length) ? { ...headers, vary: varyOf(response) } : headers
  if (length > largeBytes && Buffer.isBuffer(body) && request.method !== 'HEAD') {
    sendStreams(request, status, [...headOf(varied, type), 'content-length', length], [Readable.from(partsOf(body))])
    return
  }
  request.isAnswered = true
  const head = headOf(varied, type)
  if (status !== 204 && status !== 304) head.push('content-length', length)
  response.writeHead(status, head)
  if (body === undefined || request.method === 'HEAD') response.end()
  else if (length > oneTextBytes) response.end(body)
  else {
    // A reply that closes its connection is not delayed, so that the connection no longer counts.
    const end = response.hasHeader('connection') || request.headers.connection === 'close' ? writeEnd : endInBatch
    if (typeof body === 'string') end(response, body, 'utf8')
    else end(response, body.toString('latin1'), 'latin1')
  }
}

/** Sends a body as a stream. If the stream fails, the connection is aborted; if the client disconnects, the stream ends. */
export function sendStream(
  request: HttpRequest,
  status: number,
  headers: Headers | undefined,
  type: string,
  body: Readable,
): void {
  const { response } = request
  const compressor = compressorFor(request.headers, type, undefined)
  if (compressor !== undefined) {
    sendStreams(request, status, encodedHead(response, headers, type, compressor.encoding), [body, compressor.stream])
    return
  }
  const varied = isNegotiated(type, undefined) ? { ...headers, vary: varyOf(response) } : headers
  sendStreams(request, status, headOf(varied, type), [body])
}

/** Sends a body whose chunks the client needs immediately, and therefore without compression, which would delay them. */
export function sendLiveStream(
  request: HttpRequest,
  status: number,
  headers: Headers | undefined,
  type: string,
  body: Readable,
): void {
  sendStreams(request, status, headOf(headers, type), [body])
}

/** Yields each part in a separate event loop turn, after the client has read the previous one. */
async function* partsOf(body: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < body.length; at += largeBytes) {
    await yieldToNewWork()
    yield body.subarray(at, at + largeBytes)
  }
}

/** Maximum of listeners for the end of a response. */
const listenersMax = 32

/** Alternating names and values, the format that Node writes fastest. */
type Head = (string | number)[]

function headOf(headers: Headers | undefined, type: string | undefined): Head {
  const head: Head = ['x-content-type-options', 'nosniff']
  if (type !== undefined) head.push('content-type', type)
  for (const name in headers) head.push(name, headers[name] as string)
  return head
}

/** On HTTP/2 connections, parts of several replies alternate. */
function outletOf(response: ServerResponse & { readonly outlet?: Writable }): Writable {
  return response.outlet ?? response
}

/** The ETag of a compressed body differs from that of the plain one, since strong tags identify bytes (RFC 9110, 8.8.3.3). */
function encodedHead(
  response: ServerResponse,
  headers: Headers | undefined,
  type: string | undefined,
  encoding: string,
): Head {
  const tag = headers?.etag === undefined ? undefined : { etag: encodedTag(headers.etag, encoding) }
  return headOf({ ...headers, ...tag, 'content-encoding': encoding, vary: varyOf(response) }, type)
}

function varyOf(response: ServerResponse): string {
  const vary = response.getHeader('vary')
  return vary === undefined ? 'accept-encoding' : `${[vary].flat().join(', ')}, accept-encoding`
}

function sendStreams(
  request: HttpRequest,
  status: number,
  head: Head,
  streams: readonly (Readable | Transform)[],
): void {
  const { response } = request
  request.isAnswered = true
  response.writeHead(status, head)
  if (request.method === 'HEAD') {
    for (const stream of streams) stream.destroy()
    response.end()
    return
  }
  // Each layer of the server listens for the end, and a pipeline several times: Node would warn of a leak.
  response.setMaxListeners(listenersMax)
  // The request log reports the outcome.
  pipeline([...streams, outletOf(response)], () => undefined)
}
