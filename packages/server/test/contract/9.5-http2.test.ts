/** HTTPS: HTTP/2 and HTTP/1.1 on one port, and that HTTP/2 has whatever holds for HTTP/1.1. */

import { constants } from 'node:http2'
import { get } from 'node:https'
import { setTimeout as delay } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'
import { gunzipSync, gzipSync } from 'node:zlib'
import { expect, onTestFinished, vi } from 'vitest'
import { otherPair, serverPair } from '../certificates.ts'
import { endHeaders, frame, frameTypes, postText } from '../http2-frames.ts'
import { ask, openSecure, rawSession, replyOf, type Secure } from '../unit/open-secure.ts'
import { defineGadget } from '../unit/open-server.ts'
import { makeGate, rowChunk, stubQuery } from '../unit/stub-query.ts'
import { rule } from './rule.ts'

/** By HTTP/1.1: the status, the headers, and the body. */
function get1(port: number, path: string, headers: Record<string, string> = {}) {
  return new Promise<{ status: number; headers: Record<string, unknown>; body: string }>((resolve, reject) => {
    const options = {
      port,
      path,
      host: '127.0.0.1',
      servername: 'localhost',
      ca: serverPair.cert,
      agent: false as const,
      headers,
    }
    get(options, (response) => {
      let body = ''
      response.on('data', (chunk) => (body += chunk))
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body }))
    }).on('error', reject)
  })
}

const gadget = (name: string) => JSON.stringify({ class: 'Shop.Gadget', attributes: { name, size: 1, isNew: true } })

async function count({ app }: Secure): Promise<number> {
  const { statusCode, body } = await app.inject({
    method: 'POST',
    url: '/v1/query',
    payload: { query: 'FROM Shop.Gadget RETURN COUNT(*) AS n' },
  })
  expect(statusCode, body).toBe(200)
  return JSON.parse(body)[0].n
}

rule(['9.5.1', '9.5.3'], 'one port answers by HTTP/2 and by HTTP/1.1, as the client can', async () => {
  const secure = await openSecure()
  const session = await secure.session()
  expect(session.alpnProtocol).toBe('h2')
  const by2 = await ask(session, 'GET', '/v1')
  const by1 = await get1(secure.port, '/v1')
  expect(by2).toMatchObject({ status: 200, headers: { 'x-content-type-options': 'nosniff' } })
  expect(by1.body).toBe(by2.body.toString())
  await vi.waitFor(() => expect(secure.lines.filter(({ msg }) => msg === 'request')).toHaveLength(2))
  for (const line of secure.lines) expect(line).not.toHaveProperty('aborted')
})

rule('9.5.1', 'TLS before 1.2 and ciphers without forward secrecy are not agreed on', async () => {
  const { port } = await openSecure()
  const attempt = (options: object) =>
    new Promise<string>((resolve) => {
      const socket = connectTls({ port, host: '127.0.0.1', servername: 'localhost', ca: serverPair.cert, ...options })
      socket.on('secureConnect', () => resolve(`${socket.getProtocol()} ${socket.getCipher().name}`))
      socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
      onTestFinished(() => void socket.destroy())
    })
  expect(await attempt({})).toMatch(/^TLSv1.3 TLS_AES/)
  expect(await attempt({ maxVersion: 'TLSv1.2' })).toMatch(/^TLSv1.2 ECDHE-.*-GCM/)
  const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' }
  expect(await attempt(old)).toMatch(/ERR_SSL|ECONNRESET|EPROTO/)
  expect(await attempt({ maxVersion: 'TLSv1.2', ciphers: 'ECDHE-ECDSA-AES128-SHA' })).toMatch(/ERR_SSL|ECONNRESET/)
})

