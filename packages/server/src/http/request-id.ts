/** `Idempotency-Key`: identifies a request that a client may send several times (contract 1.6). */
import { createHash } from 'node:crypto'
import { AshlarError, type RequestId } from '@ashlar/engine'
import { type Caller, credentialText } from '../security/caller.ts'
import type { HttpRequest } from './http-request.ts'

const visibleCharacters = /^[\x21-\x7e]{1,255}$/
/** Headers that affect the execution of a request; `accept` only affects the format of its reply. */
const meaningful = ['if-match', 'if-none-match', 'prefer'] as const

/** Bytes hashed at a time, which takes one to three milliseconds. */
const sliceBytes = 1_048_576

/** Hashes a body, before it is parsed. For a large body, returns a promise, which yields between slices and never rejects. */
export function hashBody(request: HttpRequest, body: Buffer): Promise<void> | undefined {
  if (request.headers['idempotency-key'] === undefined) return undefined
  if (body.length > sliceBytes) return hashLargeBody(request, body)
  request.bodyDigest = createHash('sha256').update(body).digest()
  return undefined
}

async function hashLargeBody(request: HttpRequest, body: Buffer): Promise<void> {
  const hash = createHash('sha256')
  for (let at = 0; at < body.length; at += sliceBytes) {
    if (at > 0) await new Promise((resolve) => setImmediate(resolve))
    hash.update(body.subarray(at, at + sliceBytes))
  }
  request.bodyDigest = hash.digest()
}

/** Undefined without the header. Throws MalformedRequest. */
export function requestIdOf(request: HttpRequest, { identity, bounds, credential }: Caller): RequestId | undefined {
  const key = request.headers['idempotency-key']
  if (key === undefined) return undefined
  if (typeof key !== 'string' || !visibleCharacters.test(key)) {
    const message = 'Idempotency-Key must be specified once and must have 1 to 255 visible ASCII characters.'
    throw new AshlarError('MalformedRequest', message)
  }
  const { method, url, headers, bodyDigest } = request
  const hash = createHash('sha256').update(
    JSON.stringify([method, url, meaningful.map((name) => headers[name] ?? null)]),
  )
  if (bodyDigest !== undefined) hash.update(bodyDigest)
  // A token with separate roles does not get the replies of its owner.
  const caller = bounds === undefined ? identity : `${identity} ${credentialText(credential)}`
  return { caller, key, fingerprint: hash.digest() }
}
