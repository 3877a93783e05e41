/** Contract 9.1: tokens, passwords and sessions, with the security database in memory. */
import { expect, vi } from 'vitest'
import { signInFailures } from '../../src/limits.ts'
import { PasswordChecks } from '../../src/security/password-checks.ts'
import { SignInThrottle } from '../../src/security/sign-in-throttle.ts'
import { listTokens, revokeToken } from '../../src/security/tokens.ts'
import { changeUser, removeUser } from '../../src/security/users.ts'
import { basic, openSecureServer, passwordOf } from '../unit/open-secure-server.ts'
import type { TestServer } from '../unit/open-server.ts'
import { rule } from './rule.ts'

async function whoIs(app: TestServer, headers: Readonly<Record<string, string>>) {
  const reply = await app.inject({ url: '/v1/security/session', headers })
  return reply.statusCode === 200 ? reply.json() : reply.statusCode
}

const idOf = (authorization: string): string => authorization.slice('Bearer ash_'.length).slice(0, 16)

function signIn(app: TestServer, name: string, password: string, headers: Record<string, string> = {}) {
  return app.inject({ method: 'POST', url: '/v1/security/session', headers, payload: { name, password } })
}

const cookieIn = (reply: { readonly headers: Record<string, unknown> }): string =>
  String(reply.headers['set-cookie']).split(';', 1)[0] ?? ''

rule('9.1.3', 'a token is shown once, kept as a digest, bounded by its owner, and ends', async () => {
  const { app, security, token, user } = await openSecureServer()
  const bob = await user('bob', ['writer@default'])
  const create = (authorization: string, payload: object) =>
    app.inject({ method: 'POST', url: '/v1/security/token', headers: { authorization }, payload })
  // It would become an administrator's with the day on which its owner is one.
  for (const roles of [['admin'], ['reader', 'designer@default'], ['writer']]) {
    const refused = await create(bob, { name: 'mine', roles })
    expect([refused.statusCode, refused.json().message]).toEqual([422, expect.stringContaining('more than you may do')])
  }
  expect((await create(bob, { name: 'mine', roles: ['reader@default'] })).statusCode).toBe(201)
  const own = await create(basic('admin', passwordOf('admin')), { name: 'mine', owner: 'bob', roles: ['admin'] })
  expect(own.json()).toMatchObject({
    owner: 'bob',
    roles: ['admin'],
    token: expect.stringMatching(/^ash_[0-9a-f]{16}_[\w-]{43}$/),
  })
  const secret: string = own.json().token.slice(21)
  const kept = JSON.stringify(await security.database.rows('FROM AshlarSecurity.Token RETURN *'))
  expect(kept).not.toContain(secret)
  const authorization = `Bearer ${own.json().token}`
  expect(await whoIs(app, { authorization })).toMatchObject({ kind: 'token', name: 'bob' })
  // The roles of the token are more than those of its owner, who may not operate.
  expect((await app.inject({ url: '/v1/tool', headers: { authorization } })).statusCode).toBe(403)
  expect((await app.inject({ url: '/v1/schema', headers: { authorization } })).statusCode).toBe(200)
  const foreign = await token({ roles: ['reader'] })
  const refused = await app.inject({
    method: 'DELETE',
    url: `/v1/security/token/${idOf(foreign)}`,
    headers: { authorization: bob },
  })
  expect(refused.json().type).toBe('TokenNotFound')
  expect((await app.inject({ url: '/v1/security/token', headers: { authorization: bob } })).json()).toHaveLength(2)
  await security.change((database) => changeUser(database, 'bob', { isDisabled: true }))
  expect([await whoIs(app, { authorization }), await whoIs(app, { authorization: bob })]).toEqual([401, 401])
  await security.change((database) => changeUser(database, 'bob', { isDisabled: false }))
  expect(await whoIs(app, { authorization })).toMatchObject({ name: 'bob' })
  await security.change((database) => removeUser(database, 'bob'))
  expect(await whoIs(app, { authorization })).toBe(401)
  const [listed] = await listTokens(security.database)
  expect(listed).toMatchObject({ id: idOf(foreign), owner: null, roles: ['reader'] })
  await whoIs(app, { authorization: foreign })
  await expect.poll(async () => (await listTokens(security.database))[0]?.lastUsedAt).not.toBeNull()
})

