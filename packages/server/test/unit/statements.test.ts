/** Statements under way: admitted or refused, listed, stopped, and ended with their clients. */

import type { FederatedDatabase } from '@ashlar/engine'
import { expect, it, onTestFinished, vi } from 'vitest'
import { Admission } from '../../src/statements/admission.ts'
import { rule } from '../contract/rule.ts'
import { endless, open, short, unsorted } from './endless-statements.ts'

/** What is returned waits until so many slots are taken: a statement that runs does without one at first. */
function watchPlaces(): (count: number) => Promise<void> {
  const acquireSlot = vi.spyOn(Admission.prototype, 'acquireSlot')
  onTestFinished(() => acquireSlot.mockRestore())
  return async (count) => {
    await expect.poll(() => acquireSlot.mock.results.filter(({ value }) => value === undefined)).toHaveLength(count)
  }
}

const slots = { statementsMax: 2, statementsPerCallerMax: 2 }

rule(
  ['1.4.10', '1.5.15'],
  'statements beyond the slots are refused in time; short ones and reads are not',
  async () => {
    const { start, send, get, listed } = await open({ ...slots, statementQueueMsMax: 50 })
    const placesAreTaken = watchPlaces()
    start(endless)
    start(endless)
    await placesAreTaken(2)
    const late = await start(endless).answer
    expect([late.status, late.headers['retry-after']]).toEqual([429, '1'])
    expect(JSON.parse(late.text)).toMatchObject({ type: 'TooManyStatements' })
    expect(JSON.parse(late.text).message).toMatch(/statementsPerCallerMax/)
    // On a machine that is busy with something else it may take longer than it is given.
    await expect.poll(async () => (await send('POST', '/v1/query', short)).text).toBe('[{"name":"p3"}]')
    expect((await get('/v1/schema')).status).toBe(200)
    expect((await get('/health/ready')).status).toBe(200)
    await listed(2, 'running')
  },
)

rule('1.4.10', 'a full server is told apart from a full share', async () => {
  const { start } = await open({ statementsMax: 1, statementQueueMsMax: 50 })
  const placesAreTaken = watchPlaces()
  start(endless)
  await placesAreTaken(1)
  const late = await start(endless).answer
  expect([late.status, late.headers['retry-after']]).toEqual([503, '1'])
  expect(JSON.parse(late.text)).toMatchObject({ type: 'ServerBusy' })
  expect(JSON.parse(late.text).message).toMatch(/statementsMax.*statementQueueMsMax/)
})

rule(['1.4.10', '1.5.15', '2.3.4'], 'a client that leaves gives its slot back, also the one in the queue', async () => {
  const { start, listed } = await open({
    statementsMax: 1,
    queuedStatementsPerCallerMax: 1,
    statementQueueMsMax: 1_000_000,
  })
  const working = start(endless)
  await listed(1, 'running')
  const waiting = start(endless)
  const [, second] = await listed(2)
  await expect.poll(async () => (await listed(2)).map(({ state }) => state)).toEqual(['running', 'queued'])
  expect((await start(endless).answer).status).toBe(429)
  waiting.sent.destroy()
  await listed(1)
  start(endless)
  await expect.poll(async () => (await listed(2)).map(({ state }) => state)).toEqual(['running', 'queued'])
  working.sent.destroy()
  const [last] = await listed(1, 'running')
  expect(last?.id).not.toBe(second?.id)
})

rule(['1.4.10', '1.5.15'], 'transactions and tools take slots as queries do', async () => {
  const { app, start } = await open({ statementsMax: 1, statementQueueMsMax: 50 })
  const placesAreTaken = watchPlaces()
  start(endless)
  await placesAreTaken(1)
  const tool = await app.inject({ method: 'POST', url: '/v1/tool', payload: { tool: 'Verify' } })
  expect([tool.statusCode, tool.json().type]).toEqual([503, 'ServerBusy'])
  const operation = { method: 'POST', uri: '/v1/query', body: { query: endless } }
  const transaction = await app.inject({ method: 'POST', url: '/v1/transaction', payload: [operation] })
  expect([transaction.statusCode, transaction.json().type]).toEqual([503, 'ServerBusy'])
  const short = { method: 'POST', uri: '/v1/object', body: { class: 'Place', attributes: { name: 'new' } } }
  expect((await app.inject({ method: 'POST', url: '/v1/transaction', payload: [short] })).statusCode).toBe(200)
})

rule(['2.3.1', '2.3.2'], 'statements under way are listed, by the id that their replies have', async () => {
  const { start, send, listed } = await open()
  const { sent } = start(`${endless} /* ${'x'.repeat(2_000)} */`)
  const [record] = await listed(1, 'running')
  expect(record).toEqual({
    id: expect.stringMatching(/^[\w-]{36}$/),
    kind: 'query',
    text: expect.stringMatching(/^MATCH/),
    fdAlias: 'default',
    clientAddress: '127.0.0.1',
    startedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
    state: 'running',
    bytesSent: 0,
    rows: 0,
    bytesHeld: expect.any(Number),
  })
  expect(record?.text).toHaveLength(1_000)
  // It sorts, and holds what it has found.
  let held = 0
  while (held === 0) held = (await listed(1, 'running'))[0]?.bytesHeld ?? 0
  sent.destroy()
  await listed(0)
  const ids = await Promise.all([short, short].map(async (one) => (await send('POST', '/v1/query', one)).headers))
  expect(new Set(ids.map((headers) => headers['statement-id'])).size).toBe(2)
})

