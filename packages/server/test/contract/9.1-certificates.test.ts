/** Callers who are known by the certificates of their connections: contract 9.1.10. */

import { connect as connectHttp2, type SecureClientSessionOptions } from 'node:http2'
import { get } from 'node:https'
import { connect as connectTls } from 'node:tls'
import { expect, onTestFinished, vi } from 'vitest'
import { mergeConfig } from '../../src/config/merge-config.ts'
import { readCertificates } from '../../src/config/read-identity.ts'
import { alternativeNames, type CertificateMapping, CertificateScheme } from '../../src/security/certificates.ts'
import { addUser, changeUser, removeUser } from '../../src/security/users.ts'
import { type Pair, serverPair } from '../certificates.ts'
import { alice, clerk, clientAuthority, foreign, otherAuthority } from '../client-certificates.ts'
import { ask, openSecure } from '../unit/open-secure.ts'
import { openSecurity } from '../unit/open-secure-server.ts'
import { rule } from './rule.ts'

const everyRight: CertificateMapping = { name: 'CN', users: {}, roles: {} }

async function openMutual(mapping = everyRight, clientCertificates: 'optional' | 'required' = 'optional') {
  const security = await openSecurity((callers) => [new CertificateScheme(mapping, callers)])
  await addUser(security.database, { name: 'alice', roles: ['reader'], passwordHash: undefined })
  const material = { ...serverPair, ca: clientAuthority }
  const browsers = { host: '127.0.0.1', hosts: undefined, cors: ['https://page.example'] }
  const secure = await openSecure({ security, browsers }, { material, clientCertificates })
  const whoIs = async (pair: Pair | undefined, headers: Record<string, string> = {}) => {
    const reply = await ask1(secure.port, pair, headers)
    return reply.status === 200 ? JSON.parse(reply.body) : reply.status
  }
  const session = async (pair: Pair) => {
    const to = { ...pair, ca: serverPair.cert, lookup: toLoopback } as SecureClientSessionOptions
    const made = connectHttp2(`https://localhost:${secure.port}`, to)
    onTestFinished(() => made.destroy())
    made.on('error', () => undefined)
    await new Promise((resolve) => made.once('connect', resolve))
    return made
  }
  return { ...secure, security, whoIs, session }
}

const toLoopback = (_name: string, _options: unknown, done: (...found: unknown[]) => void): void =>
  done(null, [{ address: '127.0.0.1', family: 4 }])

function ask1(port: number, pair: Pair | undefined, headers: Record<string, string>) {
  return new Promise<{ status: number; body: string }>((resolve, reject) => {
    const to = { port, host: '127.0.0.1', servername: 'localhost', ca: serverPair.cert, agent: false as const }
    get({ ...to, ...pair, path: '/v1/security/session', headers }, (response) => {
      let body = ''
      response.on('data', (chunk) => (body += chunk))
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body }))
    }).on('error', reject)
  })
}

rule('9.1.10', 'whoever shows a certificate is the user of its name, by HTTP/1.1 and HTTP/2', async () => {
  const { whoIs, session, security } = await openMutual()
  const isAlice = { kind: 'certificate', name: 'alice', roles: ['reader'], expiresAt: expect.stringMatching(/^2126-/) }
  expect(await whoIs(alice)).toEqual(isAlice)
  const http2 = await session(alice)
  expect((await ask(http2, 'GET', '/v1/security/session')).json).toEqual(isAlice)
  expect((await ask(http2, 'POST', '/v1/query', 'FROM ooObj RETURN *')).status).toBe(400)
  expect((await ask(http2, 'PUT', '/v1/schema', '[]')).status).toBe(403)
  // Without one, by another authority, and with a name that no user has.
  expect([await whoIs(undefined), await whoIs(foreign), await whoIs(clerk)]).toEqual([401, 401, 401])
  // Another credential comes before it, also one that is not right; pages of other origins have none of it.
  expect(await whoIs(alice, { authorization: 'Bearer ash_wrong' })).toBe(401)
  expect(await whoIs(alice, { authorization: 'Digest x' })).toBe(401)
  expect(await whoIs(alice, { origin: 'https://page.example' })).toBe(401)
  // What the user loses, the certificate loses: on connections that there are, too.
  await security.change((database) => changeUser(database, 'alice', { isDisabled: true }))
  expect([await whoIs(alice), (await ask(http2, 'GET', '/v1')).status]).toEqual([401, 401])
  await security.change((database) => changeUser(database, 'alice', { isDisabled: false, roles: ['designer'] }))
  expect(await whoIs(alice)).toEqual({ ...isAlice, roles: ['designer'] })
  expect((await ask(http2, 'GET', '/v1')).status).toBe(200)
  const caller = await security.callers.certificate('alice', 'x', Number.POSITIVE_INFINITY)
  if (caller === undefined) return expect.unreachable()
  expect(await security.endOf(caller, 'default')).toBeUndefined()
  await security.change((database) => removeUser(database, 'alice'))
  expect(await security.endOf(caller, 'default')).toMatchObject({ type: 'Unauthenticated' })
})

