/** What clients get from a store whose file is damaged, or goes while it is served: errors that say so, never a wrong value. */
import { renameSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { startChild } from '../../../engine/test/store/children/child.ts'
import { flipBit } from '../../../engine/test/store/damage.ts'
import { classOf, FdUnderTest } from './class-of.ts'
import { expectProblem } from './expectations.ts'
import { rule } from './rule.ts'
import { type Reply, startServer, temporaryDirectory } from './server-under-test.ts'

const rewind = new URL('../../../engine/test/store/children/rewind.ts', import.meta.url)

function fleet(directory: string): readonly string[] {
  return ['--fd', `fleet=lmdb:${directory}`]
}

rule('1.4.15', 'damaged data is an error that names it; everything else is served, and Verify tells', async () => {
  const directory = join(temporaryDirectory(), 'fleet')
  const first = await startServer({ words: fleet(directory) })
  const made = new FdUnderTest(first, 'fleet')
  await made.define(classOf('Car', { license: 'string', colour: 'string' }))
  await made.index('byLicense', 'Car', true, 'license')
  const sound = await made.create('Car', { license: 'A', colour: 'white' })
  const damaged = await made.create('Car', { license: 'B', colour: 'ultramarine' })
  expect(await first.end()).toBe(0)
  flipBit(directory, 'ultramarine', { at: 3, bit: 5 })

  const second = await startServer({ words: fleet(directory), data: first.data })
  const fd = new FdUnderTest(second, 'fleet')
  const requests = [
    () => second.get(fd.at(`/v1/object/${damaged}`)),
    () => second.put(fd.at(`/v1/object/${damaged}`), { attributes: { colour: 'red' } }),
    () => second.send('DELETE', fd.at(`/v1/object/${damaged}`)),
    () => second.post(fd.at('/v1/query'), { query: 'FROM Car ORDER BY license RETURN *' }),
  ]
  for (const request of requests) {
    const reply = await request()
    expectProblem(reply, 500, 'DataCorruption')
    expect(reply.json.message).toContain(`Object ${damaged} of class Car is damaged in the store`)
    expect(reply.text).not.toContain(directory)
  }
  expect((await fd.read(sound)).colour).toBe('white')
  expect((await second.put(fd.at(`/v1/object/${sound}`), { attributes: { colour: 'red' } })).status).toBeLessThan(300)
  const verified = await second.post(fd.at('/v1/tool'), { tool: 'Verify' })
  expect(verified.text).toContain(`Object ${damaged} of class Car is damaged in the store`)
  await second.remove()
})

/** Nobody is told to try again, nor where the files are. */
function expectLasting(reply: Reply, directory: string): void {
  expectProblem(reply, 503, 'StoreUnavailable')
  expect(reply.headers).not.toHaveProperty('retry-after')
  expect(reply.text).not.toContain(directory)
}

rule(['2.1.7', '1.4.13'], 'a server whose files were taken away is not ready, and acknowledges no change', async () => {
  const directory = join(temporaryDirectory(), 'fleet')
  const server = await startServer({ words: fleet(directory) })
  const fd = new FdUnderTest(server, 'fleet')
  await fd.define(classOf('Car', { license: 'string' }))
  const oid = await fd.create('Car', { license: 'A' })
  expect((await server.get('/health/ready')).status).toBe(200)
  const file = join(directory, 'data.mdb')
  renameSync(file, `${file}.aside`)
  expectLasting(await server.get('/health/ready'), directory)
  expect((await server.get('/health/live')).status).toBe(200)
  const refused = await server.put(fd.at(`/v1/object/${oid}`), { attributes: { license: 'B' } })
  expectLasting(refused, directory)
  expect(refused.json.message).toContain('data.mdb is no longer there')
  renameSync(`${file}.aside`, file)
  expect((await server.get('/health/ready')).status).toBe(200)
  expect((await fd.read(oid)).license).toBe('A')
  expect((await server.put(fd.at(`/v1/object/${oid}`), { attributes: { license: 'C' } })).status).toBeLessThan(300)
  await server.remove()
})

rule(
  ['2.1.7', '1.4.13'],
  'a server whose storage has failed for good is not ready, and refuses every change until it is started again',
  async () => {
    const directory = join(temporaryDirectory(), 'fleet')
    const server = await startServer({ words: fleet(directory) })
    const fd = new FdUnderTest(server, 'fleet')
    await fd.define(classOf('Car', { license: 'string' }))
    const oid = await fd.create('Car', { license: 'A' })
    const uri = fd.at(`/v1/object/${oid}`)
    // Whose commit is the one that is set back.
    await fd.create('Car', { license: 'last' })
    const other = startChild(rewind, [])
    other.process.stdin.end(`${directory} 1\n`)
    expect((await other.lines.next()).value).toBe('set back')
    const change = { method: 'PUT', uri: `/v1/object/${oid}`, body: { attributes: { license: 'B' } } }
    for (const refused of [
      await server.put(uri, { attributes: { license: 'B' } }),
      await server.post(fd.at('/v1/object'), { class: 'Car', attributes: { license: 'B' } }),
      await server.post(fd.at('/v1/transaction'), [change]),
      await server.post(fd.at('/v1/query'), { query: "UPDATE Car WHERE license = 'A' SET license TO 'B'" }),
      await server.get('/health/ready'),
    ]) {
      expectLasting(refused, directory)
      expect(refused.json.message).toContain('its transaction number was set back')
    }
    expect(await server.end()).toBe(0)
    const again = await startServer({ words: fleet(directory), data: server.data })
    expect((await again.get(uri)).json.license).toBe('A')
    expect((await again.put(uri, { attributes: { license: 'C' } })).status).toBeLessThan(300)
    expect((await again.get('/health/ready')).status).toBe(200)
    await again.remove()
  },
)
