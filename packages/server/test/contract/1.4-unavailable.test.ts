/** What clients get while the database beneath cannot be reached. */
import { randomBytes } from 'node:crypto'
import { AshlarClient } from '@ashlar/client'
import { afterAll, beforeAll, expect, inject } from 'vitest'
import { type CuttingProxy, openCuttingProxy } from '../../../engine/test/store/cutting-proxy.ts'
import { withClient } from '../../../engine/test/store/database-client.ts'
import { classOf, FdUnderTest, list } from './class-of.ts'
import { expectProblem } from './expectations.ts'
import { rule } from './rule.ts'
import { type ServerUnderTest, startServer } from './server-under-test.ts'

const schema = `test_${randomBytes(8).toString('hex')}`
let proxy: CuttingProxy
let server: ServerUnderTest
let fd: FdUnderTest

beforeAll(async () => {
  proxy = await openCuttingProxy(`${inject('postgres')}?schema=${schema}`)
  server = await startServer({ words: ['--fd', `one=${proxy.address}&patienceMs=2000`] })
  fd = new FdUnderTest(server, 'one')
  await fd.define(classOf('Part', { code: 'integer', notes: list('string') }))
})

afterAll(async () => {
  await server.remove()
  await proxy.close()
})

/** Resolves once the server uses the database again: on a busy machine, to connect may take it longer than its patience. */
async function bringBack(): Promise<void> {
  proxy.refuse(false)
  await expect.poll(async () => (await server.get('/health/ready')).status).toBe(200)
}

rule('1.4.12', 'without the database: 503 to be tried again; with it, everything goes on', async () => {
  const oid = await fd.create('Part', { code: 1 })
  proxy.refuse(true)
  const replies = await Promise.all([
    server.get(`/v1/object/${oid}`),
    server.put(`/v1/object/${oid}`, { attributes: { code: 2 } }),
    server.post('/v1/object', { class: 'Part', attributes: { code: 3 } }),
    server.post('/v1/query', { query: 'FROM Part RETURN *' }),
    server.get('/health/ready'),
  ])
  for (const reply of replies) {
    expectProblem(reply, 503, 'StoreUnavailable')
    expect(reply.headers['retry-after']).toMatch(/^\d+$/)
    expect(reply.text).not.toContain('granite')
  }
  await bringBack()
  expect((await server.get(`/v1/object/${oid}`)).json.code).toBe(1)
  expect((await server.get('/health/ready')).status).toBe(200)
})

rule(
  '1.4.18',
  'connections that carry nothing any more are replaced, and meanwhile the server is not ready',
  async () => {
    const alone = await openCuttingProxy(`${inject('postgres')}?schema=${schema}`)
    const other = await startServer({ words: ['--fd', `one=${alone.address}&patienceMs=5000&statementMs=1000`] })
    const { json } = await other.post('/v1/object', { class: 'Part', attributes: { code: 8 } })
    const uri = `/v1/object/${json.__identifier__}`
    const requests = () => [
      other.get(uri),
      other.get(uri),
      other.get(uri),
      other.put(uri, { attributes: { code: 9 } }),
      other.post('/v1/query', { query: 'FROM Part WHERE code = 9 RETURN code' }),
    ]
    await Promise.all(requests())
    alone.swallow(true)
    const during = Promise.all([...requests(), other.get('/health/ready')])
    // Whatever they get, they get it, also while nothing answers.
    for (const reply of await during) expect([200, 204, 503]).toContain(reply.status)
    expectProblem(await other.get('/health/ready'), 503, 'StoreUnavailable')
    alone.swallow(false)
    await expect.poll(async () => (await other.get('/health/ready')).status).toBe(200)
    for (const reply of await Promise.all(requests())) expect(reply.status).toBeLessThan(300)
    await other.remove()
    await alone.close()
  },
)

rule('1.4.19', 'requests that lose their connection in the middle are repeated, and made once', async () => {
  const oid = await fd.create('Part', { code: 1000 })
  const uri = `/v1/object/${oid}`
  const patient = await startServer({ words: ['--fd', `one=${proxy.address}&patienceMs=3600000`] })
  let isOver = false
  const changed = async (): Promise<number> => {
    let count = 0
    while (!isOver) {
      const query = 'UPDATE Part WHERE code >= 1000 SET code TO code + 1 RETURN code'
      const updated = await patient.post('/v1/query', { query })
      expect(updated.status, updated.text).toBe(200)
      const made = await patient.post('/v1/transaction', [
        { method: 'GET', uri },
        { method: 'GET', uri: '/v1/schema' },
        { method: 'PUT', uri, body: { attributes: { notes: { action: 'add', elements: ['x'] } } } },
      ])
      expect(made.status, made.text).toBe(200)
      count++
    }
    return count
  }
  const cut = async (): Promise<number> => {
    for (let cuts = 0; cuts < 20; cuts++) {
      proxy.cutAll()
      expect((await patient.get(uri)).status).toBe(200)
    }
    isOver = true
    return 0
  }
  const counts = await Promise.all([changed(), changed(), changed(), cut()]).finally(() => {
    isOver = true
  })
  const count = counts.reduce((sum, one) => sum + one)
  const { json } = await patient.get(uri)
  expect([json.code, json.notes.length]).toEqual([1000 + count, count])
  await patient.remove()
})

