/** Limits on what arrives: how slowly, on how many connections, and how much of it at once. */
import { writeFileSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { join } from 'node:path'
import { afterAll, beforeAll, expect } from 'vitest'
import { classOf, FdUnderTest } from './class-of.ts'
import { expectProblem } from './expectations.ts'
import { dial, type Line } from './line.ts'
import { rule } from './rule.ts'
import { type Loose, type ServerUnderTest, startServer, temporaryDirectory } from './server-under-test.ts'

const usual = {
  headersMsMax: 30_000,
  requestMsMax: 300_000,
  connectionsMax: 10_000,
  connectionsPerAddressMax: 5_000,
  bodiesBytesMax: 256 * 2 ** 20,
  bodiesValuesMax: 2_000_000,
  bodyWaitMsMax: 5_000,
}
const servers: ServerUnderTest[] = []

async function serverWith(limits: object): Promise<ServerUnderTest> {
  const data = temporaryDirectory()
  const config = join(data, 'ashlar.json')
  writeFileSync(config, JSON.stringify({ limits }))
  const server = await startServer({ words: ['--fd', 'one=memory:', '--config', config], data })
  servers.push(server)
  return server
}

const portOf = ({ url }: ServerUnderTest): string => new URL(url).port

async function refusalOf(line: Line): Promise<{ status: string | undefined; problem: Loose }> {
  const [head = '', body = ''] = (await line.closed).split('\r\n\r\n')
  return { status: /^HTTP\/1\.1 (\d+) /.exec(head)?.[1], problem: JSON.parse(body) }
}

let slow: ServerUnderTest

beforeAll(async () => {
  slow = await serverWith({ headersMsMax: 300, requestMsMax: 900 })
})
afterAll(async () => {
  for (const server of servers) await server.remove()
})

rule('1.5.10', 'headers and bodies that do not arrive in time are refused, and their connections end', async () => {
  const fd = new FdUnderTest(slow, 'one')
  await fd.define(classOf('Part', { code: 'integer' }))
  const head = 'POST /v1/object HTTP/1.1\r\nhost: localhost\r\n'
  for (const text of ['', 'GET /v1 HTTP/1.1\r\nhost: loc', `${head}content-length: 16\r\n\r\n{"class":"Part"`]) {
    const { status, problem } = await refusalOf(await dial(portOf(slow), text))
    expect([text, status, problem.type]).toEqual([text, '408', 'RequestTimeout'])
    for (const word of ['300', 'headersMsMax', '900', 'requestMsMax']) expect(problem.message).toContain(word)
  }
  expect((await slow.post(fd.at('/v1/query'), { query: 'FROM Part RETURN *' })).json).toEqual([])
})

rule(['1.5.10', '1.5.11', '1.5.12'], 'these limits are shown, also where they are not configured', async () => {
  const server = await serverWith({})
  expect((await server.get('/v1/fd')).json.limits).toMatchObject(usual)
  expect((await slow.get('/v1/fd')).json.limits).toMatchObject({ ...usual, headersMsMax: 300, requestMsMax: 900 })
})

rule('1.5.11', 'connections beyond the limits are refused, and taken again once others end', async () => {
  for (const [limit, whose] of [
    ['connectionsMax', 'The server'],
    ['connectionsPerAddressMax', 'Your address'],
  ] as const) {
    const server = await serverWith({ [limit]: 3 })
    const port = portOf(server)
    const ask = 'GET /v1 HTTP/1.1\r\nhost: localhost\r\n'
    const lines: Line[] = []
    for (let i = 0; i < 3; i++) {
      const line = await dial(port, `${ask}\r\n`)
      await line.received('"resources"')
      lines.push(line)
    }
    for (let i = 0; i < 3; i++) {
      const refused = await dial(port, `${ask}\r\n`)
      const { status, problem } = await refusalOf(refused)
      expect([limit, status, problem.type]).toEqual([limit, '503', 'ServerBusy'])
      expect(problem.message).toMatch(new RegExp(`^${whose} has 3 connections.*\\(${limit}\\)`))
    }
    lines[0]?.write(`${ask}connection: close\r\n\r\n`)
    await lines[0]?.closed
    const taken = await dial(port, `${ask}\r\n`)
    await taken.received('"resources"')
    await server.remove()
  }
})

/** One that has sent all of a body but its last byte, and how it goes on. */
async function holdRoom(bodyWaitMsMax: number) {
  const server = await serverWith({ bodyBytesMax: 200_000, bodiesBytesMax: 200_000, bodyWaitMsMax })
  const fd = new FdUnderTest(server, 'one')
  await fd.define(classOf('Text', { a: 'string' }))
  const body = (letters: number) => JSON.stringify({ class: 'Text', attributes: { a: 'x'.repeat(letters) } })
  const send = (letters: number, headers = {}) => server.send('POST', '/v1/object', { raw: body(letters), headers })
  const large = body(180_000)
  const head = 'POST /v1/object HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nexpect: 100-continue\r\n'
  const line = await dial(portOf(server), `${head}content-length: ${large.length}\r\n\r\n`)
  await line.received('100 Continue')
  line.write(large.slice(0, -1))
  return { send, line, last: large.slice(-1) }
}

rule('1.5.12', 'bodies under way have bounded room: others are refused when their turn does not come', async () => {
  const { send, line, last } = await holdRoom(300)
  // Until what was sent has arrived there may be room.
  await expect.poll(async () => (await send(100_000)).status).toBe(503)
  for (const headers of [{}, { 'content-length': '', 'transfer-encoding': 'chunked' }]) {
    const refused = await send(100_000, headers)
    const message = expectProblem(refused, 503, 'ServerBusy')
    for (const word of ['200000', 'bodiesBytesMax']) expect(message).toContain(word)
    expect(refused.headers['retry-after']).toMatch(/^\d+$/)
  }
  expect((await send(1_000)).status).toBe(201)
  line.write(last)
  expect(await line.closed).toMatch(/HTTP\/1\.1 201 /)
  expect((await send(180_000)).status).toBe(201)
})

rule('1.5.12', 'the values of bodies under way are bounded too', async () => {
  const server = await serverWith({ bodiesValuesMax: 20_000, bodyWaitMsMax: 300 })
  const path = new FdUnderTest(server, 'one').at('/v1/query')
  const parameters = { list: Array.from({ length: 15_000 }, (_, i) => 100_000 + i) }
  const doubled = `LET x = 'abcdefgh'; ${'LET x = $x + $x; '.repeat(20)}`
  // A reply that is too large for the buffers on its way stays under way until its client reads it.
  const large = JSON.stringify({ query: `${doubled}SHOW LIST{$x, $x}`, parameters })
  const headers = { 'content-type': 'application/json', 'content-length': large.length }
  const reply = await new Promise<IncomingMessage>((resolve, reject) => {
    request(`${server.url}${path}`, { method: 'POST', headers }, resolve).on('error', reject).end(large)
  })
  const ask = (count: number) =>
    server.post(path, { query: 'SHOW LENGTH($list)', parameters: { list: parameters.list.slice(0, count) } })
  const refused = await ask(12_000)
  const message = expectProblem(refused, 503, 'ServerBusy')
  for (const word of ['20000 values', 'bodiesValuesMax']) expect(message).toContain(word)
  expect(refused.headers['retry-after']).toMatch(/^\d+$/)
  expect((await ask(3_000)).json).toEqual([3_000])
  let bytes = 0
  for await (const chunk of reply) bytes += (chunk as Buffer).length
  expect(bytes).toBe(2 * (2 ** 23 + 2) + 5)
  expect((await ask(12_000)).json).toEqual([12_000])
})

rule('1.5.12', 'bodies under way have bounded room: others wait for it, and small ones pass', async () => {
  const { send, line, last } = await holdRoom(100_000)
  const waiting = Promise.all([1, 2, 3].map(() => send(100_000)))
  expect((await send(1_000)).status).toBe(201)
  line.write(last)
  expect(await line.closed).toMatch(/HTTP\/1\.1 201 /)
  expect((await waiting).map(({ status }) => status)).toEqual([201, 201, 201])
})
