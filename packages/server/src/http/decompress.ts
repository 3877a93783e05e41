/** Request bodies that come compressed. A broken one is refused while its connection still stands, so that the client hears of it. */

import type { Readable, Transform } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import { quote } from '../errors/quote-names.ts'
import { ServerError } from '../errors/server-errors.ts'

const decompressors: ReadonlyMap<string, () => Transform> = new Map([
  ['gzip', createGunzip],
  ['br', createBrotliDecompress],
  ['deflate', createInflate],
])

/** Content-Length counts the bytes that come in, before they are decompressed. */
interface Decompressed extends Transform {
  receivedEncodedLength?: number
}

/** `encoding`: in lower case. Throws UnsupportedMediaType. */
export function decompress(payload: Readable, encoding: string): Readable {
  if (encoding === 'identity') return payload
  const decompressor: Decompressed | undefined = decompressors.get(encoding)?.()
  if (decompressor === undefined) {
    const message = `Content-Encoding must be gzip, br or deflate, not ${quote(encoding)}.`
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
