/** Writes replies to requests: head and body, whole or as a stream, compressed where the client takes that. */
import type { ServerResponse } from 'node:http'
import { pipeline, Readable, type Transform, type Writable } from 'node:stream'
import { laterTurn } from '@ashlar/engine'
import type { FastifyReply } from 'fastify'
import { encodedTag } from '../dispatch/entity-tags.ts'
import { compressorFor, isNegotiated } from './compress-reply.ts'
import { writeUsualHead } from './usual-head.ts'
import { type TextEncoding, writeEnd } from './write-end.ts'
import { writeTogether } from './write-together.ts'

/** Of a body that is handed to the operating system in pieces: it takes all that fits into its buffers at once, which may be megabytes. */
const largeBytes = 524_288

/** Bytes of a body that goes out together with the head, as one text: two buffers cost more to write than a short copy. */
export const oneTextBytes = 16_384

type Headers = Readonly<Record<string, string>>

/**
 * `headers`: beside type and length, and those that were set on `reply.raw` before, which takes longer. `type`: the content type of the body;
 * without a body, a reply may have a type as well. Neither hooks nor serializers of the framework take part.
 */
export function sendReply(
  reply: FastifyReply,
  status: number,
  headers: Headers | undefined,
  type?: string,
  body?: string | Buffer,
  encoding: TextEncoding = 'utf8',
): void {
  const { raw } = reply
  if (reply.sent) {
    reply.log.warn({ url: raw.req.url }, 'a request was answered twice')
    return
  }
  const length = body === undefined ? 0 : Buffer.byteLength(body, encoding)
  const compressor = length === 0 ? undefined : compressorFor(raw.req.headers, type, length)
  if (compressor !== undefined) {
    compressor.stream.end(body, encoding)
    sendPieces(reply, status, encodedHead(raw, headers, type, compressor.encoding), [compressor.stream])
    return
  }
  // Caches must know that other clients get other bytes (RFC 9110, 12.5.5), and a 304 says what its 200 would have said (15.4.5).
  const varied = status === 304 || isNegotiated(type, length) ? { ...headers, vary: varyOf(raw) } : headers
  if (length > largeBytes && Buffer.isBuffer(body) && raw.req.method !== 'HEAD') {
    sendPieces(reply, status, [...headOf(varied, type), 'content-length', length], [Readable.from(piecesOf(body))])
    return
  }
  reply.hijack()
  const isUsual = writeUsualHead(raw, status, varied, type, length)
  if (!isUsual) {
    const head = headOf(varied, type)
    if (status !== 204 && status !== 304) head.push('content-length', length)
    raw.writeHead(status, head)
  }
  if (length > oneTextBytes) raw.end(body, encoding)
  else {
    const end = isUsual ? writeTogether : writeEnd
    if (body === undefined || typeof body === 'string') end(raw, body, encoding)
    else end(raw, body.toString('latin1'), 'latin1')
  }
}

/** A body that comes in pieces. One that ends early breaks off the connection, and ends where the client goes away. */
export function sendStream(
  reply: FastifyReply,
  status: number,
  headers: Headers | undefined,
  type: string,
  body: Readable,
): void {
  const { raw } = reply
  const compressor = compressorFor(raw.req.headers, type, undefined)
  if (compressor !== undefined) {
    sendPieces(reply, status, encodedHead(raw, headers, type, compressor.encoding), [body, compressor.stream])
    return
  }
  const varied = isNegotiated(type, undefined) ? { ...headers, vary: varyOf(raw) } : headers
  sendPieces(reply, status, headOf(varied, type), [body])
}

/** The same for a body of which the client is to have each piece at once: a compressor would hold it back. */
export function sendLiveStream(
  reply: FastifyReply,
  status: number,
  headers: Headers | undefined,
  type: string,
  body: Readable,
): void {
  sendPieces(reply, status, headOf(headers, type), [body])
}

/** Each in a turn of the event loop of its own, and none before the client takes the one before it. */
async function* piecesOf(body: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < body.length; at += largeBytes) {
    await laterTurn()
    yield body.subarray(at, at + largeBytes)
  }
}

/** For the end of one response. */
const listenersMax = 32

/** Names and values in turns: what takes Node least to write. */
type Head = (string | number)[]

function headOf(headers: Headers | undefined, type: string | undefined): Head {
  const head: Head = ['x-content-type-options', 'nosniff']
  if (type !== undefined) head.push('content-type', type)
  for (const name in headers) head.push(name, headers[name] as string)
  return head
}

/** By HTTP/2, pieces of several replies take turns on a connection. */
function outletOf(response: ServerResponse & { readonly outlet?: Writable }): Writable {
  return response.outlet ?? response
}

/** The ETag of a compressed body differs from that of the plain one, since strong tags stand for bytes (RFC 9110, 8.8.3.3). */
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

function sendPieces(reply: FastifyReply, status: number, head: Head, streams: readonly (Readable | Transform)[]): void {
  reply.hijack()
  // Each layer of the server listens for its end, and a pipeline several times: Node would warn of a leak.
  reply.raw.setMaxListeners(listenersMax)
  reply.raw.writeHead(status, head)
  // The line of the request tells how it ended.
  pipeline([...streams, outletOf(reply.raw)], () => undefined)
}
