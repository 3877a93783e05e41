/** Contract 8.1.27: proxies that are trusted name the clients of requests and of connections; nobody else does. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { connect as connectHttp2 } from 'node:http2'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect as connectTls } from 'node:tls'
import { pino } from 'pino'
import { expect, onTestFinished } from 'vitest'
import { AuditFile } from '../../src/audit/audit-file.ts'
import { AuditLog } from '../../src/audit/audit-log.ts'
import type { ProxySettings } from '../../src/config/config.ts'
import { configFromEnvironment } from '../../src/config/config-environment.ts'
import { readProxies } from '../../src/config/read-value.ts'
import { signInFailures } from '../../src/limits.ts'
import { serverPair } from '../certificates.ts'
import { openSecure } from '../unit/open-secure.ts'
import { openSecureServer, passwordOf } from '../unit/open-secure-server.ts'
import { openServer, type ServerSetting, type TestServer } from '../unit/open-server.ts'
import { rule } from './rule.ts'

/** A server that tells by its log which address a request is from. */
async function addressLog(proxies: ProxySettings, setting: ServerSetting = {}) {
  const lines: { clientAddress?: string; msg?: string }[] = []
  const { app, close } = await openServer({ ...setting, proxies, onLog: (line) => lines.push(JSON.parse(line)) })
  const next = async (): Promise<string | undefined> => {
    await expect.poll(() => lines.some(({ msg }) => msg === 'request')).toBe(true)
    return lines.splice(0).find(({ msg }) => msg === 'request')?.clientAddress
  }
  return { app, close, next }
}

const xff = (...trusted: string[]): ProxySettings => ({ trusted, header: 'x-forwarded-for' })
const forwarded = (...trusted: string[]): ProxySettings => ({ trusted, header: 'forwarded' })

rule('8.1.27', 'the address that the last trusted proxy was asked from is that of the client', async () => {
  const cases: readonly [ProxySettings, Record<string, string>, string][] = [
    [xff('loopback'), { 'x-forwarded-for': '203.0.113.7' }, '203.0.113.7'],
    [xff('127.0.0.1'), { 'x-forwarded-for': '203.0.113.7:4711' }, '203.0.113.7'],
    [xff('127.0.0.0/8'), { 'x-forwarded-for': '[2001:db8::1]:4711' }, '2001:db8::1'],
    [xff('loopback'), { 'x-forwarded-for': '2001:db8::1' }, '2001:db8::1'],
    [xff('loopback'), { 'x-forwarded-for': '::ffff:203.0.113.7' }, '203.0.113.7'],
    // What a client writes itself stands before it.
    [xff('loopback'), { 'x-forwarded-for': '198.51.100.1, 203.0.113.7' }, '203.0.113.7'],
    [xff('loopback'), { 'x-forwarded-for': 'nonsense, 203.0.113.7' }, '203.0.113.7'],
    [
      xff('loopback', '10.0.0.0/8'),
      { 'x-forwarded-for': '198.51.100.1,203.0.113.7, 10.1.1.1 ,10.2.2.2' },
      '203.0.113.7',
    ],
    [xff('loopback', 'uniquelocal'), { 'x-forwarded-for': '10.1.1.1, fd00::1' }, '10.1.1.1'],
    // What is no address of a hop tells nothing.
    [xff('loopback'), { 'x-forwarded-for': '203.0.113.7, nonsense' }, '127.0.0.1'],
    [xff('loopback'), { 'x-forwarded-for': '' }, '127.0.0.1'],
    [xff('loopback'), { 'x-forwarded-for': '1.2.3.4.5' }, '127.0.0.1'],
    // Another header than the one that was chosen.
    [xff('loopback'), { forwarded: 'for=203.0.113.7' }, '127.0.0.1'],
    [forwarded('loopback'), { 'x-forwarded-for': '203.0.113.7' }, '127.0.0.1'],
    [forwarded('loopback'), { forwarded: 'for=203.0.113.7' }, '203.0.113.7'],
    [forwarded('loopback'), { forwarded: 'For="[2001:db8::1]:4711";proto=https;by=_me' }, '2001:db8::1'],
    [
      forwarded('loopback', '10.0.0.0/8'),
      { forwarded: 'for=198.51.100.1, for=203.0.113.7;proto=http, for=10.1.1.1' },
      '203.0.113.7',
    ],
    [forwarded('loopback'), { forwarded: 'for=198.51.100.1;x="a, for=203.0.113.8", for=203.0.113.7' }, '203.0.113.7'],
    [forwarded('loopback'), { forwarded: 'for=unknown' }, '127.0.0.1'],
    [forwarded('loopback'), { forwarded: 'for=_hidden, for=203.0.113.7' }, '203.0.113.7'],
    // What a client leaves open or malformed takes nothing from what the proxy appends.
    [forwarded('loopback'), { forwarded: 'for=198.51.100.1;x=", for=203.0.113.7' }, '203.0.113.7'],
    [forwarded('loopback'), { forwarded: 'for=198.51.100.1;x="\\, for=203.0.113.7' }, '203.0.113.7'],
    [forwarded('loopback'), { forwarded: 'nonsense,, for=203.0.113.7;' }, '203.0.113.7'],
    [forwarded('loopback'), { forwarded: 'x=", for="[2001:db8::1]";proto=http' }, '2001:db8::1'],
    // Nor does a host name that the proxy quotes.
    [forwarded('loopback'), { forwarded: 'for=203.0.113.7;host="a\\", for=198.51.100.1;x=\\""' }, '203.0.113.7'],
    [forwarded('loopback'), { forwarded: 'for=198.51.100.1, for=203.0.113.7;host="' }, '127.0.0.1'],
    [xff('loopback'), { 'x-forwarded-for': '::ffff:cb00:7107' }, '203.0.113.7'],
    [xff('loopback'), { 'x-forwarded-for': '::ffff:1:2:3' }, '::ffff:1:2:3'],
    [forwarded('loopback'), { forwarded: 'proto=https' }, '127.0.0.1'],
    // Nobody who is not trusted is believed.
    [xff('192.0.2.1'), { 'x-forwarded-for': '203.0.113.7' }, '127.0.0.1'],
    [forwarded('10.0.0.0/8'), { forwarded: 'for=203.0.113.7' }, '127.0.0.1'],
  ]
  for (const [proxies, headers, wanted] of cases) {
    const { app, next, close } = await addressLog(proxies)
    await app.inject({ url: '/health/live', headers })
    expect([proxies.trusted, headers, await next()]).toEqual([proxies.trusted, headers, wanted])
    await close()
  }
})

