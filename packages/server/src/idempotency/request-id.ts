/** `Idempotency-Key`: what a client calls a request that it may send several times (contract 1.6). */
import { createHash } from 'node:crypto'
import { AshlarError, type RequestId } from '@ashlar/engine'
import type { FastifyRequest } from 'fastify'

declare module 'fastify' {
  interface FastifyRequest {
    /** Digest of the body as it was sent, of requests with an `Idempotency-Key`. */
    bodyDigest?: Buffer
  }
}

const visibleCharacters = /^[\x21-\x7e]{1,255}$/
/** Headers that change what a request does; `accept` only changes how the reply is written. */
const meaningful = ['if-match', 'if-none-match', 'prefer'] as const

/** Kept for the fingerprint; to be called with each body, before it is parsed. */
export function noteBody(request: FastifyRequest, body: Buffer | string): void {
  if (request.headers['idempotency-key'] === undefined) return
  request.bodyDigest = createHash('sha256').update(body).digest()
}

/** Undefined without the header. Throws MalformedRequest. */
export function requestIdOf(request: FastifyRequest): RequestId | undefined {
  const key = request.headers['idempotency-key']
  if (key === undefined) return undefined
  if (typeof key !== 'string' || !visibleCharacters.test(key)) {
    const message = 'Idempotency-Key is given once and has 1 to 255 visible characters of ASCII.'
    throw new AshlarError('MalformedRequest', message)
  }
  const { method, url, headers, bodyDigest } = request
  const hash = createHash('sha256').update(
    JSON.stringify([method, url, meaningful.map((name) => headers[name] ?? null)]),
  )
  if (bodyDigest !== undefined) hash.update(bodyDigest)
  // Once requests are authenticated: who sends it.
  return { caller: '', key, fingerprint: hash.digest() }
}