rule(
  '1.4.13',
  'a commit whose outcome cannot be found out is answered by a type of its own, alone and in a batch',
  async () => {
    const oid = await fd.create('Part', { code: 1 })
    const uri = `/v1/object/${oid}`
    const change = (code: number) => ({ method: 'PUT', uri, body: { attributes: { code } } })
    const requests = [
      () => server.put(uri, { attributes: { code: 4 } }),
      () => server.post('/v1/transaction', [change(5)]),
      () => server.post('/v1/query', { query: 'UPDATE Part WHERE code = 5 SET code TO 6' }),
    ]
    for (const [i, request] of requests.entries()) {
      proxy.cutNextCommit('reply', true)
      const reply = await request()
      expectProblem(reply, 503, 'OutcomeUnknown')
      expect(reply.headers).not.toHaveProperty('retry-after')
      await bringBack()
      expect((await server.get(uri)).json.code).toBe(4 + i)
    }
  },
)

/** The client's first answer brings the database back. */
function recoveringClient(areChangesKeyed: boolean): AshlarClient {
  return new AshlarClient({
    baseUrl: server.url,
    areChangesKeyed,
    async fetch(...request) {
      const response = await fetch(...request)
      proxy.refuse(false)
      return response
    },
  })
}

const paid = { notes: { action: 'add', elements: ['paid 10'] } }

rule('1.4.13', "Ashlar's client does not send again what may have been done, without a key", async () => {
  const client = recoveringClient(false)
  const { __identifier__: oid } = await client.createObject('Part', { code: 1 })
  proxy.cutNextCommit('reply', true)
  const added = client.updateObject(oid, paid)
  await expect(added).rejects.toMatchObject({ status: 503, type: 'OutcomeUnknown' })
  expect((await client.readObject(oid)).notes).toEqual(['paid 10'])
})

rule(
  ['1.6.6', '1.6.9'],
  "after a lost answer the key tells what was done: Ashlar's client sends it again",
  async () => {
    const client = recoveringClient(true)
    const { __identifier__: oid } = await client.createObject('Part', { code: 1 })
    for (const cut of ['reply', 'request'] as const) {
      proxy.cutNextCommit(cut, true)
      await client.updateObject(oid, paid)
    }
    expect((await client.readObject(oid)).notes).toEqual(['paid 10', 'paid 10'])
    const create = { body: { class: 'Part', attributes: { code: 77 } }, headers: { 'idempotency-key': 'once' } }
    proxy.cutNextCommit('reply', true)
    expectProblem(await server.send('POST', '/v1/object', create), 503, 'OutcomeUnknown')
    await bringBack()
    const again = await server.send('POST', '/v1/object', create)
    expect(again).toMatchObject({ status: 201, headers: { 'idempotent-replayed': 'true' } })
    const found = await server.post('/v1/query', { query: 'FROM Part WHERE code = 77 RETURN COUNT() AS n' })
    expect(found.json).toEqual([{ n: 1 }])
  },
)

rule('2.1.4', 'GET /v1/fd tells prepared transactions that hold locks on the tables, and their age', async () => {
  const ask = async () => (await server.get('/v1/fd')).json.unresolvedTransactions
  expect(await ask()).toBeUndefined()
  await withClient(inject('postgres'), async (client) => {
    // One of another program that touches nothing of the store, then one that does.
    await client.query(`BEGIN; SELECT FROM pg_class LIMIT 1; PREPARE TRANSACTION 'elsewhere_${schema}'`)
    await client.query(`BEGIN; SELECT FROM ${schema}.kv FOR KEY SHARE; PREPARE TRANSACTION 'here_${schema}'`)
    try {
      await expect.poll(ask, { interval: 200 }).toBeDefined()
      const { count, oldestMs } = await ask()
      expect(count).toBe(1)
      expect(oldestMs).toBeGreaterThanOrEqual(1_000)
      await expect.poll(async () => (await ask()).oldestMs).toBeGreaterThan(oldestMs)
    } finally {
      for (const where of ['elsewhere', 'here']) await client.query(`ROLLBACK PREPARED '${where}_${schema}'`)
    }
  })
  expect(await ask()).toBeUndefined()
})