rule('9.5.1', 'beyond loopback replies have Strict-Transport-Security, on loopback and without TLS not', async () => {
  const remote = await openSecure({ browsers: { host: '0.0.0.0', hosts: ['localhost'], cors: [] } })
  const session = await remote.session()
  const year = 'max-age=31536000'
  expect((await ask(session, 'GET', '/v1')).headers['strict-transport-security']).toBe(year)
  expect((await ask(session, 'GET', '/nothing')).headers['strict-transport-security']).toBe(year)
  expect((await get1(remote.port, '/v1', { host: 'localhost' })).headers['strict-transport-security']).toBe(year)
  expect((await get1(remote.port, '/docs/', { host: 'localhost' })).headers['strict-transport-security']).toBe(year)
  // Also where no request was understood.
  const raw = connectTls({ port: remote.port, host: '127.0.0.1', rejectUnauthorized: false })
  raw.write('nonsense\r\n\r\n')
  const answer = await new Promise<string>((resolve) => raw.once('data', (bytes) => resolve(String(bytes))))
  expect(answer).toMatch(/^HTTP\/1\.1 400 .*strict-transport-security: max-age=31536000\r\n/s)
  raw.destroy()
  const local = await openSecure()
  expect((await get1(local.port, '/v1')).headers).not.toHaveProperty('strict-transport-security')
})

rule('9.5.2', 'another certificate is for connections that come later; those that there are stay', async () => {
  const secure = await openSecure()
  const before = await secure.session()
  secure.exchange(otherPair)
  const shown = await new Promise<string>((resolve) => {
    const socket = connectTls({ port: secure.port, host: '127.0.0.1', rejectUnauthorized: false }, () => {
      resolve(socket.getPeerX509Certificate()?.toString() ?? '')
      socket.destroy()
    })
  })
  expect(shown).toBe(otherPair.cert)
  expect((await ask(before, 'GET', '/v1')).status).toBe(200)
})

rule('9.5.3', 'bodies by HTTP/2 need no length, may be compressed, and are answered compressed', async () => {
  const secure = await openSecure()
  await defineGadget(secure.app)
  const session = await secure.session()
  const many = JSON.stringify(Array.from({ length: 3_000 }, (_, i) => JSON.parse(gadget(`g${i} ${'x'.repeat(100)}`))))
  expect((await ask(session, 'POST', '/v1/object', many)).status).toBe(201)
  const packed = { 'content-encoding': 'gzip' }
  expect((await ask(session, 'POST', '/v1/object', gzipSync(many), packed)).status).toBe(201)
  expect(await count(secure)).toBe(6_000)
  const all = JSON.stringify({ query: 'FROM Shop.Gadget RETURN name' })
  const plain = await ask(session, 'POST', '/v1/query', all)
  expect(plain.json).toHaveLength(6_000)
  const zipped = await ask(session, 'POST', '/v1/query', all, { 'accept-encoding': 'gzip' })
  expect(zipped.headers['content-encoding']).toBe('gzip')
  expect(gunzipSync(zipped.body).toString()).toBe(plain.body.toString())
  const head = await ask(session, 'HEAD', '/v1')
  expect(head).toMatchObject({ status: 200, rstCode: 0 })
  expect(head.body).toHaveLength(0)
  await vi.waitFor(() => expect(secure.lines.filter(({ msg }) => msg === 'request').length).toBeGreaterThanOrEqual(5))
  // Requests by `inject` have no connection.
  const bySession = secure.lines.filter(({ method, url }) => method === 'HEAD' || url === '/v1/object')
  expect(bySession.map(({ aborted }) => aborted)).toEqual([undefined, undefined, undefined])
})

rule('9.5.3', 'requests of one session are answered as they get ready, fifty at once', async () => {
  const secure = await openSecure()
  await defineGadget(secure.app)
  const session = await secure.session()
  const replies = await Promise.all(
    Array.from({ length: 50 }, (_, i) => ask(session, 'POST', '/v1/object', gadget(`g${i}`))),
  )
  expect(replies.map(({ status }) => status)).toEqual(Array.from({ length: 50 }, () => 201))
  expect(await count(secure)).toBe(50)
})

/** DELETE of all objects, though not all of the text has arrived. */
const unfinished = 'DELETE Shop.Gadget '