rule('8.1.27', 'without the setting, no header is believed', async () => {
  const lines: string[] = []
  const { app } = await openServer({ onLog: (line) => lines.push(line) })
  await app.inject({ url: '/health/live', headers: { 'x-forwarded-for': '203.0.113.7', forwarded: 'for=203.0.113.7' } })
  await expect.poll(() => lines.join('')).toContain('"clientAddress":"127.0.0.1"')
})

rule(
  ['8.1.27', '9.1.5'],
  'wrong passwords of one client behind a proxy do not keep out the others, and the audit log tells the client',
  async () => {
    const directory = mkdtempSync(join(tmpdir(), 'ashlar-audit-'))
    onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
    const file = join(directory, 'audit.ndjson')
    const auditFile = new AuditFile({ file, fileBytesMax: 10_000_000, filesMax: 3 }, pino({ level: 'silent' }))
    await auditFile.start()
    onTestFinished(() => auditFile.close())
    const { app } = await openSecureServer({ proxies: xff('loopback'), audit: new AuditLog(auditFile, 'refuse') })
    const signIn = (password: string, client: string) => {
      const headers = { 'x-forwarded-for': client }
      const payload = { name: 'admin', password }
      return app.inject({ method: 'POST', url: '/v1/security/session', payload, headers })
    }
    const wrong = Array.from({ length: signInFailures.pairMax }, () => signIn('a wrong password', '203.0.113.7'))
    expect(new Set((await Promise.all(wrong)).map(({ statusCode }) => statusCode))).toEqual(new Set([401]))
    expect((await signIn(passwordOf('admin'), '203.0.113.7')).statusCode).toBe(429)
    expect((await signIn(passwordOf('admin'), '203.0.113.8')).statusCode).toBe(200)
    await auditFile.flush()
    const addresses = readFileSync(file, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).address)
    expect(new Set(addresses)).toEqual(new Set(['203.0.113.7', '203.0.113.8']))
  },
)

rule(
  ['8.1.27', '1.5.11'],
  'requests of one client behind a proxy take none of the connections of the others',
  async () => {
    const limits = { connectionsPerAddressMax: 2 }
    const { app } = await openServer({ limits, proxies: xff('loopback') })
    const port = await portOf(app)
    // A body that does not come keeps a request in progress.
    const begin = (client: string): Promise<string> =>
      firstReply(
        port,
        `POST /v1/query HTTP/1.1\r\nhost: localhost\r\nx-forwarded-for: ${client}\r\ncontent-length: 9\r\n\r\n`,
      )
    const waiting = [begin('203.0.113.7'), begin('203.0.113.7'), begin('203.0.113.8')]
    const ask = (client: string): Promise<string> =>
      firstReply(port, `GET /v1/fd HTTP/1.1\r\nhost: localhost\r\nx-forwarded-for: ${client}\r\n\r\n`)
    await expect.poll(() => ask('203.0.113.7')).toMatch(/^HTTP\/1\.1 503 .*203\.0\.113\.7 has 2 requests in progress/s)
    for (const client of ['203.0.113.8', '203.0.113.9']) expect(await ask(client)).toMatch(/^HTTP\/1\.1 200 /)
    expect(waiting).toHaveLength(3)
  },
)

