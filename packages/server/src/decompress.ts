/** Request bodies that come compressed. A broken one is refused while its connection still stands, so that the client hears of it. */
import type { Readable, Transform } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import type { FastifyInstance } from 'fastify'
import { ServerError } from './server-errors.ts'

const decompressors: ReadonlyMap<string, () => Transform> = new Map([
  ['gzip', createGunzip],
  ['br', createBrotliDecompress],
  ['deflate', createInflate],
])

/** The framework compares with Content-Length what came in, not what it became. */
interface Decompressed extends Transform {
  receivedEncodedLength?: number
}

export function decompressBodies(app: FastifyInstance): void {
  app.addHook('preParsing', (request, reply, payload, done) => {
    const encoding = request.headers['content-encoding']
    if (encoding === undefined || encoding === 'identity') return done(null, payload)
    const make = decompressors.get(encoding)
    if (make === undefined) {
      const message = `Bodies are encoded by gzip, br or deflate, not '${encoding.slice(0, 60)}'.`
      return done(new ServerError('UnsupportedMediaType', message))
    }
    const decompressed = decompress(payload as Readable, make())
    reply.raw.once('close', () => decompressed.destroy())
    done(null, decompressed)
  })
}

function decompress(payload: Readable, decompressor: Decompressed): Decompressed {
  let received = 0
  payload.on('data', (chunk: Buffer) => {
    received += chunk.length
    decompressor.receivedEncodedLength = received
  })
  payload.on('error', (error) => decompressor.destroy(error))
  return payload.pipe(decompressor)
}