rule(
  '9.1.4',
  'a wrong password, a user who is not there and one who is disabled are answered alike, by as many hashes',
  async () => {
    const { app, security, user } = await openSecureServer()
    await user('bob', ['reader'])
    await user('eve', ['reader'])
    await security.change((database) => changeUser(database, 'eve', { isDisabled: true }))
    const replies = []
    for (const [name, password] of [
      ['bob', 'a wrong password'],
      ['nobody', 'a wrong password'],
      ['eve', passwordOf('eve')],
      ['?', 'a wrong password'],
      ['admin', 'x'],
    ] as const) {
      for (const isBasic of [true, false]) {
        const before = security.hashes.checks
        const reply = isBasic
          ? await app.inject({ url: '/v1', headers: { authorization: basic(name, password) } })
          : await signIn(app, name, password)
        expect([name, security.hashes.checks - before]).toEqual([name, 1])
        replies.push([reply.statusCode, reply.body])
      }
    }
    expect(new Set(replies.map((reply) => JSON.stringify(reply))).size).toBe(1)
    // Whoever was right a short time ago is not hashed again, until the password changes.
    const before = security.hashes.checks
    const authorization = basic('bob', passwordOf('bob'))
    for (let time = 0; time < 5; time++) expect(await whoIs(app, { authorization })).toMatchObject({ name: 'bob' })
    expect(security.hashes.checks - before).toBe(1)
    const changed = await app.inject({
      method: 'PUT',
      url: '/v1/security/password',
      headers: { authorization },
      payload: { currentPassword: passwordOf('bob'), newPassword: 'another password' },
    })
    expect(changed.statusCode).toBe(204)
    expect(await whoIs(app, { authorization })).toBe(401)
    expect(await whoIs(app, { authorization: basic('bob', 'another password') })).toMatchObject({ name: 'bob' })
  },
)

rule(
  '9.1.4',
  'whoever knows a password that an administrator has just replaced does not replace it again',
  async () => {
    const { app, security, user } = await openSecureServer()
    const authorization = await user('bob', ['reader'])
    const reset = await security.hashes.hash('of the administrator')
    const made = security.hashes.hash.bind(security.hashes)
    // The administrator is done while the new password of the other is hashed.
    vi.spyOn(security.hashes, 'hash').mockImplementationOnce(async (password) => {
      await security.change((database) => changeUser(database, 'bob', { passwordHash: reset }))
      return made(password)
    })
    const reply = await app.inject({
      method: 'PUT',
      url: '/v1/security/password',
      headers: { authorization },
      payload: { currentPassword: passwordOf('bob'), newPassword: 'of somebody else' },
    })
    expect([reply.statusCode, reply.json().type]).toEqual([403, 'Forbidden'])
    expect(await whoIs(app, { authorization: basic('bob', 'of somebody else') })).toBe(401)
    expect(await whoIs(app, { authorization: basic('bob', 'of the administrator') })).toMatchObject({ name: 'bob' })
  },
)

rule('9.1.5', 'who is wrong too often has to wait, and others need not', async () => {
  const { app, security, user } = await openSecureServer()
  await user('bob', ['reader'])
  const attempts = await Promise.all(
    Array.from({ length: signInFailures.pairMax + 5 }, (_, at) => signIn(app, 'bob', `wrong password ${at}`)),
  )
  const statuses = attempts.map(({ statusCode }) => statusCode)
  expect(statuses.filter((status) => status === 401)).toHaveLength(signInFailures.pairMax)
  const throttled = attempts.filter(({ statusCode }) => statusCode === 429)
  expect(throttled).toHaveLength(5)
  expect(throttled[0]?.json().type).toBe('TooManySignIns')
  expect(Number(throttled[0]?.headers['retry-after'])).toBeGreaterThan(60)
  expect(security.hashes.checks).toBe(signInFailures.pairMax)
  // The right one is not looked at either, or it could be found by trying on.
  expect((await signIn(app, 'bob', passwordOf('bob'))).statusCode).toBe(429)
  expect((await signIn(app, 'admin', passwordOf('admin'))).statusCode).toBe(200)
})

