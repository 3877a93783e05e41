/** Requests with an Idempotency-Key: carried out once, however often they are sent. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect } from 'vitest'
import { classOf, FdUnderTest, list } from './class-of.ts'
import { expectProblem } from './expectations.ts'
import { rule } from './rule.ts'
import { type Reply, type ServerUnderTest, startServer, temporaryDirectory } from './server-under-test.ts'

const tests = 8
let server: ServerUnderTest
let fd: FdUnderTest
let used = 0

beforeAll(async () => {
  const data = temporaryDirectory()
  const imports = join(data, 'imports')
  mkdirSync(imports)
  writeFileSync(join(imports, 'parts.csv'), 'code\n1\n2\n3\n')
  const config = join(data, 'ashlar.json')
  writeFileSync(config, JSON.stringify({ limits: { receiptReplyBytesMax: 500 }, importDir: imports }))
  const aliases = Array.from({ length: tests }, (_, i) => ['--fd', `fd${i}`])
  server = await startServer({ words: [...aliases.flat(), '--config', config], data })
})
afterAll(() => server.remove())
beforeEach(async () => {
  fd = new FdUnderTest(server, `fd${used++}`)
  await fd.define(classOf('Part', { code: 'integer', notes: list('string') }))
})

const keyed = (key: string): Record<string, string> => ({ 'idempotency-key': key })

function send(
  method: string,
  path: string,
  body: unknown,
  key: string,
  more: Record<string, string> = {},
): Promise<Reply> {
  const headers = { ...keyed(key), ...more }
  return server.send(
    method,
    path.includes('?') ? path : fd.at(path),
    body === undefined ? { headers } : { body, headers },
  )
}

async function parts(): Promise<number> {
  const reply = await server.post(fd.at('/v1/query'), { query: 'FROM Part RETURN COUNT() AS n' })
  return reply.json[0].n
}

function expectRepeated(first: Reply, second: Reply): void {
  expect(second.status, second.text).toBe(first.status)
  expect(second.text).toBe(first.text)
  for (const name of ['location', 'content-type', 'preference-applied']) {
    expect(second.headers[name]).toBe(first.headers[name])
  }
  expect(first.headers).not.toHaveProperty('idempotent-replayed')
  expect(second.headers['idempotent-replayed']).toBe('true')
}

rule('1.6.1', 'a key is 1 to 255 visible characters; on what only reads it has no effect', async () => {
  const create = { class: 'Part' }
  for (const key of ['a b', 'ä', 'x'.repeat(256), ' ']) {
    const reply = await send('POST', '/v1/object', create, key)
    expectProblem(reply, 400, 'MalformedRequest')
  }
  expect(await parts()).toBe(0)
  for (const key of ['a', '"8e03978e-40d5-43dd-bc93-6894a57f9324"', 'x'.repeat(255)]) {
    expect((await send('POST', '/v1/object', create, key)).status).toBe(201)
  }
  expect((await send('GET', '/v1/schema', undefined, 'a b')).status).toBe(200)
  for (const n of [3, 4]) {
    const query = { query: 'FROM Part RETURN COUNT() AS n' }
    expect((await send('POST', '/v1/query', query, 'reads')).json).toEqual([{ n }])
    await fd.create('Part')
  }
  const added = { attributesToAdd: [{ attributeName: 'size', logicalType: 'integer' }] }
  for (let time = 0; time < 2; time++) {
    const dry = await send('PUT', `${fd.at('/v1/schema/Part')}&dryRun=true`, added, 'dry')
    expect(dry.status).toBe(200)
    expect(dry.headers).not.toHaveProperty('idempotent-replayed')
  }
})

rule('1.6.2', 'creations, updates and deletions are repeated by their first replies', async () => {
  const create = (): Promise<Reply> => send('POST', '/v1/object', { class: 'Part', attributes: { code: 1 } }, 'create')
  const created = await create()
  expect(created.status).toBe(201)
  expectRepeated(created, await create())
  expect(await parts()).toBe(1)
  const uri = `/v1/object/${created.json.__identifier__}`
  const add = { attributes: { notes: { action: 'add', elements: ['paid 10'] } } }
  const update = (): Promise<Reply> => send('PUT', uri, add, 'update')
  const updated = await update()
  expect(updated.status).toBe(204)
  expectRepeated(updated, await update())
  expect((await server.get(fd.at(uri))).json.notes).toEqual(['paid 10'])
  const remove = (): Promise<Reply> => send('DELETE', uri, undefined, 'remove')
  const removed = await remove()
  expect(removed.status).toBe(204)
  expectRepeated(removed, await remove())
  expect(await parts()).toBe(0)
})

rule('1.6.2', 'batches, queries, changes of the schema and indexes too', async () => {
  const definition = classOf('Bolt', { size: 'integer' })
  const narrower = [{ attributeName: 'code', logicalType: 'integer', storage: 'b16', encoding: 'signed' }]
  const byCode = { name: 'byCode', indexedClass: 'Part', isUnique: false, keyAttributes: [{ attributeName: 'code' }] }
  const operation = { method: 'POST', uri: '/v1/object', body: { class: 'Part', attributes: { code: 1 } } }
  const requests: readonly (readonly [string, string, unknown, Record<string, string>?])[] = [
    ['POST', '/v1/transaction', [operation, { ...operation, result: 'dispose' }, operation]],
    ['POST', '/v1/query', { query: 'CREATE Part {code: 2}; UPDATE Part WHERE code = 2 SET code TO 3 RETURN code' }],
    [
      'POST',
      '/v1/query',
      { query: 'UPDATE Part WHERE code = 3 SET code TO 4 RETURN code' },
      { accept: 'application/x-ndjson' },
    ],
    [
      'POST',
      '/v1/query',
      { query: 'UPDATE Part WHERE code = 99 SET code TO 4 RETURN code' },
      { accept: 'application/x-ndjson' },
    ],
    ['POST', '/v1/object', [operation.body, operation.body]],
    ['POST', '/v1/schema', [definition]],
    ['PUT', '/v1/schema', [{ ...definition, className: 'Nut' }]],
    ['PUT', '/v1/schema/Part', { attributesToAdd: [{ attributeName: 'size', logicalType: 'integer' }] }],
    // Prepared while others go on, in several commits.
    ['PUT', '/v1/schema/Part', { attributesToChange: narrower }],
    ['DELETE', '/v1/schema/Bolt', undefined],
    ['POST', '/v1/index', byCode],
    ['DELETE', '/v1/index/byCode', undefined],
    ['POST', '/v1/index', { ...byCode, name: 'later' }, { prefer: 'respond-async' }],
    ['POST', '/v1/query', { query: 'CREATE INDEX third ON Part(code)' }],
    ['POST', '/v1/tool', { tool: 'AddIndex', flags: { name: 'fourth', class: 'Part', attributes: 'code' } }],
    ['POST', '/v1/tool', { tool: 'DropIndex', flags: { name: 'fourth' } }],
  ]
  for (const [i, [method, path, body, headers]] of requests.entries()) {
    const before = await parts()
    const first = await send(method, path, body, `key-${i}`, headers)
    expect(first.status, `${i} ${first.text}`).toBeLessThan(300)
    const between = await parts()
    expect(between).toBeGreaterThanOrEqual(before)
    expectRepeated(first, await send(method, path, body, `key-${i}`, headers))
    expect(await parts()).toBe(between)
  }
})

rule('1.6.3', 'the same key for another request: 422, and nothing is done', async () => {
  const body = { class: 'Part', attributes: { code: 1 } }
  await send('POST', '/v1/object', body, 'mine')
  const others: readonly (() => Promise<Reply>)[] = [
    () => send('POST', '/v1/object', { class: 'Part', attributes: { code: 2 } }, 'mine'),
    () => send('PUT', '/v1/schema', [classOf('Bolt', {})], 'mine'),
    () => send('PUT', '/v1/schema/Part', { classRename: 'Bolt' }, 'mine'),
    () => send('POST', '/v1/query', { query: 'CREATE Part {code: 2}' }, 'mine'),
    () => send('POST', '/v1/transaction', [], 'mine'),
    () =>
      send(
        'POST',
        '/v1/index',
        { name: 'x', indexedClass: 'Part', isUnique: false, keyAttributes: [{ attributeName: 'code' }] },
        'mine',
      ),
    () => send('POST', '/v1/tool', { tool: 'UpgradeObjects' }, 'mine'),
    () => send('POST', '/v1/object', body, 'mine', { 'if-match': '"x"' }),
  ]
  for (const other of others) expectProblem(await other(), 422, 'IdempotencyKeyReused')
  expect(await parts()).toBe(1)
  // Of another federated database it is another key.
  const elsewhere = new FdUnderTest(server, 'fd0')
  expect((await send('POST', elsewhere.at('/v1/object'), body, 'mine')).status).toBe(201)
})

rule(
  '1.6.4',
  'sent at once, it is carried out once: the others get 409 with Retry-After, or the same reply',
  async () => {
    const create = (): Promise<Reply> => send('POST', '/v1/object', { class: 'Part' }, 'at-once')
    const replies = await Promise.all(Array.from({ length: 20 }, create))
    expect(await parts()).toBe(1)
    const oids = new Set<string>()
    for (const reply of replies) {
      if (reply.status === 201) oids.add(reply.json.__identifier__)
      else {
        expectProblem(reply, 409, 'RequestInProgress')
        expect(reply.headers['retry-after']).toMatch(/^\d+$/)
      }
    }
    expect(oids.size).toBe(1)
  },
)

rule('1.6.5', 'a refusal is not kept: the same key may be sent again', async () => {
  const uri = `/v1/object/${await fd.create('Part', { code: 1 })}`
  expectProblem(await send('PUT', uri, { attributes: { code: 'x' } }, 'again'), 400, 'MalformedValue')
  expect((await send('PUT', uri, { attributes: { code: 2 } }, 'again')).status).toBe(204)
  const named = { class: 'Missing' }
  expectProblem(await send('POST', '/v1/object', named, 'class'), 422, 'UnknownClass')
  await fd.define(classOf('Missing', {}))
  expect((await send('POST', '/v1/object', named, 'class')).status).toBe(201)
  const tool = { tool: 'DropIndex', flags: { name: 'none' } }
  expect((await send('POST', '/v1/tool', tool, 'tool')).json.returnCode).toBe(1)
  expect((await send('POST', '/v1/tool', tool, 'tool')).headers).not.toHaveProperty('idempotent-replayed')
})

rule(
  '1.6.7',
  'a reply beyond receiptReplyBytesMax is sent and not kept: repeated, 409 says that it was done',
  async () => {
    const query = {
      query:
        "FOR EACH c IN $codes => (CREATE Part {code: $c}); UPDATE Part SET code TO code RETURN code, 'long' AS text",
      parameters: { codes: Array.from({ length: 50 }, (_, i) => i) },
    }
    const first = await send('POST', '/v1/query', query, 'large')
    expect(first.status, first.text).toBe(200)
    expect(first.text.length).toBeGreaterThan(500)
    expectProblem(await send('POST', '/v1/query', query, 'large'), 409, 'ReplyNotKept')
    expect(await parts()).toBe(50)
  },
)

rule('1.6.8', 'COMMIT EVERY: carried out once as a whole; in part, it is not begun anew', async () => {
  const text = "FOR EACH p IN IMPORT CSV 'parts.csv' USE HEADER COMMIT EVERY 1 => (CREATE Part {code: $p.code})"
  const first = await send('POST', '/v1/query', { query: text }, 'whole')
  expect(first.status, first.text).toBe(200)
  expectRepeated(first, await send('POST', '/v1/query', { query: text }, 'whole'))
  expect(await parts()).toBe(3)
  await server.post(fd.at('/v1/query'), { query: 'DELETE Part' })
  await fd.index('byCode', 'Part', true, 'code')
  await fd.create('Part', { code: 3 })
  for (const type of ['UniqueViolation', 'PartlyCommitted']) {
    const failed = await send('POST', '/v1/query', { query: text }, 'part')
    expect(failed.json, failed.text).toMatchObject({ type, commits: 2, rowsCommitted: 2 })
    expect(await parts()).toBe(3)
  }
})
