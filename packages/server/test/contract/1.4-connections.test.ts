/** Errors as connections see them: while the server stops, and where no operation is reached. */
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect } from 'vitest'
import { classOf } from './class-of.ts'
import { dial } from './line.ts'
import { rule } from './rule.ts'
import { type Loose, type ServerUnderTest, startServer, temporaryDirectory } from './server-under-test.ts'

let server: ServerUnderTest

beforeAll(async () => {
  server = await startServer({ words: ['--fd', 'one=memory:'] })
})
afterAll(() => server.remove())

/** The last reply of all that arrived. */
function lastReply(arrived: string): { head: string; problem: Loose } {
  const [head = '', body = ''] = arrived
    .slice(arrived.search(/HTTP\/1\.1 \d{3} (?!.*HTTP\/1\.1 \d{3} )/s))
    .split('\r\n\r\n')
  return { head, problem: JSON.parse(body) }
}

/** Resolves once the port takes no more connections: the server stops. */
async function portClosed(port: string): Promise<void> {
  for (let isOpen = true; isOpen; ) {
    const socket = connect(Number(port), '127.0.0.1')
    isOpen = await Promise.race([
      once(socket, 'connect').then(() => true),
      once(socket, 'error').then(() => false),
    ]).catch(() => false)
    socket.destroy()
  }
}

/** It waits for bodies while it stops, however slow this machine is. */
async function startPatient(words: readonly string[]): Promise<ServerUnderTest> {
  const data = temporaryDirectory()
  const config = join(data, 'ashlar.json')
  writeFileSync(config, JSON.stringify({ limits: { stopBodyMsMax: 100_000, stopMsMax: 100_000 } }))
  return startServer({ words: ['--allow-shutdown', '--config', config, ...words], data })
}

rule('1.4.9', 'while it stops: 503 for new requests, an end for those under way', async () => {
  const stopping = await startPatient([])
  const { port } = new URL(stopping.url)
  const body = JSON.stringify([classOf('Late', {})])
  const inProgress = await dial(port, `PUT /v1/schema HTTP/1.1\r\nhost: localhost\r\nexpect: 100-continue\r\n`)
  inProgress.write(`content-length: ${body.length}\r\n\r\n`)
  await inProgress.received('100 Continue')
  const late = await dial(port, 'GET /v1 HTTP/1.1\r\nhost: localhost\r\n\r\n')
  await late.received('"resources"')
  // A request that has begun to arrive keeps its connection open.
  late.write('GET /v1/schema HTTP/1.1\r\nhost: localhost\r\n')
  expect((await stopping.send('POST', '/shutdown')).status).toBe(204)
  await portClosed(port)
  late.write('\r\n')
  const refused = await late.closed
  const [head = '', problem = ''] = refused.slice(refused.lastIndexOf('HTTP/1.1')).split('\r\n\r\n')
  expect(head).toMatch(/^HTTP\/1\.1 503 /)
  expect(head).toMatch(/\r\nretry-after: \d+/i)
  expect(JSON.parse(problem)).toMatchObject({ type: 'ShuttingDown', status: 503 })
  inProgress.write(body)
  expect(await inProgress.closed).toMatch(/HTTP\/1\.1 201 .*"classNumbers":\["1000000"\]/s)
  await stopping.remove()
})

rule('1.4.9', 'while it stops, a connection that was idle gets 503 and its end, not a reset', async () => {
  const stopping = await startPatient(['--fd', 'one=memory:'])
  const { port } = new URL(stopping.url)
  const body = JSON.stringify([classOf('Late', {})])
  const inProgress = await dial(port, 'PUT /v1/schema HTTP/1.1\r\nhost: localhost\r\nexpect: 100-continue\r\n')
  inProgress.write(`content-length: ${body.length}\r\n\r\n`)
  await inProgress.received('100 Continue')
  const idle = await Promise.all([1, 2, 3].map(() => dial(port, 'GET /v1 HTTP/1.1\r\nhost: localhost\r\n\r\n')))
  for (const line of idle) await line.received('"resources"')
  expect((await stopping.send('POST', '/shutdown')).status).toBe(204)
  await portClosed(port)
  const change = '{"class":"Late"}'
  for (const [i, line] of idle.entries()) {
    if (i === 2) break
    line.write(`POST /v1/object HTTP/1.1\r\nhost: localhost\r\ncontent-length: ${change.length}\r\n\r\n${change}`)
    const { head, problem } = lastReply(await line.closed)
    expect(head).toMatch(/^HTTP\/1\.1 503 .*\r\nretry-after: \d+/is)
    expect(head).toMatch(/\r\nconnection: close/i)
    expect(problem).toMatchObject({ type: 'ShuttingDown', status: 503 })
  }
  inProgress.write(body)
  expect(await inProgress.closed).toMatch(/HTTP\/1\.1 201 /)
  // On which nothing more was asked.
  await idle[2]?.closed
  await stopping.remove()
})

