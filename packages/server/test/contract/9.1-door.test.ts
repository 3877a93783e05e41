/** What is refused before a body is read, and what guessing costs: contract 9.1 on the wire. */
import { type AddressInfo, connect } from 'node:net'
import { expect, it, vi } from 'vitest'
import { signInFailures } from '../../src/limits.ts'
import { SignInThrottle } from '../../src/security/sign-in-throttle.ts'
import { createToken, revokeToken } from '../../src/security/tokens.ts'
import { addUser, changeUser, removeUser } from '../../src/security/users.ts'
import { openSecureServer } from '../unit/open-secure-server.ts'
import type { TestServer } from '../unit/open-server.ts'
import { rule } from './rule.ts'

/** What comes back for these bytes until the first reply is there. */
async function exchange(app: TestServer, message: string): Promise<string> {
  if (!app.server.listening) await app.listen({ host: '127.0.0.1', port: 0 })
  const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1')
  socket.on('error', () => undefined)
  socket.write(message)
  const answer = await new Promise<string>((resolve) => socket.once('data', (bytes) => resolve(String(bytes))))
  socket.destroy()
  return answer
}

rule('9.1.1', 'a request with two Authorization headers is refused, whichever of them is right', async () => {
  const { app, token } = await openSecureServer()
  const right = await token({ roles: ['reader'] })
  const ask = (...lines: readonly string[]) =>
    exchange(app, `GET /v1 HTTP/1.1\r\nhost: localhost\r\n${lines.map((line) => `${line}\r\n`).join('')}\r\n`)
  expect(await ask(`authorization: ${right}`)).toMatch(/^HTTP\/1\.1 200 /)
  for (const other of [right, 'Bearer ash_wrong', '']) {
    expect(await ask(`Authorization: ${right}`, `authorization: ${other}`)).toMatch(/^HTTP\/1\.1 400 .*Malformed/s)
    expect(await ask(`Authorization: ${other}`, `authorization: ${right}`)).toMatch(/^HTTP\/1\.1 400 .*Malformed/s)
  }
})

rule(['9.1.1', '9.3.1'], 'who may not do it anyway is told before the body is read, or looked at', async () => {
  const { app, token } = await openSecureServer({ aliases: ['fleet', 'sales'] })
  const authorization = await token({ roles: ['reader@sales'] })
  const urls = ['/v1/object', '/v1/query', '/v1/transaction', '/v1/index'].map((path) => `${path}?fdAlias=fleet`)
  for (const url of [...urls, '/v1/security/user']) {
    const headers = { authorization, 'content-type': 'application/json' }
    const malformed = await app.inject({ method: 'POST', url, headers, payload: '{"x":' })
    // A federated database of which the caller may do nothing is not there for it.
    const [status, type] = url.includes('fdAlias') ? [404, 'FederatedDatabaseNotFound'] : [403, 'Forbidden']
    expect([url, malformed.statusCode, malformed.json().type]).toEqual([url, status, type])
    // Of a body that never comes.
    const head = `POST ${url} HTTP/1.1\r\nhost: localhost\r\nauthorization: ${authorization}\r\n`
    const unsent = await exchange(app, `${head}content-type: application/json\r\ncontent-length: 1000000\r\n\r\n`)
    expect(unsent).toMatch(new RegExp(`^HTTP/1\\.1 ${status} .*connection: close`, 'is'))
  }
  const wrong = { method: 'POST', url: '/v1/object?fdAlias=sales', headers: { authorization }, payload: { wrong: 1 } }
  expect((await app.inject(wrong as never)).json().type).toBe('Forbidden')
  // Within a transaction too: the operation is refused for what the caller may not, not for what its body is.
  const writer = await token({ roles: ['writer@sales'] })
  const operations = [{ method: 'PUT', uri: '/v1/schema', body: { wrong: 1 } }]
  const within = await app.inject({
    method: 'POST',
    url: '/v1/transaction?fdAlias=sales',
    headers: { authorization: writer },
    payload: operations,
  })
  expect(within.json().type).toBe('Forbidden')
  // Who may is told what is wrong with the body.
  const allowed = { ...wrong, headers: { authorization: writer } }
  expect((await app.inject(allowed as never)).json().type).toBe('MalformedRequest')
})