rule('9.1.10', 'names are mapped to users, or to roles of those who are none', async () => {
  const writers = [{ role: 'writer', aliases: ['default'] }]
  const byName = await openMutual({ name: 'CN', users: { alice: 'nobody' }, roles: { 'The clerks': writers } })
  expect(await byName.whoIs(alice)).toBe(401)
  const clerks = { kind: 'certificate', name: 'The clerks', roles: ['writer@default'] }
  expect(await byName.whoIs(clerk)).toMatchObject(clerks)
  const byUri = await openMutual({ name: 'URI', users: { 'spiffe://shop/clerks': 'alice' }, roles: {} })
  expect(await byUri.whoIs(clerk)).toMatchObject({ name: 'alice' })
  const byEmail = await openMutual({ name: 'email', users: { 'alice@example.com': 'alice' }, roles: {} })
  expect(await byEmail.whoIs(alice)).toMatchObject({ name: 'alice' })
  // Two names of hosts: whose would it be?
  const byHost = await openMutual({ name: 'DNS', users: { 'a.example.com': 'alice' }, roles: {} })
  expect(await byHost.whoIs(alice)).toBe(401)
})

rule('9.1.10', 'one that has expired meanwhile is refused on the connection that it was shown on', async () => {
  const { session } = await openMutual()
  const http2 = await session(alice)
  expect((await ask(http2, 'GET', '/v1')).status).toBe(200)
  vi.useFakeTimers({ toFake: ['Date'], now: Date.UTC(2127, 0) })
  onTestFinished(() => void vi.useRealTimers())
  expect((await ask(http2, 'GET', '/v1')).json).toMatchObject({
    type: 'Unauthenticated',
    message: 'The certificate of the client has expired.',
  })
})

rule('9.1.10', 'where certificates are required, there is no connection without one', async () => {
  const { whoIs } = await openMutual(everyRight, 'required')
  expect(await whoIs(alice)).toMatchObject({ name: 'alice' })
  await expect(whoIs(undefined)).rejects.toThrow(/ECONNRESET|alert|socket hang up|closed/i)
  await expect(whoIs(foreign)).rejects.toThrow(/ECONNRESET|alert|socket hang up|closed/i)
})

rule(
  ['9.1.10', '9.5.2'],
  'sessions are resumed with their certificate, and not after the authorities are others',
  async () => {
    const { port, exchange } = await openMutual()
    const connectAs = (pair: Pair, session?: Buffer) => {
      const to = { port, host: '127.0.0.1', servername: 'localhost', ca: serverPair.cert, ...pair }
      return connectTls({ ...to, ALPNProtocols: ['http/1.1'], ...(session !== undefined && { session }) })
    }
    const request = 'GET /v1/security/session HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n'
    const statusOf = async (pair: Pair, session?: Buffer) => {
      const socket = connectAs(pair, session)
      let resumable: Buffer | undefined
      socket.on('session', (one) => {
        resumable = one
      })
      let isReused = false
      socket.on('secureConnect', () => {
        isReused = socket.isSessionReused()
      })
      let answer = ''
      socket.on('data', (bytes) => (answer += bytes)).on('error', () => undefined)
      socket.write(request)
      await new Promise((resolve) => socket.once('close', resolve))
      return { status: answer.slice(9, 12), resumable, isReused }
    }
    const first = await statusOf(alice)
    expect(first.status).toBe('200')
    expect(await statusOf(alice, first.resumable)).toMatchObject({ status: '200', isReused: true })
    exchange({ ...serverPair, ca: otherAuthority })
    expect(await statusOf(alice, first.resumable)).toMatchObject({ status: '401', isReused: false })
    expect((await statusOf(foreign)).status).toBe('200')
  },
)

rule('9.1.10', 'what stands within quotes in a certificate is no name', () => {
  expect(alternativeNames('email:a@b.c, DNS:x.y, URI:u:v', 'DNS')).toEqual(['x.y'])
  expect(alternativeNames('URI:"http://a, DNS:admin, x", DNS:x.y', 'DNS')).toEqual(['x.y'])
  expect(alternativeNames('URI:"http://a, DNS:admin', 'DNS')).toEqual([])
  expect(alternativeNames('DNS:"admin, x"', 'DNS')).toEqual([])
  expect(alternativeNames('IP Address:127.0.0.1, DNS:x', 'DNS')).toEqual(['x'])
  expect(alternativeNames(undefined, 'email')).toEqual([])
})

rule(['9.1.10', '8.1.2'], 'the settings are read, and what cannot be is told in a sentence', () => {
  expect(readCertificates({}, 'certificates')).toEqual(everyRight)
  expect(() => readCertificates({ nmae: 'CN' }, 'certificates')).toThrow('has no field nmae. Did you mean name?')
  expect(() => readCertificates({ name: 'cn' }, 'certificates')).toThrow('CN, email, DNS or URI, not "cn"')
  const tls = { tlsCert: 'a', tlsKey: 'b' }
  expect(() => mergeConfig([{ tlsClientCa: 'c', auth: true }])).toThrow('--tls-cert is not specified')
  expect(() => mergeConfig([{ ...tls, tlsClientCa: 'c' }])).toThrow('add --auth, or --tls-client-certs require')
  expect(() => mergeConfig([{ ...tls, tlsClientCerts: 'require' }])).toThrow('--tls-client-ca, which is not specified')
  expect(mergeConfig([{ ...tls, tlsClientCa: 'c', tlsClientCerts: 'require' }]).certificates).toEqual(everyRight)
})