rule('1.4.9', 'while it stops, a body that does not come is not waited for, and its request gets 503', async () => {
  const data = temporaryDirectory()
  const config = join(data, 'ashlar.json')
  writeFileSync(config, JSON.stringify({ limits: { stopBodyMsMax: 300, stopMsMax: 60_000 } }))
  const stopping = await startServer({ words: ['--fd', 'one=memory:', '--config', config], data })
  const { port } = new URL(stopping.url)
  const lines = [
    await dial(port, 'PUT /v1/schema HTTP/1.1\r\nhost: localhost\r\nexpect: 100-continue\r\ncontent-length: 9\r\n\r\n'),
    await dial(
      port,
      'PUT /v1/schema HTTP/1.1\r\nhost: localhost\r\nexpect: 100-continue\r\ncontent-encoding: gzip\r\ntransfer-encoding: chunked\r\n\r\n',
    ),
  ]
  for (const line of lines) await line.received('100 Continue')
  lines[0]?.write('[')
  const exited = once(stopping.child, 'exit')
  stopping.child.kill('SIGTERM')
  for (const line of lines) {
    expect(lastReply(await line.closed)).toMatchObject({
      head: expect.stringMatching(/^HTTP\/1\.1 503 /),
      problem: { type: 'ShuttingDown', status: 503 },
    })
  }
  expect(await exited).toEqual([0, null])
  await stopping.remove()
})

rule('1.4.16', 'a request that names no host, or expects what is not there, has a body in reply', async () => {
  const { port } = new URL(server.url)
  for (const path of ['/v1/fd', '/nothing', '/health/live']) {
    const { head, problem } = lastReply(await (await dial(port, `GET ${path} HTTP/1.1\r\n\r\n`)).closed)
    expect(head).toMatch(/^HTTP\/1\.1 400 .*content-type: application\/json/is)
    expect(problem).toMatchObject({ type: 'MalformedRequest', status: 400, message: expect.stringContaining('Host') })
  }
  const old = await (await dial(port, 'GET /docs HTTP/1.0\r\n\r\n')).closed
  expect(old).toMatch(/^HTTP\/1\.1 301 /)
  expect(await (await dial(port, 'GET /docs/ HTTP/1.0\r\n\r\n')).closed).toMatch(/^HTTP\/1\.1 200 /)
  const unmet =
    'PUT /v1/schema HTTP/1.1\r\nhost: localhost\r\nexpect: tea\r\nconnection: close\r\ncontent-length: 2\r\n\r\n[]'
  const { head, problem } = lastReply(await (await dial(port, unmet)).closed)
  expect(head).toMatch(/^HTTP\/1\.1 417 /)
  expect(problem).toMatchObject({ type: 'ExpectationFailed', status: 417, message: expect.stringContaining('tea') })
})

rule('1.4.16', 'CONNECT has a body in reply, and ends the connection', async () => {
  const { port } = new URL(server.url)
  const text = 'CONNECT evil.example:443 HTTP/1.1\r\nhost: evil.example:443\r\n\r\n'
  const { head, problem } = lastReply(await (await dial(port, text)).closed)
  expect(head).toMatch(/^HTTP\/1\.1 405 .*connection: close/is)
  expect(problem).toMatchObject({ type: 'MethodNotAllowed', status: 405 })
})