rule(['2.3.1', '2.3.3'], 'a statement is stopped by its id, and its client is told so', async () => {
  const { start, send, listed } = await open()
  const { answer } = start(endless)
  const [record] = await listed(1, 'running')
  const stopped = await send('DELETE', `/v1/statement/${record?.id}`)
  expect([stopped.status, stopped.text]).toEqual([204, ''])
  const { status, headers, text: body } = await answer
  expect([status, headers['statement-id'], headers['retry-after']]).toEqual([409, record?.id, undefined])
  expect(JSON.parse(body)).toMatchObject({ type: 'StatementStopped' })
  await listed(0)
  const gone = await send('DELETE', `/v1/statement/${record?.id}`)
  expect([gone.status, JSON.parse(gone.text).type]).toEqual([404, 'StatementNotFound'])
})

rule(['2.2.16', '2.3.3'], 'a statement that is analyzed is stopped as any, although it sends no rows', async () => {
  const { start, send, listed } = await open()
  const crossJoin = `MATCH ${Array.from({ length: 12 }, (_, i) => `(v${i}:Place)`).join()} RETURN v0.name`
  for (const format of ['json', 'text']) {
    const { answer } = start(crossJoin, '*/*', `?explain=analyze&format=${format}`)
    const [record] = await listed(1, 'running')
    expect((await send('DELETE', `/v1/statement/${record?.id}`)).status).toBe(204)
    const { status, headers, text: body } = await answer
    expect([status, headers['statement-id']]).toEqual([409, record?.id])
    expect(JSON.parse(body)).toMatchObject({ type: 'StatementStopped' })
    await listed(0)
  }
})

rule('2.3.3', 'a reply that has begun is broken off where its statement is stopped', async () => {
  const { start, send, listed } = await open()
  const { sent, answer } = start(unsorted)
  const response = await new Promise<{ pause(): void }>((resolve) => sent.once('response', resolve))
  // Nobody reads any more: the statement waits, and is stopped all the same.
  response.pause()
  const [record] = await listed(1, 'sending')
  expect(record?.bytesSent).toBeGreaterThan(0)
  expect(record?.rows).toBeGreaterThan(0)
  expect((await send('DELETE', `/v1/statement/${record?.id}`)).status).toBe(204)
  await expect(answer).rejects.toThrow()
  await listed(0)
})

rule('2.3.3', 'an NDJSON reply that has begun ends with the error', async () => {
  const { start, send, listed } = await open()
  const { answer } = start(unsorted, 'application/x-ndjson')
  const [record] = await listed(1, 'sending')
  expect((await send('DELETE', `/v1/statement/${record?.id}`)).status).toBe(204)
  const last = (await answer).text.trimEnd().split('\n').at(-1) ?? ''
  expect(JSON.parse(last)).toMatchObject({ error: { type: 'StatementStopped', status: 409 } })
})

rule('2.3.4', 'a client that closes its connection stops its statement, in the middle of sorting', async () => {
  const { start, listed, log } = await open()
  const { sent } = start(endless)
  await listed(1, 'running')
  log.all.length = 0
  sent.destroy()
  await listed(0)
  const broken = () => log.all.filter(({ status }) => status === 499)
  await expect.poll(broken).toMatchObject([{ url: '/v1/query', aborted: true }])
})

it('a statement that fails before it begins, or whose reply is short, leaves nothing behind', async () => {
  const { app, send, listed } = await open(slots)
  for (let i = 0; i < 5; i++) {
    expect((await send('POST', '/v1/query', 'FROM Nowhere RETURN *')).status).toBe(422)
    expect(
      (await app.inject({ method: 'POST', url: '/v1/query?fdAlias=no', payload: { query: short } })).statusCode,
    ).toBe(404)
    expect((await send('POST', '/v1/query', short)).status).toBe(200)
  }
  expect(await listed(0)).toEqual([])
})

rule('1.5.15', 'so many runs of tools and builds of indexes go on after their replies, and no more', async () => {
  const { app, federatedDatabases } = await open({ backgroundRunsMax: 1, backgroundBuildsMax: 1 })
  const [fd] = federatedDatabases as [FederatedDatabase]
  const post = (url: string, payload: object) => {
    return app.inject({ method: 'POST', url, payload, headers: { prefer: 'respond-async' } })
  }
  const { limits } = (await app.inject('/v1/fd')).json()
  expect(limits).toMatchObject({ backgroundRunsMax: 1, backgroundBuildsMax: 1 })
  let end: () => void = () => undefined
  const verified = await fd.verify()
  vi.spyOn(fd, 'verify').mockImplementationOnce(async () => {
    await new Promise<void>((resolve) => {
      end = resolve
    })
    return verified
  })
  const verify = () => post('/v1/tool', { tool: 'Verify' })
  expect((await verify()).statusCode).toBe(202)
  const refused = await verify()
  expect([refused.statusCode, refused.json().type, refused.headers['retry-after']]).toEqual([503, 'ServerBusy', '1'])
  expect(refused.json().message).toMatch(/backgroundRunsMax/)
  end()
  await expect.poll(async () => (await verify()).statusCode).toBe(202)

  const build = (name: string) => {
    const keyAttributes = [{ attributeName: 'name' }]
    return post('/v1/index', { name, indexedClass: 'Place', isUnique: false, keyAttributes })
  }
  // Both are announced at the same time.
  const both = await Promise.all([build('one'), build('two')])
  expect(both.map(({ statusCode }) => statusCode).sort()).toEqual([202, 503])
  const busy = both.find(({ statusCode }) => statusCode === 503)
  expect([busy?.json().type, busy?.headers['retry-after']]).toEqual(['ServerBusy', '1'])
  expect(busy?.json().message).toMatch(/backgroundBuildsMax/)
  await expect.poll(async () => (await build('three')).statusCode).toBe(202)
  const built = (await app.inject('/v1/index')).json().map(({ name }: { name: string }) => name)
  expect(built).toHaveLength(2)
})