rule('9.1.5', 'whoever knows a name cannot keep its owner out, from wherever they guess', async () => {
  const throttle = new SignInThrottle(() => 0)
  const tooMany = expect.objectContaining({ type: 'TooManySignIns' })
  throttle.begin('bob', '198.51.100.1').wasRight()
  for (let at = 0; at < signInFailures.nameMax; at++) throttle.begin('bob', `192.0.2.${at % 256}:${at}`)
  // Where the owner has been before nothing has changed; elsewhere there are a few attempts instead of ten.
  for (let at = 0; at < signInFailures.pairMax; at++) throttle.begin('bob', '198.51.100.1')
  expect(() => throttle.begin('bob', '198.51.100.1')).toThrow(tooMany)
  for (let at = 0; at < signInFailures.pairAfterNameMax; at++) throttle.begin('bob', '203.0.113.1')
  expect(() => throttle.begin('bob', '203.0.113.1')).toThrow(tooMany)
  expect(() => throttle.begin('alice', '203.0.113.1')).not.toThrow()
})

rule('9.1.3', 'a token that is not there is looked for once, until somebody may have got or lost a right', async () => {
  const { app, security } = await openSecureServer()
  const rows = vi.spyOn(security.database, 'rows')
  const looksOf = async (authorization: string): Promise<number> => {
    const before = rows.mock.calls.length
    for (let time = 0; time < 5; time++) {
      expect((await app.inject({ url: '/v1', headers: { authorization } })).statusCode).toBe(401)
    }
    return rows.mock.calls.length - before
  }
  expect(await looksOf(`Bearer ash_0123456789abcdef_${'x'.repeat(43)}`)).toBe(1)
  await security.change((database) =>
    addUser(database, { name: 'bob', roles: ['reader'], passwordHash: undefined }).then(() => undefined),
  )
  const made = await createToken(security.database, {
    name: 'mine',
    owner: 'bob',
    roles: undefined,
    expiresAtMs: undefined,
  })
  const authorization = `Bearer ${made.token}`
  expect((await app.inject({ url: '/v1', headers: { authorization } })).statusCode).toBe(200)
  await security.change((database) => changeUser(database, 'bob', { isDisabled: true }))
  expect(await looksOf(authorization)).toBe(1)
  await security.change((database) => changeUser(database, 'bob', { isDisabled: false }))
  expect((await app.inject({ url: '/v1', headers: { authorization } })).statusCode).toBe(200)
  await security.change((database) => revokeToken(database, made.id))
  expect(await looksOf(authorization)).toBe(1)
})

rule('9.2.4', 'the last administrator is the last who can get in', async () => {
  const { security } = await openSecureServer()
  const { database } = security
  const last = expect.objectContaining({ type: 'LastAdministrator' })
  await addUser(database, { name: 'second', roles: ['admin'], passwordHash: undefined })
  await expect(removeUser(database, 'admin')).rejects.toEqual(last)
  const wanted = { name: 'a token', owner: 'second', expiresAtMs: Date.now() + 3_600_000 }
  await createToken(database, { ...wanted, roles: ['reader'] })
  await expect(removeUser(database, 'admin')).rejects.toEqual(last)
  const { id } = await createToken(database, { ...wanted, roles: undefined })
  await revokeToken(database, id)
  await expect(changeUser(database, 'admin', { roles: ['admin@default'] })).rejects.toEqual(last)
  await createToken(database, { ...wanted, roles: undefined })
  await removeUser(database, 'admin')
  await expect(changeUser(database, 'second', { isDisabled: true })).rejects.toEqual(last)
})

it('the log tells the request id that a client has sent, where it can stand there', async () => {
  const lines: { requestId?: string; url?: string }[] = []
  const { app } = await openSecureServer({ onLog: (line) => lines.push(JSON.parse(line)) })
  const ask = (headers: Record<string, string>) => app.inject({ url: '/v1', headers })
  await ask({ 'x-request-id': 'of "mine"-1' })
  await ask({ 'x-request-id': 'of-"mine"-2' })
  await ask({ traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' })
  await ask({})
  const wanted = [undefined, 'of-"mine"-2', '0af7651916cd43dd8448eb211c80319c', undefined]
  await vi.waitFor(() => expect(lines.map(({ requestId }) => requestId)).toEqual(wanted))
})
