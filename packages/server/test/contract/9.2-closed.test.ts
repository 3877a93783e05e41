/** What is closed to callers without the right for it: tools, dead letters, health, names of federated databases, weak passwords, tokens of another kind. */
import { expect } from 'vitest'
import { arrived, newKey, openIssuer, openWith, signWith } from '../unit/jwt-issuer.ts'
import { basic, openSecureServer, passwordOf } from '../unit/open-secure-server.ts'
import { defineGadget } from '../unit/open-server.ts'
import { rule } from './rule.ts'

rule('9.3.7', 'a tool asks for what the operations ask for that do the same', async () => {
  const { app, token } = await openSecureServer()
  const admin = await token({ roles: ['admin'] })
  await defineGadget(app, '', { authorization: admin })
  const run = async (roles: string[], tool: string, flags = {}) => {
    const authorization = await token({ roles })
    const reply = await app.inject({
      method: 'POST',
      url: '/v1/tool',
      headers: { authorization },
      payload: { tool, flags },
    })
    return reply.json().type ?? reply.json().returnCode
  }
  const index = { name: 'byName', class: 'Shop.Gadget', attributes: 'name' }
  const outcomes = [
    [['operator'], 'AddIndex', index, 'Forbidden'],
    [['operator', 'reader'], 'AddIndex', index, 'Forbidden'],
    [['designer'], 'AddIndex', index, 0],
    [['operator'], 'ListIndexes', {}, 'Forbidden'],
    [['reader'], 'ListIndexes', {}, 0],
    [['operator'], 'Statistics', {}, 'Forbidden'],
    [['operator', 'reader'], 'Statistics', {}, 0],
    [['operator'], 'DropIndex', { name: 'byName' }, 'Forbidden'],
    [['designer'], 'DropIndex', { name: 'byName' }, 0],
    [['operator'], 'Verify', {}, 0],
    [['reader'], 'Verify', {}, 'Forbidden'],
    [['designer'], 'UpgradeObjects', {}, 'Forbidden'],
  ] as const
  for (const [roles, tool, flags, outcome] of outcomes) {
    expect([roles, tool, await run([...roles], tool, flags)]).toEqual([roles, tool, outcome])
  }
})

rule('9.3.2', 'a federated database that a caller may not use is answered like one that is not there', async () => {
  const { app, token } = await openSecureServer({ aliases: ['fleet', 'merger'], defaultAlias: 'merger' })
  const authorization = await token({ roles: ['reader@fleet'] })
  const ask = async (alias: string) => {
    const reply = await app.inject({ url: `/v1/schema?fdAlias=${alias}`, headers: { authorization } })
    return [reply.statusCode, reply.body.replaceAll(alias, 'ALIAS')]
  }
  expect(await ask('merger')).toEqual(await ask('nosuch'))
  expect(await ask('merger')).toEqual([404, expect.stringContaining('there is fleet')])
  const byDefault = await app.inject({ url: '/v1/schema', headers: { authorization } })
  expect([byDefault.statusCode, byDefault.body.includes('merger')]).toEqual([403, false])
})

rule('9.1.11', '/health/ready shows names and reasons to callers who may operate the server alone', async () => {
  const { app, token } = await openSecureServer({ aliases: ['customer-acme', 'merger-zeta'] })
  const ready = async (authorization?: string) => {
    const headers = authorization === undefined ? {} : { authorization }
    const reply = await app.inject({ url: '/health/ready', headers })
    return [reply.statusCode, reply.json()]
  }
  const plain = [200, { status: 'ready' }]
  for (const roles of [['reader'], ['operator@merger-zeta']]) expect(await ready(await token({ roles }))).toEqual(plain)
  expect(await ready()).toEqual(plain)
  const whole = [200, { status: 'ready', federatedDatabases: ['customer-acme', 'merger-zeta'] }]
  expect(await ready(await token({ roles: ['operator'] }))).toEqual(whole)
  expect((await ready(basic('admin', 'a wrong password')))[0]).toBe(401)
})

rule('9.2.6', 'common passwords, those of few characters and the name of the user are refused', async () => {
  const { app, user } = await openSecureServer()
  const admin = basic('admin', passwordOf('admin'))
  const create = (name: string, password: string) => {
    const request = { method: 'POST', url: '/v1/security/user', headers: { authorization: admin } } as const
    return app.inject({ ...request, payload: { name, password } })
  }
  for (const password of [
    'password',
    'Password1',
    '12345678',
    'admin123',
    '        ',
    '\0\0\0\0\0\0\0\0',
    'Mallory-7',
  ]) {
    const reply = await create('mallory-7', password)
    expect([password, reply.statusCode, reply.json().type]).toEqual([password, 422, 'WeakPassword'])
  }
  const bob = await user('bob', ['reader'])
  const change = (newPassword: string) => {
    const payload = { currentPassword: passwordOf('bob'), newPassword }
    return app.inject({ method: 'PUT', url: '/v1/security/password', headers: { authorization: bob }, payload })
  }
  expect((await change('iloveyou1')).json().type).toBe('WeakPassword')
  const byAdministrator = { method: 'PUT', url: '/v1/security/user/bob', headers: { authorization: admin } } as const
  expect((await app.inject({ ...byAdministrator, payload: { password: 'letmein1' } })).json().type).toBe('WeakPassword')
  expect((await change('seven boats leave at dawn')).statusCode).toBe(204)
})

rule(
  '9.2.7',
  'names of users differ by more than upper and lower case, also of two who are added at once',
  async () => {
    const { app } = await openSecureServer()
    const headers = { authorization: basic('admin', passwordOf('admin')) }
    const create = async (name: string) => {
      const reply = await app.inject({ method: 'POST', url: '/v1/security/user', headers, payload: { name } })
      return reply.statusCode
    }
    expect(await create('Admin')).toBe(409)
    const statuses = await Promise.all(['carol', 'Carol', 'CAROL', 'cArol'].map(create))
    expect(statuses.sort()).toEqual([201, 409, 409, 409])
  },
)

rule('9.1.8', 'tokens of other types, or without a required claim, are refused', async () => {
  const key = await newKey('k1')
  const { url } = await openIssuer(key)
  const { scheme } = await openWith(url, undefined, { requiredClaims: { 'realm_access.level': 2 } })
  const outcome = async (claims: object, typ?: string) => {
    const header = { alg: 'ES256', kid: key.kid, ...(typ !== undefined && { typ }) }
    const all = { realm_access: { level: 2, roles: ['clerks'] }, ...claims }
    const token = await signWith(header, key.privateKey, all)
    const caller = (async () => scheme.authenticate(arrived(token)))()
    return caller.then(
      () => 'accepted',
      (error: Error) => error.message,
    )
  }
  for (const typ of [undefined, 'JWT', 'jwt', 'at+jwt', 'application/at+jwt'])
    expect(await outcome({}, typ)).toBe('accepted')
  for (const typ of ['logout+jwt', 'secevent+jwt', 'dpop+jwt'])
    expect(await outcome({}, typ)).toContain('its header typ')
  expect(await outcome({ realm_access: { roles: ['clerks'] } })).toContain('its claim realm_access.level')
  expect(await outcome({ realm_access: { level: '2', roles: ['clerks'] } })).toContain('its claim realm_access.level')
  expect(await outcome({ email_verified: false })).toContain('not verified')
  expect(await outcome({ email_verified: true })).toBe('accepted')
})
