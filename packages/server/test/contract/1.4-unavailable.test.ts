/** What clients get while the database beneath cannot be reached. */
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, inject } from 'vitest'
import { type CuttingProxy, openCuttingProxy } from '../../../engine/test/store/cutting-proxy.ts'
import { classOf, FdUnderTest } from './class-of.ts'
import { expectProblem } from './expectations.ts'
import { rule } from './rule.ts'
import { type ServerUnderTest, startServer } from './server-under-test.ts'

let proxy: CuttingProxy
let server: ServerUnderTest
let fd: FdUnderTest

beforeAll(async () => {
  proxy = await openCuttingProxy(`${inject('postgres')}?schema=test_${randomBytes(8).toString('hex')}`)
  server = await startServer({ words: ['--fd', `one=${proxy.address}&patienceMs=1000`] })
  fd = new FdUnderTest(server, 'one')
  await fd.define(classOf('Part', { code: 'integer' }))
})

afterAll(async () => {
  await server.remove()
  await proxy.close()
})

rule('1.4.12', 'without the database: 503 to be tried again; with it, everything goes on', async () => {
  const oid = await fd.create('Part', { code: 1 })
  proxy.refuse(true)
  const replies = [
    await server.get(`/v1/object/${oid}`),
    await server.put(`/v1/object/${oid}`, { attributes: { code: 2 } }),
    await server.post('/v1/object', { class: 'Part', attributes: { code: 3 } }),
    await server.post('/v1/query', { query: 'FROM Part RETURN *' }),
    await server.get('/health/ready'),
  ]
  for (const reply of replies) {
    expectProblem(reply, 503, 'StoreUnavailable')
    expect(reply.headers['retry-after']).toMatch(/^\d+$/)
    expect(reply.text).not.toContain('granite')
  }
  proxy.refuse(false)
  expect((await server.get(`/v1/object/${oid}`)).json.code).toBe(1)
  expect((await server.get('/health/ready')).status).toBe(200)
  proxy.cutNextCommit('reply', true)
  const unknown = await server.put(`/v1/object/${oid}`, { attributes: { code: 4 } })
  expect(expectProblem(unknown, 503, 'StoreUnavailable')).toContain('not known whether the change was made')
  proxy.refuse(false)
  expect((await server.get(`/v1/object/${oid}`)).json.code).toBe(4)
})