const resetCodes = { NO_ERROR: 0, INTERNAL_ERROR: 2, CANCEL: 8 }
for (const [name, code] of Object.entries(resetCodes)) {
  rule('9.5.4', `a statement whose text was broken off (RST_STREAM ${name}) is not carried out`, async () => {
    const secure = await openSecure()
    await defineGadget(secure.app)
    const session = await secure.session()
    await ask(session, 'POST', '/v1/object', gadget('kept'))
    const { socket } = await rawSession(secure.port)
    const reset = Buffer.alloc(4)
    reset.writeUInt32BE(code)
    socket.write(frame(frameTypes.headers, endHeaders, 1, postText))
    socket.write(frame(frameTypes.data, 0, 1, Buffer.from(unfinished)))
    await delay(50)
    socket.write(frame(frameTypes.reset, 0, 1, reset))
    await vi.waitFor(() => {
      expect(secure.lines.find(({ url }) => url === '/v1/query')).toMatchObject({ status: 499, aborted: true })
    })
    expect(await count(secure)).toBe(1)
    // The same text, where it is all.
    expect((await ask(session, 'POST', '/v1/query', unfinished, { 'content-type': 'text/plain' })).status).toBe(200)
    expect(await count(secure)).toBe(0)
  })
}

rule('9.5.4', 'nor where its connection has ended', async () => {
  const secure = await openSecure()
  await defineGadget(secure.app)
  const session = await secure.session()
  await ask(session, 'POST', '/v1/object', gadget('kept'))
  const stream = session.request({ ':method': 'POST', ':path': '/v1/query', 'content-type': 'text/plain' })
  stream.on('error', () => undefined)
  stream.write(unfinished)
  await delay(50)
  session.destroy()
  await vi.waitFor(() => expect(secure.lines.some(({ url }) => url === '/v1/query')).toBe(true))
  expect(await count(secure)).toBe(1)
})

rule('9.5.4', 'a body that is refused before it has arrived ends its request alone', async () => {
  const secure = await openSecure({ limits: { bodyBytesMax: 100_000 } })
  const session = await secure.session()
  const tooLarge = await ask(session, 'POST', '/v1/query', 'x'.repeat(1_000_000)).catch((error) => error)
  expect(tooLarge).toMatchObject({ status: 413, json: { type: 'BodyTooLarge' } })
  const announced = session.request({ ':method': 'POST', ':path': '/v1/query', 'content-length': '1000000' })
  expect(await replyOf(announced)).toMatchObject({ status: 413, json: { type: 'BodyTooLarge' } })
  expect((await ask(session, 'GET', '/v1')).status).toBe(200)
})

rule(['9.5.5', '1.5.10'], 'a request that does not arrive in time is refused; its session goes on', async () => {
  const secure = await openSecure({ limits: { requestMsMax: 1_000 } })
  const session = await secure.session()
  const late = session.request({ ':method': 'POST', ':path': '/v1/query', 'content-type': 'text/plain' })
  late.write('FROM ')
  expect(await replyOf(late)).toMatchObject({ status: 408, json: { type: 'RequestTimeout' } })
  expect((await ask(session, 'GET', '/v1')).status).toBe(200)
})

rule('9.5.5', 'a session on which nothing is asked is ended', async () => {
  // A client has as long for the handshake of TLS.
  const secure = await openSecure({ limits: { headersMsMax: 1_000 } })
  const session = await secure.session()
  await new Promise((resolve) => session.once('close', resolve))
  expect(session.destroyed).toBe(true)
})

rule(['9.5.3', '1.7.4'], 'the host is that of :authority, and a Host beside it has to be the same', async () => {
  const secure = await openSecure()
  const session = await secure.session()
  expect((await ask(session, 'GET', '/v1', undefined, { ':authority': 'evil.example' })).json.type).toBe('UnknownHost')
  expect((await ask(session, 'GET', '/v1', undefined, { ':authority': 'localhost' })).status).toBe(200)
  const both = { ':authority': 'localhost', host: 'evil.example' }
  expect((await ask(session, 'GET', '/v1', undefined, both)).json.type).toBe('UnknownHost')
  const cross = { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }
  expect((await ask(session, 'GET', '/v1', undefined, cross)).json.type).toBe('ForbiddenOrigin')
})

