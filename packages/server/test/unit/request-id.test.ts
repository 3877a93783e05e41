/** The digest of a request's body, by which its repetition is recognized. */
import { createHash } from 'node:crypto'
import { expect, it } from 'vitest'
import type { HttpRequest } from '../../src/http/http-request.ts'
import { hashBody } from '../../src/http/request-id.ts'

const requestWith = (headers: Record<string, string>): HttpRequest => ({ headers }) as unknown as HttpRequest

it('gives others their turn while a large body is hashed', async () => {
  const body = Buffer.alloc(5 * 2 ** 20 + 7, 'some text')
  const request = requestWith({ 'idempotency-key': 'key' })
  let turns = 0
  let isDone = false
  const count = (): void => {
    turns++
    if (!isDone) setImmediate(count)
  }
  setImmediate(count)
  await hashBody(request, body)
  isDone = true
  expect(turns).toBeGreaterThanOrEqual(5)
  expect(request.bodyDigest).toEqual(createHash('sha256').update(body).digest())
})

it('is there at once of a small body, and not at all without a key', () => {
  const body = Buffer.from('{}')
  const request = requestWith({ 'idempotency-key': 'key' })
  expect(hashBody(request, body)).toBeUndefined()
  expect(request.bodyDigest).toEqual(createHash('sha256').update(body).digest())
  const without = requestWith({})
  expect(hashBody(without, body)).toBeUndefined()
  expect(without).not.toHaveProperty('bodyDigest')
})
