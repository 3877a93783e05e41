/** Indexes that are built while clients and servers come and go, over HTTP. */

import { request } from 'node:http'
import { expect } from 'vitest'
import { classOf, FdUnderTest } from './class-of.ts'
import { expectProblem } from './expectations.ts'
import { rule } from './rule.ts'
import { type ServerUnderTest, startServer, temporaryDirectory } from './server-under-test.ts'

const objects = 2_000

async function filledServer(): Promise<FdUnderTest> {
  const data = temporaryDirectory()
  const server = await startServer({ words: ['--fd', 'fleet'], data })
  const fd = new FdUnderTest(server, 'fleet')
  await fd.define(classOf('Car', { license: 'string', year: 'integer' }))
  const query = "FOR EACH n IN $numbers => (CREATE Car {license: 'L' + CAST($n AS String), year: $n})"
  const parameters = { numbers: Array.from({ length: objects }, (_, i) => i) }
  expect((await server.post(fd.at('/v1/query'), { query, parameters })).status).toBe(200)
  return fd
}

const body = (name: string) =>
  JSON.stringify({ name, indexedClass: 'Car', isUnique: true, keyAttributes: [{ attributeName: 'license' }] })

/** Either there is none, and the name is free; or it is whole. */
async function expectNoneOrWhole(fd: FdUnderTest, name: string): Promise<void> {
  const read = await fd.server.get(fd.at(`/v1/index/${name}`))
  if (read.status === 404) await fd.index(name, 'Car', true, 'license')
  const { json } = await fd.server.get(fd.at(`/v1/index/${name}`))
  expect(json).toMatchObject({ state: 'ready', entryCount: objects })
  expectProblem(await fd.postObject('Car', { license: 'L7' }), 409, 'UniqueViolation')
  await fd.server.delete(fd.at(`/v1/index/${name}`))
}

/** Sends the request, and goes away some round trips after the build was first seen. */
async function sendAndLeave(fd: FdUnderTest, name: string, roundTrips: number): Promise<void> {
  const text = body(name)
  const headers = { 'content-type': 'application/json', 'content-length': text.length }
  const sent = request(`${fd.server.url}${fd.at('/v1/index')}`, { method: 'POST', headers })
  const gone = new Promise<void>((resolve) => sent.on('error', () => undefined).once('close', resolve))
  sent.end(text)
  while ((await fd.server.get(fd.at(`/v1/index/${name}`))).status === 404);
  for (let i = 0; i < roundTrips; i++) await fd.server.get('/')
  sent.destroy()
  await gone
}

rule('6.1.24', 'a client that goes away', async () => {
  const fd = await filledServer()
  for (const roundTrips of [0, 1, 2, 4]) {
    const name = `left${roundTrips}`
    await sendAndLeave(fd, name, roundTrips)
    let state = 'building'
    while (state === 'building') state = (await fd.server.get(fd.at(`/v1/index/${name}`))).json.state
    await expectNoneOrWhole(fd, name)
  }
  await fd.server.remove()
})

rule(['6.1.24', '8.1.7'], 'a server that is killed, or stops, while it builds', async () => {
  let fd = await filledServer()
  for (const [round, signal] of (['SIGKILL', 'SIGTERM', 'SIGKILL'] as const).entries()) {
    const reply = fd.server.send('POST', fd.at('/v1/index'), { raw: body(`killed${round}`) }).catch(() => undefined)
    for (let i = 0; i < round; i++) await fd.server.get('/')
    await fd.server.end(signal)
    const answered = (await reply)?.status === 201
    const again: ServerUnderTest = await startServer({ words: ['--fd', 'fleet'], data: fd.server.data })
    fd = new FdUnderTest(again, 'fleet')
    if (answered) expect((await again.get(fd.at(`/v1/index/killed${round}`))).status).toBe(200)
    await expectNoneOrWhole(fd, `killed${round}`)
  }
  await fd.server.remove()
})

rule('6.1.20', 'two servers on one store: one key is specified once, and each sees what the other did', async () => {
  const place = temporaryDirectory()
  const words = ['--fd', `fleet=lmdb:${place}`]
  const servers = [await startServer({ words }), await startServer({ words })]
  const fds = servers.map((server) => new FdUnderTest(server, 'fleet'))
  const [one, two] = fds as [FdUnderTest, FdUnderTest]
  await one.define(classOf('Car', { license: 'string' }))
  await two.index('byLicense', 'Car', true, 'license')
  for (let round = 0; round < 10; round++) {
    const license = `L${round}`
    const replies = await Promise.all(Array.from({ length: 20 }, (_, i) => fds[i % 2]?.postObject('Car', { license })))
    expect(replies.filter((reply) => reply?.status === 201)).toHaveLength(1)
    expect(replies.filter((reply) => reply?.status === 409)).toHaveLength(19)
    const made = replies.find((reply) => reply?.status === 201)?.json.__identifier__
    for (const fd of fds) expect((await fd.read(made)).license).toBe(license)
  }
  const all = await Promise.all(Array.from({ length: 100 }, (_, i) => fds[i % 2]?.create('Car', { license: `M${i}` })))
  expect(new Set(all).size).toBe(100)
  for (const fd of fds) expect((await fd.server.get(fd.at('/v1/index/byLicense'))).json.entryCount).toBe(110)
  for (const server of servers) await server.remove()
})
