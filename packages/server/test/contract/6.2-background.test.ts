/** Indexes that are built in the background, over HTTP, and after a restart. */
import { afterAll, expect } from 'vitest'
import { classOf, FdUnderTest } from './class-of.ts'
import { rule } from './rule.ts'
import { type Loose, type ServerUnderTest, startServer, temporaryDirectory } from './server-under-test.ts'

const data = temporaryDirectory()
const servers: ServerUnderTest[] = []
afterAll(async () => {
  for (const server of servers) await server.end('SIGKILL')
})

async function start(): Promise<{ server: ServerUnderTest; fd: FdUnderTest }> {
  const server = await startServer({ data, words: ['--fd', 'main'] })
  servers.push(server)
  return { server, fd: new FdUnderTest(server, 'main') }
}

async function settled(server: ServerUnderTest, fd: FdUnderTest, name: string): Promise<Loose> {
  for (;;) {
    const record = (await server.get(fd.at(`/v1/index/${name}`))).json
    if (record.state !== 'building') return record
    expect(record.progress).toMatchObject({ objectsDone: expect.any(Number), objectsTotal: expect.any(Number) })
  }
}

const startIndex = (
  server: ServerUnderTest,
  fd: FdUnderTest,
  name: string,
  isUnique: boolean,
  attributeName: string,
) => {
  const body = { name, indexedClass: 'Car', isUnique, keyAttributes: [{ attributeName }] }
  return server.send('POST', fd.at('/v1/index'), { body, headers: { prefer: 'respond-async' } })
}

rule(
  ['6.2.1', '6.2.2'],
  'a background build tells its progress and its failure, and goes on after kill -9',
  async () => {
    const { server, fd } = await start()
    await fd.define(classOf('Car', { license: 'string', year: 'integer' }))
    const fill = 'FOR EACH i IN $numbers => (CREATE Car {license: CAST($i AS String), year: $i % 50})'
    const numbers = Array.from({ length: 20_000 }, (_, i) => i)
    expect((await server.post(fd.at('/v1/query'), { query: fill, parameters: { numbers } })).status).toBe(200)

    const failing = await startIndex(server, fd, 'byYear', true, 'year')
    expect([failing.status, failing.json]).toEqual([202, { name: 'byYear', uri: '/v1/index/byYear' }])
    expect(failing.headers).toMatchObject({ location: '/v1/index/byYear', 'preference-applied': 'respond-async' })
    expect(await settled(server, fd, 'byYear')).toMatchObject({
      state: 'failed',
      entryCount: 0,
      failure: { type: 'UniqueViolation' },
    })
    await fd.create('Car', { license: 'x', year: 7 })
    expect((await server.delete(fd.at('/v1/index/byYear'))).status).toBe(204)

    expect((await startIndex(server, fd, 'byLicense', true, 'license')).status).toBe(202)
    await server.end('SIGKILL')
    const again = await start()
    expect(await settled(again.server, again.fd, 'byLicense')).toMatchObject({ state: 'ready', entryCount: 20_001 })
    const verified = await again.server.post(again.fd.at('/v1/tool'), { tool: 'Verify' })
    expect(verified.json).toMatchObject({ returnCode: 0 })
    expect((await again.fd.postObject('Car', { license: '77' })).status).toBe(409)
  },
)