rule('9.1.5', 'a password that was right a short time ago is no way around the count', async () => {
  const { app, security, user } = await openSecureServer()
  const authorization = await user('bob', ['reader'])
  const statusOf = async (remoteAddress: string, shown: string): Promise<number> =>
    (await app.inject({ url: '/v1/security/session', headers: { authorization: shown }, remoteAddress })).statusCode
  const guesses = (count: number) => Array.from({ length: count }, (_, at) => basic('bob', `wrong password ${at}`))
  const [ofBob, ofAttacker, ofOffice] = ['192.0.2.1', '198.51.100.7', '203.0.113.9']
  expect([await statusOf(ofBob, authorization), await statusOf(ofOffice, authorization)]).toEqual([200, 200])
  for (const guess of guesses(signInFailures.pairMax)) expect(await statusOf(ofAttacker, guess)).toBe(401)
  expect([await statusOf(ofAttacker, authorization), await statusOf(ofAttacker, basic('bob', 'no'))]).toEqual([
    429, 429,
  ])
  // Where it was right it goes on without a hash, whatever others do.
  const before = security.hashes.checks
  expect(await statusOf(ofBob, authorization)).toBe(200)
  expect(security.hashes.checks).toBe(before)
  // Nor from its own address once that has been wrong too often.
  for (const guess of guesses(signInFailures.pairMax)) expect(await statusOf(ofBob, guess)).toBe(401)
  expect(await statusOf(ofBob, authorization)).toBe(429)
  expect(await statusOf(ofOffice, authorization)).toBe(200)
})

rule('9.1.5', 'nor where an address is refused for the sake of other names', async () => {
  const { security, user } = await openSecureServer()
  await user('bob', ['reader'])
  const throttle = new SignInThrottle(() => 0)
  const checks = new PasswordChecks(security.callers, security.hashes, throttle)
  const check = (password: string) => checks.check('bob', password, '192.0.2.1')
  const tooMany = expect.objectContaining({ type: 'TooManySignIns' })
  await check(passwordOf('bob'))
  for (let at = 0; at < signInFailures.addressMax; at++) throttle.begin(`name${at}`, '192.0.2.1')
  expect(await check(passwordOf('bob'))).toMatchObject({ caller: { name: 'bob' } })
  // A name that has been right there is looked at as long as itself is not wrong too often.
  for (let at = 0; at < signInFailures.pairMax; at++) expect(await check(`wrong ${at}`)).toBeUndefined()
  await expect(check(passwordOf('bob'))).rejects.toEqual(tooMany)
})

rule('9.1.4', 'no work grows with what somebody calls a password, and a HEAD is a GET', async () => {
  const { app, security } = await openSecureServer()
  const tooLong = await signIn(app, 'admin', 'x'.repeat(70_000))
  expect([tooLong.statusCode, tooLong.json().type]).toEqual([413, 'BodyTooLarge'])
  expect((await signIn(app, 'admin', `${passwordOf('admin')}${'x'.repeat(60_000)}`)).statusCode).toBe(401)
  expect(security.hashes.checks).toBe(1)
  const head = (authorization: string) => app.inject({ method: 'HEAD', url: '/v1', headers: { authorization } })
  expect((await head(basic('admin', 'a wrong password'))).statusCode).toBe(401)
  expect((await head(basic('admin', passwordOf('admin')))).statusCode).toBe(200)
})