rule('9.5.3', 'Expect, CONNECT and methods of others are answered as by HTTP/1.1', async () => {
  const secure = await openSecure()
  const session = await secure.session()
  expect((await ask(session, 'POST', '/v1/query', '{}', { expect: '200-ok' })).json.type).toBe('ExpectationFailed')
  const going = await ask(session, 'POST', '/v1/query', '{"query":"RETURN 1"}', { expect: '100-continue' })
  expect(going.json.type ?? going.status).not.toBe('ExpectationFailed')
  const tunnel = session.request({ ':method': 'CONNECT', ':authority': 'localhost:1' })
  expect(await replyOf(tunnel)).toMatchObject({ status: 405, json: { type: 'MethodNotAllowed' } })
  expect((await ask(session, 'FOO', '/v1')).json.type).toBe('MethodNotAllowed')
  expect((await ask(session, 'GET', '/v1/%')).json.type).toBe('MalformedUrl')
})

rule(['9.5.5', '1.5.11'], 'requests under way on sessions count as connections do', async () => {
  const secure = await openSecure({ limits: { connectionsPerAddressMax: 3 } })
  const session = await secure.session()
  const waiting = Array.from({ length: 3 }, () => {
    const stream = session.request({ ':method': 'POST', ':path': '/v1/query', 'content-type': 'text/plain' })
    stream.write('FROM ')
    return stream
  })
  await vi.waitFor(async () => expect((await ask(session, 'GET', '/v1')).json).toMatchObject({ type: 'ServerBusy' }))
  for (const stream of waiting) stream.close()
  await vi.waitFor(async () => expect((await ask(session, 'GET', '/v1')).status).toBe(200))
})

rule(['9.5.5', '1.5.11'], 'connections and requests on sessions are bounded together', async () => {
  const secure = await openSecure({ limits: { connectionsMax: 4 } })
  const session = await secure.session()
  const stream = () => {
    const one = session.request({ ':method': 'POST', ':path': '/v1/query', 'content-type': 'text/plain' })
    one.on('error', () => undefined)
    one.write('FROM ')
    return one
  }
  // The first counts as its connection.
  const waiting = [stream(), stream(), stream()]
  const other = connectTls({ port: secure.port, host: '127.0.0.1', rejectUnauthorized: false })
  onTestFinished(() => void other.destroy())
  await new Promise((resolve) => other.once('secureConnect', resolve))
  await vi.waitFor(async () => expect((await ask(session, 'GET', '/v1')).json).toMatchObject({ type: 'ServerBusy' }))
  expect((await get1(secure.port, '/v1')).status).toBe(503)
  other.destroy()
  await vi.waitFor(async () => expect((await ask(session, 'GET', '/v1')).status).toBe(200))
  for (const one of waiting) one.close()
  await vi.waitFor(async () => expect((await get1(secure.port, '/v1')).status).toBe(200))
})

rule(
  '9.5.3',
  'a reply that is broken off does not end as if it were whole, also where all of it so far was taken',
  async () => {
    const secure = await openSecure()
    const failure = makeGate()
    stubQuery(secure.federatedDatabases[0], async function* () {
      yield rowChunk('{"n":1}')
      await failure.opened
      throw new Error('of this test')
    })
    const session = await secure.session()
    const stream = session.request({ ':method': 'POST', ':path': '/v1/query', 'content-type': 'application/json' })
    const closed = new Promise((resolve) =>
      stream.on('error', () => undefined).once('close', () => resolve(stream.rstCode)),
    )
    stream.end(JSON.stringify({ query: 'SHOW 1' }))
    await new Promise((resolve) => stream.once('data', resolve))
    failure.open()
    expect(await closed).toBe(constants.NGHTTP2_INTERNAL_ERROR)
  },
)

rule(['9.5.3', '1.5.16'], 'a reply that is not taken is broken off; others of its session go on', async () => {
  const secure = await openSecure({ limits: { replyStallMsMax: 300 } })
  await defineGadget(secure.app)
  const session = await secure.session()
  const many = JSON.stringify(Array.from({ length: 2_000 }, (_, i) => JSON.parse(gadget(`g${i} ${'x'.repeat(500)}`))))
  await ask(session, 'POST', '/v1/object', many)
  const stalled = session.request({ ':method': 'POST', ':path': '/v1/query', 'content-type': 'text/plain' })
  stalled.on('error', () => undefined)
  stalled.end('FROM Shop.Gadget RETURN name')
  await new Promise((resolve) => stalled.once('response', resolve))
  await vi.waitFor(() => {
    expect(secure.lines.find(({ msg }) => String(msg).includes('replyStallMsMax'))).toMatchObject({ path: '/v1/query' })
  })
  expect((await ask(session, 'GET', '/v1')).status).toBe(200)
})

