/** ETags of objects and requests with conditions. */
import { afterAll, beforeAll, expect } from 'vitest'
import { classOf, FdUnderTest, list, reference } from './class-of.ts'
import { expectProblem } from './expectations.ts'
import { rule } from './rule.ts'
import { type Reply, type ServerUnderTest, startServer } from './server-under-test.ts'

let server: ServerUnderTest
let fd: FdUnderTest
beforeAll(async () => {
  server = await startServer({ words: ['--fd', 'main'] })
  fd = new FdUnderTest(server, 'main')
  await fd.define(
    classOf('Client', { name: 'string', orders: list(reference('Order', 'client')) }),
    classOf('Order', { number: 'integer', client: reference('Client', 'orders') }),
    classOf('Plain', { text: 'string' }),
  )
})
afterAll(() => server.remove())

const send = (method: string, oid: string, headers: Record<string, string>, body?: unknown): Promise<Reply> => {
  return server.send(method, fd.at(`/v1/object/${oid}`), { headers, ...(body === undefined ? {} : { body }) })
}
const tagOf = async (oid: string): Promise<string> => String((await send('GET', oid, {})).headers.etag)

rule('4.1.13', 'reads carry an ETag, which changes with attributes, links and the schema that shows them', async () => {
  const oid = await fd.create('Client', { name: 'Ann' })
  const first = await tagOf(oid)
  expect(first).toMatch(/^"[\w-]{20,}"$/)
  expect(await tagOf(oid)).toBe(first)
  expect((await send('HEAD', oid, {})).headers.etag).toBe(first)
  await fd.update(oid, { name: 'Anna' })
  const second = await tagOf(oid)
  expect(second).not.toBe(first)
  const order = await fd.create('Order', { number: 1, client: oid })
  const third = await tagOf(oid)
  expect(third).not.toBe(second)
  await server.put(fd.at('/v1/schema/Order'), { attributesToRename: [{ originalName: 'number', newName: 'nr' }] })
  expect(await tagOf(oid)).toBe(third)
  const ofOrder = await tagOf(order)
  await server.put(fd.at('/v1/schema/Order'), { attributesToAdd: [{ attributeName: 'more', logicalType: 'string' }] })
  expect(await tagOf(order)).not.toBe(ofOrder)
})

rule('4.1.17', 'If-None-Match on GET', async () => {
  const oid = await fd.create('Plain', { text: 'a' })
  const etag = await tagOf(oid)
  for (const given of [etag, `W/${etag}`, `"x", ${etag}`, '*']) {
    const reply = await send('GET', oid, { 'if-none-match': given })
    expect([reply.status, reply.text, reply.headers.etag]).toEqual([304, '', etag])
  }
  for (const given of ['"x"', 'x', '']) expect((await send('GET', oid, { 'if-none-match': given })).status).toBe(200)
  await fd.update(oid, { text: 'b' })
  expect((await send('GET', oid, { 'if-none-match': etag })).status).toBe(200)
  expectProblem(await send('GET', oid, { 'if-match': etag }), 412, 'PreconditionFailed')
  expectProblem(await send('GET', '3-3-99-1', { 'if-none-match': '*' }), 404, 'ObjectNotFound')
})

rule(
  '4.1.20',
  'each content coding has an ETag, conditions accept any of them, and caches learn what decides',
  async () => {
    const oid = await fd.create('Plain', { text: 'long '.repeat(400) })
    const plain = await send('GET', oid, {})
    expect(plain.headers.vary).toBe('accept-encoding')
    const tags = new Set([plain.headers.etag])
    for (const encoding of ['gzip', 'br']) {
      const reply = await send('GET', oid, { 'accept-encoding': encoding })
      expect([reply.headers['content-encoding'], reply.headers.vary]).toEqual([encoding, 'accept-encoding'])
      const tag = String(reply.headers.etag)
      tags.add(tag)
      const held = await send('GET', oid, { 'accept-encoding': encoding, 'if-none-match': `"x", W/${tag}` })
      expect([held.status, held.headers.etag, held.headers.vary]).toEqual([304, tag, 'accept-encoding'])
      expect((await send('PUT', oid, { 'if-match': tag }, { attributes: {} })).status).toBe(204)
      expectProblem(await send('PUT', oid, { 'if-match': `W/${tag}` }, { attributes: {} }), 412, 'PreconditionFailed')
    }
    expect(tags.size).toBe(3)
    const short = await send('GET', await fd.create('Plain', { text: 'a' }), { 'accept-encoding': 'gzip' })
    expect([short.headers['content-encoding'], short.headers.vary]).toEqual([undefined, undefined])
  },
)

rule('4.1.18', 'If-Match on PUT and DELETE', async () => {
  const oid = await fd.create('Plain', { text: 'a' })
  const etag = await tagOf(oid)
  const body = { attributes: { text: 'b' } }
  for (const headers of [
    { 'if-match': '"x"' },
    { 'if-match': `W/${etag}` },
    { 'if-none-match': etag },
    { 'if-none-match': '*' },
  ]) {
    const message = expectProblem(await send('PUT', oid, headers, body), 412, 'PreconditionFailed')
    expect(message).toContain(`its ETag is ${etag}. Read it again, then repeat the request.`)
    expectProblem(await send('DELETE', oid, headers), 412, 'PreconditionFailed')
  }
  const bare = { 'if-match': etag.replaceAll('"', '') }
  for (const reply of [
    await send('PUT', oid, bare, body),
    await send('DELETE', oid, bare),
    await send('GET', oid, bare),
  ]) {
    expect(expectProblem(reply, 400, 'MalformedRequest')).toContain('If-Match is * or ETags in double quotes')
  }
  expect(await fd.read(oid)).toMatchObject({ text: 'a' })
  expect((await send('PUT', oid, { 'if-match': etag }, body)).status).toBe(204)
  expectProblem(await send('PUT', oid, { 'if-match': etag }, body), 412, 'PreconditionFailed')
  expect((await send('PUT', oid, { 'if-match': '*' }, body)).status).toBe(204)
  expect((await send('DELETE', oid, { 'if-match': `"x", ${await tagOf(oid)}` })).status).toBe(204)
  expectProblem(await send('PUT', oid, { 'if-match': '*' }, body), 404, 'ObjectNotFound')
})

rule('4.1.18', 'of many who read the same version, one writes; without a condition all do', async () => {
  const oid = await fd.create('Client', { name: 'a' })
  const etag = await tagOf(oid)
  const statuses = await Promise.all(
    Array.from({ length: 20 }, async (_, i) => {
      return (await send('PUT', oid, { 'if-match': etag }, { attributes: { name: `n${i}` } })).status
    }),
  )
  expect(statuses.filter((status) => status === 204)).toHaveLength(1)
  expect(statuses.filter((status) => status === 412)).toHaveLength(19)
  const plain = await Promise.all(
    Array.from({ length: 20 }, async (_, i) => (await fd.putObject(oid, { name: `m${i}` })).status),
  )
  expect(new Set(plain)).toEqual(new Set([204]))
})
