/** Compression of replies, and decompression of request bodies. */
import type { IncomingHttpHeaders } from 'node:http'
import type { Readable, Transform } from 'node:stream'
import {
  constants,
  createBrotliCompress,
  createBrotliDecompress,
  createGunzip,
  createGzip,
  createInflate,
} from 'node:zlib'
import { quoteForMessage } from '../errors/problem.ts'
import { ServerError } from '../errors/server-errors.ts'

type Encoding = 'br' | 'gzip'

const compressedBytesMin = 1_024
const compressible = /^text\/|[+/](x-nd)?json(;|$)|[+/]xml(;|$)|[+/](yaml|javascript)(;|$)/

/** Compressors that flush each chunk, so that rows are sent as they are produced. */
const compressors: Readonly<Record<Encoding, () => Transform>> = {
  br: () =>
    createBrotliCompress({
      flush: constants.BROTLI_OPERATION_FLUSH,
      // The default, which is the highest, takes a hundred times as long.
      params: { [constants.BROTLI_PARAM_QUALITY]: 4 },
    }),
  gzip: () => createGzip({ flush: constants.Z_SYNC_FLUSH }),
}

/** Whether a reply is compressed for clients that accept it. `bytes`: undefined if the length is unknown. */
export function isNegotiated(type: string | undefined, bytes: number | undefined): boolean {
  return (bytes === undefined || bytes >= compressedBytesMin) && type !== undefined && compressible.test(type)
}

/** `bytes`: the length of the reply, undefined if unknown. Returns undefined if the reply is sent uncompressed. */
export function compressorFor(
  headers: IncomingHttpHeaders,
  type: string | undefined,
  bytes: number | undefined,
): { readonly encoding: Encoding; readonly stream: Transform } | undefined {
  const accepted = headers['accept-encoding']
  if (accepted === undefined || headers['x-no-compression'] !== undefined || !isNegotiated(type, bytes))
    return undefined
  const encoding = chooseEncoding(String(accepted))
  return encoding && { encoding, stream: compressors[encoding]() }
}

/** Chooses by quality; `br` if the client has no preference (RFC 9110, 12.5.3). */
function chooseEncoding(accepted: string): Encoding | undefined {
  const qualities = new Map<string, number>()
  for (const part of accepted.toLowerCase().split(',')) {
    const [name = '', ...parameters] = part.split(';').map((one) => one.trim())
    const quality = parameters.find((parameter) => parameter.startsWith('q='))
    qualities.set(name, quality === undefined ? 1 : Number(quality.slice(2)) || 0)
  }
  const any = qualities.get('*') ?? 0
  const br = qualities.get('br') ?? any
  const gzip = qualities.get('gzip') ?? qualities.get('x-gzip') ?? any
  if (br === 0 && gzip === 0) return undefined
  return br >= gzip ? 'br' : 'gzip'
}

const decompressors: ReadonlyMap<string, () => Transform> = new Map([
  ['gzip', createGunzip],
  ['br', createBrotliDecompress],
  ['deflate', createInflate],
])

/** Content-Length counts the bytes received, before decompression. */
interface Decompressed extends Transform {
  receivedEncodedLength?: number
}

/** `encoding`: in lower case. Throws UnsupportedMediaType. */
export function decompress(payload: Readable, encoding: string): Readable {
  if (encoding === 'identity') return payload
  const decompressor: Decompressed | undefined = decompressors.get(encoding)?.()
  if (decompressor === undefined) {
    const message = `Content-Encoding must be gzip, br or deflate, not ${quoteForMessage(encoding)}.`
    throw new ServerError('UnsupportedMediaType', message)
  }
  let received = 0
  payload.on('data', (chunk: Buffer) => {
    received += chunk.length
    decompressor.receivedEncodedLength = received
  })
  payload.on('error', (error) => decompressor.destroy(error))
  return payload.pipe(decompressor)
}