rule('1.1.16', 'a body whose end others may see elsewhere is refused, and its connection closed', async () => {
  const server = await startServer({ words: ['--fd', 'one=memory:'] })
  const { port } = new URL(server.url)
  for (const [version, coding] of [
    ['1.1', 'identity, chunked'],
    ['1.1', 'gzip, chunked'],
    ['1.0', 'chunked'],
  ]) {
    const head = `POST /v1/query HTTP/${version}\r\nhost: localhost\r\ncontent-type: text/plain\r\ntransfer-encoding: ${coding}\r\n\r\n`
    const line = await dial(port, `${head}6\r\nSHOW 1\r\n0\r\n\r\n`)
    const reply = await line.closed
    expect([version, coding, reply.slice(0, 12), reply.split('HTTP/1.1 ').length]).toEqual([
      version,
      coding,
      'HTTP/1.1 400',
      2,
    ])
  }
  await server.remove()
})

rule('1.1.15', 'requests that are sent before the replies to others see what these have changed', async () => {
  const { port } = new URL(server.url)
  await server.put('/v1/schema', [classOf('Sent', { n: 'integer' })])
  const request = (method: string, path: string, body?: unknown): string => {
    const text = body === undefined ? '' : JSON.stringify(body)
    const length = body === undefined ? '' : `content-length: ${text.length}\r\n`
    return `${method} ${path} HTTP/1.1\r\nhost: localhost\r\n${length}\r\n${text}`
  }
  const { __identifier__: oid } = (await server.post('/v1/object', { class: 'Sent', attributes: { n: 1 } })).json
  const path = `/v1/object/${oid}`
  const read = request('GET', path)
  const query = request('POST', '/v1/query', { query: 'FROM Sent RETURN n' })
  const [two, three] = [2, 3].map((n) => request('PUT', path, { attributes: { n } }))
  const texts = [read, two, read, query, three, query, read, request('DELETE', path), read, query]
  const line = await dial(port, `${texts.join('')}GET /v1 HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n`)
  const arrived = await line.closed
  const told = arrived.match(/HTTP\/1\.1 (?!20[01])\d+|"n":\d|(?<=\n)\[\]/g)
  const expected = ['"n":1', 204, '"n":2', '"n":2', 204, '"n":3', '"n":3', 204, 404, '[]']
  expect(told).toEqual(expected.map((one) => (typeof one === 'number' ? `HTTP/1.1 ${one}` : one)))
})

rule('1.4.16', 'a body that is not encoded as it says is refused, also while more of it is announced', async () => {
  const { port } = new URL(server.url)
  const whole = gzipSync('[]'.padEnd(5_000, ' '))
  for (const [encoding, bytes] of [
    ['gzip', Buffer.from('this is not gzip')],
    ['br', Buffer.from('neither is this br')],
    ['deflate', Buffer.from('nor this deflate')],
    ['gzip', Buffer.concat([whole.subarray(0, 20), Buffer.alloc(30, 0xff)])],
  ] as const) {
    const line = await dial(
      port,
      `PUT /v1/schema HTTP/1.1\r\nhost: localhost\r\ncontent-encoding: ${encoding}\r\ncontent-length: 1000000\r\n\r\n`,
    )
    line.write(bytes)
    const { head, problem } = lastReply(await line.closed)
    expect([encoding, head.slice(0, 12), problem.type]).toEqual([encoding, 'HTTP/1.1 400', 'MalformedRequest'])
  }
})

rule('1.2.11', 'a client that still sends its body gets the refusal, not a reset', async () => {
  const { port } = new URL(server.url)
  const socket = connect(Number(port), '127.0.0.1')
  let answer = ''
  let error: unknown
  socket.setEncoding('utf8').on('data', (piece: string) => {
    answer += piece
  })
  socket.on('error', (reason) => {
    error = reason
  })
  socket.write(`PUT /v1/schema HTTP/1.1\r\nhost: localhost\r\ncontent-length: ${2 ** 40}\r\n\r\n`)
  for (let sent = 0; sent < 20 && !socket.readableEnded; sent++) {
    socket.write(Buffer.alloc(100_000, ' '))
    await new Promise((resolve) => setImmediate(resolve))
  }
  await once(socket, 'close')
  expect(error).toBeUndefined()
  expect(answer).toMatch(/^HTTP\/1\.1 413 .*"BodyTooLarge"/s)
})