rule('9.1.6', 'a session is a cookie that only the own pages send, and ends everywhere', async () => {
  const { app, security, user } = await openSecureServer({ onLog: () => undefined })
  await user('bob', ['reader'])
  const begun = await signIn(app, 'bob', passwordOf('bob'))
  expect(begun.headers['set-cookie']).toMatch(
    /^ashlar-session=[0-9a-f]{16}_[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=43\d{3}$/,
  )
  const cookie = cookieIn(begun)
  expect(await whoIs(app, { cookie: `other=1; ${cookie}` })).toMatchObject({ kind: 'user', name: 'bob' })
  const kept = JSON.stringify(await security.database.rows('FROM AshlarSecurity.Session RETURN *'))
  // The secret may begin with a `_` too.
  expect(kept).not.toContain(cookie.slice(cookie.indexOf('_') + 1))
  // Signing in again gives another session, and ends the one that the browser had.
  const again = cookieIn(await signIn(app, 'bob', passwordOf('bob'), { cookie }))
  expect(again).not.toBe(cookie)
  expect(await whoIs(app, { cookie })).toBe(401)
  const other = cookieIn(await signIn(app, 'bob', passwordOf('bob')))
  const out = await app.inject({ method: 'DELETE', url: '/v1/security/session', headers: { cookie: again } })
  expect([out.statusCode, out.headers['set-cookie']]).toEqual([
    204,
    expect.stringMatching(/^ashlar-session=; .*Max-Age=0$/),
  ])
  expect([await whoIs(app, { cookie: again }), await whoIs(app, { cookie: other })]).toEqual([401, expect.anything()])
  const third = cookieIn(await signIn(app, 'bob', passwordOf('bob')))
  const everywhere = {
    method: 'DELETE',
    url: '/v1/security/session?everywhere=true',
    headers: { cookie: third },
  } as const
  expect((await app.inject(everywhere)).statusCode).toBe(204)
  expect([await whoIs(app, { cookie: other }), await whoIs(app, { cookie: third })]).toEqual([401, 401])
})

rule('9.1.6', 'a session is that of the own pages and of listed origins, and of no other page', async () => {
  const listed = 'http://localhost:3000'
  const browsers = { host: '127.0.0.1', hosts: undefined, cors: [listed] }
  const { app, user } = await openSecureServer({ browsers })
  await user('bob', ['reader'])
  const page = { origin: listed, 'sec-fetch-site': 'same-site' }
  const begun = await signIn(app, 'bob', passwordOf('bob'), page)
  expect(begun.headers['set-cookie']).toMatch(/; HttpOnly; SameSite=Strict; /)
  const cookie = cookieIn(begun)
  for (const headers of [page, {}, { origin: 'http://localhost:80', host: 'localhost:80' }]) {
    expect(await whoIs(app, { cookie, ...headers })).toMatchObject({ kind: 'user', name: 'bob' })
  }
  for (const origin of ['http://localhost:3001', 'null', `${listed}.evil.example`]) {
    expect(await whoIs(app, { cookie, origin })).toBe(403)
  }
  const out = await app.inject({ method: 'DELETE', url: '/v1/security/session', headers: { cookie, ...page } })
  expect([out.statusCode, await whoIs(app, { cookie, ...page })]).toEqual([204, 401])
})

rule('9.3.1', 'a new role of their own grants what it allows at once, where roles were read before', async () => {
  const { app, user } = await openSecureServer()
  const authorization = await user('eve', ['admin'])
  expect(await whoIs(app, { authorization })).toMatchObject({ name: 'eve' })
  const post = (url: string, payload: object) =>
    app.inject({ method: 'POST', url, headers: { authorization }, payload })
  expect((await post('/v1/security/role', { name: 'viewer', actions: ['read'] })).statusCode).toBe(201)
  const made = await post('/v1/security/token', { name: 'viewing', roles: ['viewer'] })
  expect(made.statusCode).toBe(201)
  const headers = { authorization: `Bearer ${made.json().token}` }
  expect((await app.inject({ url: '/v1/schema', headers })).statusCode).toBe(200)
  expect((await app.inject({ url: '/v1/tool', headers })).statusCode).toBe(403)
})

rule('9.1.7', 'a body that arrives after its token is revoked is refused', async () => {
  const { app, security, token } = await openSecureServer()
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  const authorization = await token({ roles: ['admin'] })
  expect(await whoIs(app, { authorization })).toMatchObject({ kind: 'token' })
  let send: (text: string) => void = () => undefined
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(Buffer.from('['))
      send = (text) => {
        controller.enqueue(Buffer.from(text))
        controller.close()
      }
    },
  })
  const reply = fetch(`${url}/v1/transaction`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body,
    duplex: 'half',
  } as RequestInit)
  // Another request of the same token is answered meanwhile: this one has been let in.
  await expect.poll(async () => (await listTokens(security.database))[0]?.lastUsedAt).not.toBeNull()
  await security.change((database) => revokeToken(database, idOf(authorization)))
  send(']')
  expect((await reply).status).toBe(401)
})

rule('9.3.2', 'a caller is told of the federated databases alone that it may use', async () => {
  const { app, token, user } = await openSecureServer({ aliases: ['orders', 'secret', 'shop'] })
  const get = async (authorization: string) =>
    (await app.inject({ url: '/v1/schema', headers: { authorization } })).json().message
  const roles = ['reader@orders', 'writer@shop']
  expect(await get(await token({ roles }))).toBe('fdAlias is required: one of orders, shop.')
  expect(await get(await user('guest', []))).toBe('fdAlias is required.')
})
