/** What a browser may send: pages of others neither read, nor change, nor stop anything. */
import { request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import { afterAll, beforeAll, expect } from 'vitest'
import { operations } from '../../src/operations/table.ts'
import { classOf, FdUnderTest } from './class-of.ts'
import { expectProblem } from './expectations.ts'
import { rule } from './rule.ts'
import { type Reply, type ServerUnderTest, startServer } from './server-under-test.ts'

const listed = 'https://app.example.com'
let server: ServerUnderTest
let fd: FdUnderTest
/** `host:port` of the server. */
let own: string

beforeAll(async () => {
  const words = ['--fd', 'one', '--allow-shutdown', '--cors', listed, '--host-name', 'db.example.com']
  server = await startServer({ words })
  fd = new FdUnderTest(server, 'one')
  own = new URL(server.url).host
  await fd.define(classOf('Part', { code: 'integer' }))
})
afterAll(() => server.remove())

type Headers = Record<string, string>

const foreign: Headers[] = [
  { 'sec-fetch-site': 'cross-site' },
  { 'sec-fetch-site': 'same-site' },
  { 'sec-fetch-site': 'same-origin', origin: 'https://evil.example' },
  { origin: 'https://evil.example' },
  { origin: 'null' },
  { origin: 'http://127.0.0.1:1' },
  { origin: 'https://app.example.com.evil.example' },
  { origin: '' },
]

/** Sent as it is, an empty header too. */
function ask(method: string, path: string, headers: Headers, body?: string): Promise<Pick<Reply, 'status' | 'json'>> {
  return new Promise((resolve, reject) => {
    const sent = httpRequest(
      `${server.url}${path}`,
      { method, headers, setHost: headers.host === undefined },
      (reply) => {
        let text = ''
        reply.setEncoding('utf8').on('data', (piece: string) => {
          text += piece
        })
        reply.on('error', reject).on('end', () => {
          resolve({ status: reply.statusCode ?? 0, json: text.startsWith('{') ? JSON.parse(text) : text })
        })
      },
    )
    sent.on('error', reject).end(body)
  })
}

rule('1.7.1', 'pages of others read nothing, on no route, not even whether there is one', async () => {
  const data = operations.filter(({ path }) => path !== '/')
  expect(data.map(({ path }) => path)).toContain('/shutdown')
  for (const headers of foreign) {
    for (const { method, path } of data) {
      const reply = await ask(method, path.replace(/:\w+/g, '3-3-1-1'), headers)
      expect([method, path, headers, reply.status, reply.json.type]).toEqual([
        method,
        path,
        headers,
        403,
        'ForbiddenOrigin',
      ])
    }
  }
  for (const path of ['/%761/schema', '/v1/', '/v1?x=1', '/v1/nothing', '/metrics', '/shutdown/']) {
    expect([path, (await ask('GET', path, { origin: 'null' })).status]).toEqual([path, 403])
  }
})

rule('1.7.1', 'pages of others change nothing by what needs no preflight, and the body is not waited for', async () => {
  const before = (await server.get(fd.at('/v1/fd'))).json.counts
  const create = JSON.stringify({ class: 'Part', attributes: { code: 1 } })
  for (const contentType of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data', undefined]) {
    const headers = {
      origin: 'https://evil.example',
      ...(contentType === undefined ? {} : { 'content-type': contentType }),
    }
    for (const [path, body] of [
      ['/v1/object', create],
      ['/v1/query', 'CREATE Part {code: 1}'],
      ['/shutdown', ''],
    ] as const) {
      expect((await ask('POST', fd.at(path), headers, body)).json).toMatchObject({
        type: 'ForbiddenOrigin',
        status: 403,
      })
    }
  }
  expect((await server.get(fd.at('/v1/fd'))).json.counts).toEqual(before)
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
  socket.write(`POST /v1/object HTTP/1.1\r\nHost: ${own}\r\nOrigin: null\r\nContent-Length: 1000000\r\n\r\n{`)
  let answer = ''
  for await (const piece of socket.setEncoding('utf8')) answer += piece
  expect(answer).toMatch(/^HTTP\/1\.1 403 .*"ForbiddenOrigin"/s)
})

rule('1.7.2', "the server's own pages, and what a person asks for, are served", async () => {
  const allowed: Headers[] = [
    { 'sec-fetch-site': 'none' },
    { 'sec-fetch-site': 'same-origin' },
    { origin: `http://${own}`, 'sec-fetch-site': 'same-origin' },
    { origin: `http://${own}` },
    { host: 'LOCALHOST:1234', origin: 'http://localhost:1234' },
    // Behind what ends TLS.
    { host: 'db.example.com', origin: 'https://db.example.com' },
  ]
  for (const headers of allowed) {
    expect([headers, (await ask('GET', fd.at('/v1/schema'), headers)).status]).toEqual([headers, 200])
    const body = JSON.stringify({ class: 'Part', attributes: { code: 1 } })
    expect([headers, (await ask('POST', fd.at('/v1/object'), headers, body)).status]).toEqual([headers, 201])
  }
})

rule('1.7.2', 'what tells nothing of the data may be asked by any page', async () => {
  for (const path of ['/', '/health/live', '/health/ready', '/openapi.json', '/docs/']) {
    for (const headers of foreign) {
      expect([path, headers, (await ask('GET', path, headers)).status]).toEqual([path, headers, 200])
    }
  }
})

rule('1.7.1', 'clients that are no browsers go on as they did, with every content type', async () => {
  const contentTypes = ['application/json', 'application/json,Accept:application/json', '']
  for (const contentType of contentTypes) {
    const options = { body: { class: 'Part' }, headers: { 'content-type': contentType } }
    expect((await server.send('POST', fd.at('/v1/object'), options)).status).toBe(201)
  }
  const text = { raw: 'SHOW 1', headers: { 'content-type': 'text/plain' } }
  expect((await server.send('POST', fd.at('/v1/query'), text)).json).toEqual([1])
})

rule(['1.7.3', '8.1.13'], 'pages of listed origins may do everything, and read the replies', async () => {
  for (const origin of [listed, listed.toUpperCase()]) {
    const headers = { origin, 'sec-fetch-site': 'cross-site' }
    const created = await server.send('POST', fd.at('/v1/object'), { body: { class: 'Part' }, headers })
    expect(created.status).toBe(201)
    const read = await server.send('GET', fd.at(created.json.uri), { headers })
    expect(read).toMatchObject({ status: 200, headers: { 'access-control-allow-origin': origin } })
    expect(read.headers['access-control-expose-headers']).toMatch(/ETag/)
    const missing = await server.send('GET', fd.at('/v1/object/3-3-9-9'), { headers })
    expect(missing).toMatchObject({ status: 404, headers: { 'access-control-allow-origin': origin } })
  }
  const preflight = {
    'access-control-request-method': 'PUT',
    'access-control-request-headers': 'content-type,idempotency-key',
  }
  const asked = await server.send('OPTIONS', '/v1/object/3-3-1-1', {
    headers: { origin: listed, 'sec-fetch-site': 'cross-site', ...preflight },
  })
  expect([asked.status, asked.text]).toEqual([204, ''])
  expect(asked.headers).toMatchObject({
    'access-control-allow-origin': listed,
    'access-control-allow-headers': 'content-type,idempotency-key',
    'access-control-allow-methods': expect.stringContaining('PUT'),
  })
  const refused = await server.send('OPTIONS', '/v1/object/3-3-1-1', {
    headers: { origin: 'https://evil.example', ...preflight },
  })
  expectProblem(refused, 403, 'ForbiddenOrigin')
  expect(refused.headers).not.toHaveProperty('access-control-allow-origin')
  // Caches keep replies for one origin from another.
  expect((await server.get('/v1')).headers.vary).toMatch(/origin/)
})

rule('1.7.6', 'pages of listed origins send the session cookie, and no others', async () => {
  const allowing = { 'access-control-allow-origin': listed, 'access-control-allow-credentials': 'true' }
  const origin = { origin: listed, 'sec-fetch-site': 'same-site' }
  expect((await server.send('GET', fd.at('/v1/schema'), { headers: origin })).headers).toMatchObject(allowing)
  expect((await server.send('GET', fd.at('/v1/nothing'), { headers: origin })).headers).toMatchObject(allowing)
  const headers = { ...origin, 'access-control-request-method': 'POST' }
  expect((await server.send('OPTIONS', '/v1/security/session', { headers })).headers).toMatchObject(allowing)
  for (const others of [...foreign, {}, { origin: `http://${own}` }]) {
    for (const path of ['/v1', '/', '/docs/', '/health/live']) {
      const given = (await server.send('GET', path, { headers: others })).headers
      for (const name of Object.keys(allowing)) expect([path, others, given[name]]).toEqual([path, others, undefined])
    }
  }
})

rule(['1.7.4', '1.7.2'], 'the host of a request target in absolute form counts, not that of the header', async () => {
  const statusOf = async (
    target: string,
    host: string,
    headers: Headers = {},
    version = '1.1',
    method = 'GET',
  ): Promise<string> => {
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
    const lines = Object.entries({ ...(host !== '' && { Host: host }), Connection: 'close', ...headers })
    const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')
    socket.write(`${method} ${target} HTTP/${version}\r\n${head}\r\n`)
    let answer = ''
    for await (const piece of socket.setEncoding('utf8')) answer += piece
    return `${answer.slice(9, 12)} ${/"type":"(\w+)"/.exec(answer)?.[1] ?? ''}`
  }
  for (const path of ['/v1', '/v1/schema', '/health/live', '/nothing', '?x=1', '']) {
    expect([path, await statusOf(`http://evil.example${path}`, own)]).toEqual([path, '421 UnknownHost'])
    expect([path, await statusOf(`HTTPS://evil.example${path}`, own)]).toEqual([path, '421 UnknownHost'])
  }
  for (const host of ['', 'x@localhost']) {
    expect([host, await statusOf(`http://${host}/v1`, own)]).toEqual([host, '421 UnknownHost'])
  }
  expect(await statusOf('http://localhost:1/v1', 'evil.example')).toBe('200 ')
  expect(await statusOf('http://DB.example.com/health/live?x=1', own)).toBe('200 ')
  expect(await statusOf('http://localhost', 'evil.example')).toBe('200 ')
  expect(await statusOf('http://localhost/v1', '', {}, '1.1')).toBe('400 MalformedRequest')
  expect(await statusOf('http://localhost/v1', '', {}, '1.0')).toBe('200 ')
  expect(await statusOf('http://evil.example/v1', '', {}, '1.0')).toBe('421 UnknownHost')
  expect(await statusOf('*', own, {}, '1.1', 'OPTIONS')).toBe('204 ')
  expect(await statusOf('*', own)).toBe('404 ResourceNotFound')
  expect(await statusOf('ftp://localhost/v1', own)).toBe('404 ResourceNotFound')
  // The own origin of the request is that of the host that it is for, and the prefix does not lead past the guard.
  const origin = 'http://evil.example'
  expect(await statusOf('http://localhost/v1/nothing', 'evil.example', { Origin: origin })).toBe('403 ForbiddenOrigin')
  expect(await statusOf(`http://${own}/v1`, 'x', { Origin: `http://${own}` })).toBe('200 ')
})

rule(
  '1.7.4',
  'the server answers to loopback, its addresses and its names, whatever the port, and to nothing else',
  async () => {
    const taken = [
      'localhost',
      'localhost:1',
      'LocalHost.',
      '127.0.0.1',
      '127.9.9.9:80',
      '[::1]:8185',
      'DB.Example.com',
      own,
    ]
    for (const host of taken) expect([host, (await ask('GET', '/v1', { host })).status]).toEqual([host, 200])
    const refused = [
      'evil.example',
      `evil.example:${new URL(server.url).port}`,
      'localhost.evil.example',
      '127.0.0.1.evil.example',
      'db.example.com.evil.example',
      'x@localhost',
      'localhost/x',
      '192.0.2.1',
      '0.0.0.0',
      '[::2]',
      '',
    ]
    for (const host of refused) {
      for (const path of ['/v1', fd.at('/v1/schema'), '/health/ready', '/docs/', '/openapi.json', '/']) {
        const reply = await ask('GET', path, { host })
        expect([host, path, reply.status, reply.json.type]).toEqual([host, path, 421, 'UnknownHost'])
      }
    }
    const { status, json } = await ask('POST', '/shutdown', { host: 'evil.example' })
    expect([status, json.type]).toEqual([421, 'UnknownHost'])
  },
)

rule('1.7.4', 'two Host headers, of which a proxy might take the other, are refused', async () => {
  for (const hosts of [
    [own, own],
    [own, 'evil.example'],
    ['evil.example', own],
  ]) {
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
    const lines = hosts.map((host, i) => `${i === 0 ? 'Host' : 'hOST'}: ${host}`).join('\r\n')
    socket.write(`GET /v1 HTTP/1.1\r\n${lines}\r\nConnection: close\r\n\r\n`)
    let answer = ''
    for await (const piece of socket.setEncoding('utf8')) answer += piece
    expect([hosts, answer]).toEqual([hosts, expect.stringMatching(/^HTTP\/1\.1 400 .*"MalformedRequest"/s)])
  }
})

rule('1.7.5', 'beyond loopback any name is taken where none is said, which the start tells', async () => {
  const remote = ['--host', '0.0.0.0', '--insecure', '--fd', 'one=memory:']
  const settings = [
    { words: remote, tells: true, statuses: [200, 200] },
    { words: [...remote, '--host-name', '*'], tells: false, statuses: [200, 200] },
    { words: [...remote, '--host-name', 'db.example.com'], tells: false, statuses: [200, 421] },
    { words: ['--fd', 'one=memory:', '--host-name', '*'], tells: false, statuses: [200, 200] },
    { words: ['--fd', 'one', '--workers', '2', '--host-name', 'DB.example.com'], tells: false, statuses: [200, 421] },
  ]
  await Promise.all(
    settings.map(async ({ words, tells, statuses }) => {
      const other = await startServer({ words })
      const { port } = new URL(other.url)
      const asked = ['db.example.com', 'evil.example'].map(async (host) => {
        const sent = httpRequest({ port, path: '/v1', headers: { host } })
        return new Promise((resolve) => sent.once('response', (reply) => resolve(reply.resume().statusCode)).end())
      })
      expect([words, await Promise.all(asked)]).toEqual([words, statuses])
      const note = /^ashlar: .*--host-name/m
      if (tells) expect(other.stderr()).toMatch(note)
      else expect(other.stderr()).not.toMatch(note)
      await other.remove()
    }),
  )
})