rule(
  ['9.5.3', '1.5.16'],
  'nor is one kept whose connection takes nothing, however much the client says it would take',
  async () => {
    const secure = await openSecure({ limits: { replyStallMsMax: 300 } })
    await defineGadget(secure.app)
    const session = await secure.session()
    const many = JSON.stringify(
      Array.from({ length: 3_000 }, (_, i) => JSON.parse(gadget(`g${i} ${'x'.repeat(10_000)}`))),
    )
    await ask(session, 'POST', '/v1/object', many)
    const { socket } = await rawSession(secure.port)
    const window = Buffer.from([0, 4, 0x7f, 0xff, 0xff, 0xff])
    const more = Buffer.from([0x7f, 0, 0, 0])
    socket.pause()
    socket.write(frame(frameTypes.settings, 0, 0, window))
    socket.write(frame(frameTypes.window, 0, 0, more))
    socket.write(frame(frameTypes.headers, endHeaders, 1, postText))
    socket.write(frame(frameTypes.data, 1, 1, Buffer.from('FROM Shop.Gadget RETURN name')))
    await vi.waitFor(() => {
      expect(secure.lines.find(({ msg }) => String(msg).includes('replyStallMsMax'))).toMatchObject({
        path: '/v1/query',
      })
    })
    await vi.waitFor(async () => {
      expect(JSON.parse((await secure.app.inject({ method: 'GET', url: '/v1/statement' })).body)).toEqual([])
    })
    expect((await ask(session, 'GET', '/v1')).status).toBe(200)
  },
)

rule(['9.5.3', '1.5.16'], 'by HTTPS, a reply that is taken slowly is not broken off', async () => {
  // In less time than all of it takes, and far more than each pause.
  const secure = await openSecure({ limits: { replyStallMsMax: 2_500 } })
  const names = ['one', 'other']
  const attributes = names.map((attributeName) => ({ attributeName, logicalType: 'string' }))
  const payload = [{ className: 'Long', isReferenceable: true, attributes }]
  expect((await secure.app.inject({ method: 'PUT', url: '/v1/schema', payload })).statusCode).toBe(201)
  const long = 'x'.repeat(7_800_000)
  const body = { class: 'Long', attributes: Object.fromEntries(names.map((name) => [name, long])) }
  const made = await secure.app.inject({ method: 'POST', url: '/v1/object', payload: body })
  expect(made.statusCode, made.body.slice(0, 300)).toBe(201)
  const bytes = await new Promise<number>((resolve, reject) => {
    const options = {
      port: secure.port,
      path: `/v1/object/${made.json().__identifier__}`,
      host: '127.0.0.1',
      agent: false as const,
    }
    const asked = get({ ...options, servername: 'localhost', ca: serverPair.cert }, (response) => {
      let taken = 0
      let since = 0
      response.on('data', (chunk: Buffer) => {
        taken += chunk.length
        since += chunk.length
        if (since < 300_000) return
        since = 0
        response.pause()
        setTimeout(() => response.resume(), 60)
      })
      response.on('end', () => resolve(taken)).on('error', reject)
    })
    asked.on('error', reject)
  })
  expect(bytes).toBeGreaterThan(15_600_000)
})

rule(['9.5.6', '1.4.9'], 'a server that stops tells its sessions, and ends what is under way', async () => {
  const secure = await openSecure()
  await defineGadget(secure.app)
  const session = await secure.session()
  const slow = session.request({ ':method': 'POST', ':path': '/v1/object', 'content-type': 'application/json' })
  slow.write(gadget('slow').slice(0, 10))
  const [idle, told] = [await secure.session(), new Promise((resolve) => session.once('goaway', resolve))]
  const idleEnded = new Promise((resolve) => idle.once('close', resolve))
  await delay(50)
  const closed = secure.app.close()
  await told
  slow.end(gadget('slow').slice(10))
  expect((await replyOf(slow)).status).toBe(201)
  await closed
  await idleEnded
})