async function portOf(app: TestServer): Promise<number> {
  if (!app.server.listening) await app.listen({ host: '127.0.0.1', port: 0 })
  return (app.server.address() as AddressInfo).port
}

function opened(port: number, ...parts: (string | Buffer)[]): Socket {
  const socket = connect(port, '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  socket.on('error', () => undefined)
  for (const part of parts) socket.write(part)
  return socket
}

/** What comes first, or nothing where the connection is closed. */
function firstReply(port: number, ...parts: (string | Buffer)[]): Promise<string> {
  return firstOf(opened(port, ...parts))
}

function firstOf(socket: Pick<Socket, 'once'>): Promise<string> {
  return new Promise((resolve) => {
    socket.once('data', (bytes) => resolve(String(bytes)))
    socket.once('close', () => resolve(''))
  })
}

const proxyProtocol: ProxySettings = { trusted: ['loopback'], header: 'proxy-protocol' }
const signature = Buffer.from('0d0a0d0a000d0a515549540a', 'hex')
const request = 'GET /health/live HTTP/1.1\r\nhost: localhost\r\n\r\n'

/** Version 2. */
function binary(command: number, family: number, body: Buffer): Buffer {
  const head = Buffer.alloc(16)
  signature.copy(head)
  head[12] = 0x20 | command
  head[13] = family
  head.writeUInt16BE(body.length, 14)
  return Buffer.concat([head, body])
}

const tcp4 = Buffer.from([203, 0, 113, 7, 127, 0, 0, 1, 0x12, 0x67, 0x1f, 0xf9])
const tcp6 = Buffer.concat([
  Buffer.from('20010db8000000000000000000000001', 'hex'),
  Buffer.alloc(16),
  Buffer.from([0x12, 0x67, 0x1f, 0xf9]),
])

const tcp6Mapped = Buffer.concat([Buffer.from('00000000000000000000ffffcb007107', 'hex'), tcp6.subarray(16)])

rule('8.1.27', 'the PROXY protocol names the client of a connection, in one piece or in many', async () => {
  const { app, next } = await addressLog(proxyProtocol)
  const port = await portOf(app)
  const named: readonly [string | Buffer, string][] = [
    ['PROXY TCP4 203.0.113.7 127.0.0.1 4711 8185\r\n', '203.0.113.7'],
    ['PROXY TCP6 2001:db8::1 ::1 4711 8185\r\n', '2001:db8::1'],
    ['PROXY UNKNOWN\r\n', '127.0.0.1'],
    ['PROXY UNKNOWN ffff::1 ffff::2 1 2\r\n', '127.0.0.1'],
    [binary(1, 0x11, tcp4), '203.0.113.7'],
    [binary(1, 0x21, tcp6), '2001:db8::1'],
    // Clients of IPv4, where the proxy connects over IPv6.
    ['PROXY TCP6 ::ffff:203.0.113.7 ::1 4711 8185\r\n', '203.0.113.7'],
    [binary(1, 0x21, tcp6Mapped), '203.0.113.7'],
    // With what else the proxy tells.
    [binary(1, 0x11, Buffer.concat([tcp4, Buffer.alloc(500)])), '203.0.113.7'],
    [binary(0, 0x00, Buffer.alloc(0)), '127.0.0.1'],
    [binary(1, 0x31, Buffer.alloc(216)), '127.0.0.1'],
  ]
  for (const [header, wanted] of named) {
    expect(await firstReply(port, Buffer.concat([Buffer.from(header), Buffer.from(request)]))).toMatch(
      /^HTTP\/1\.1 200 /,
    )
    expect([String(header), await next()]).toEqual([String(header), wanted])
    const socket = opened(port)
    for (const byte of Buffer.concat([Buffer.from(header), Buffer.from(request)])) {
      socket.write(Buffer.of(byte))
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect(await firstOf(socket)).toMatch(/^HTTP\/1\.1 200 /)
    expect([String(header), await next()]).toEqual([String(header), wanted])
    // Further requests on it too.
    socket.write(request)
    expect(await firstOf(socket)).toMatch(/^HTTP\/1\.1 200 /)
    expect(await next()).toBe(wanted)
  }
})

rule(
  '8.1.27',
  'a connection of a trusted proxy without a right header is closed; others are served without one',
  async () => {
    const { app, next } = await addressLog(proxyProtocol)
    const port = await portOf(app)
    const wrong = [
      request,
      'PROXY TCP4 203.0.113.7\r\n',
      'PROXY TCP4 2001:db8::1 ::1 4711 8185\r\n',
      'PROXY TCP6 203.0.113.7 127.0.0.1 4711 8185\r\n',
      'PROXY TCP4 203.0.113.7 127.0.0.1 65536 8185\r\n',
      `PROXY TCP4 203.0.113.7 ${'1'.repeat(100)}\r\n`,
      binary(2, 0x11, tcp4),
      binary(1, 0x11, tcp4.subarray(0, 8)),
      binary(1, 0x11, Buffer.alloc(5_000)),
      Buffer.concat([signature, Buffer.from([0x11, 0x11, 0, 0])]),
    ]
    for (const header of wrong) {
      expect([
        String(header),
        await firstReply(port, Buffer.concat([Buffer.from(header), Buffer.from(request)])),
      ]).toEqual([String(header), ''])
    }
    const half = opened(port, 'PROXY TCP4 203.')
    half.end()
    expect(await firstOf(half)).toBe('')
    const { app: other } = await addressLog({ trusted: ['192.0.2.1'], header: 'proxy-protocol' })
    const otherPort = await portOf(other)
    expect(await firstReply(otherPort, request)).toMatch(/^HTTP\/1\.1 200 /)
    expect(await firstReply(otherPort, `PROXY TCP4 203.0.113.7 127.0.0.1 4711 8185\r\n${request}`)).toMatch(
      /^HTTP\/1\.1 400 /,
    )
    // Of the first server, nothing was answered.
    await firstReply(port, `PROXY TCP4 203.0.113.9 127.0.0.1 4711 8185\r\n${request}`)
    expect(await next()).toBe('203.0.113.9')
  },
)

rule(
  '8.1.27',
  'a header that does not come ends the connection in time, and keeps no server from stopping',
  async () => {
    const slow = await addressLog(proxyProtocol, { limits: { headersMsMax: 50 } })
    expect(await firstReply(await portOf(slow.app), 'PROXY ')).toBe('')
    const { app, close } = await addressLog(proxyProtocol)
    const left = opened(await portOf(app), 'PROXY ')
    await new Promise((resolve) => left.once('connect', resolve))
    await new Promise((resolve) => setTimeout(resolve, 20))
    await close()
    expect(await firstOf(left)).toBe('')
  },
)

rule(
  ['8.1.27', '9.5.5'],
  'with TLS, the header comes before it, and its client is that of HTTP/1.1 and HTTP/2',
  async () => {
    const { port, lines } = await openSecure({ proxies: proxyProtocol })
    let read = 0
    const address = async () => {
      const next = () => lines.slice(read).find(({ msg }) => msg === 'request')
      await expect.poll(next).toBeDefined()
      const line = next()
      read = lines.length
      return line?.clientAddress
    }
    const encrypted = (protocol: string) => {
      const raw = opened(port, 'PROXY TCP4 203.0.113.7 127.0.0.1 4711 8185\r\n')
      return connectTls({ socket: raw, ca: serverPair.cert, servername: 'localhost', ALPNProtocols: [protocol] })
    }
    const first = encrypted('http/1.1')
    first.write(request)
    expect(await firstOf(first)).toMatch(/^HTTP\/1\.1 200 /)
    expect(await address()).toBe('203.0.113.7')
    const session = connectHttp2('https://localhost', { createConnection: () => encrypted('h2') })
    onTestFinished(() => session.destroy())
    const stream = session.request({ ':path': '/health/live' })
    const status = await new Promise((resolve) => stream.once('response', (headers) => resolve(headers[':status'])))
    expect(status).toBe(200)
    expect(await address()).toBe('203.0.113.7')
  },
)

rule('8.1.27', 'what is no proxy, or trusts everybody, is refused with the name of the setting', () => {
  for (const text of ['10.0.0.0/8', '::1', 'fd00::/8', 'loopback', 'linklocal', '192.0.2.1']) {
    expect(readProxies([text], '--trusted-proxy')).toEqual([text])
  }
  for (const text of ['0.0.0.0/0', '::/0', '10.0.0.0/33', 'proxy.example.com', '10.0.0.0/8/8', '10.0.0', 'Loopback']) {
    expect(() => readProxies([text], '--trusted-proxy')).toThrow(
      `--trusted-proxy: '${text}' is not the address of a proxy`,
    )
  }
  expect(() => configFromEnvironment({ ASHLAR_PROXY_HEADER: 'x-real-ip' })).toThrow(
    'ASHLAR_PROXY_HEADER is x-forwarded-for, forwarded or',
  )
})
