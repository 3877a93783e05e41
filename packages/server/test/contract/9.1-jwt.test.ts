/** Tokens of another issuer: which are taken, what their claims mean, and what becomes of them when its keys change or are not at hand. */
import { exportSPKI, SignJWT } from 'jose'
import { expect } from 'vitest'
import { configFromJson } from '../../src/config/config-file.ts'
import { mergeConfig } from '../../src/config/merge-config.ts'
import { Authenticator } from '../../src/security/authenticator.ts'
import { makeCaller } from '../../src/security/caller.ts'
import { addRole, changeRole } from '../../src/security/custom-roles.ts'
import { JwtScheme } from '../../src/security/jwt.ts'
import { keysOf } from '../../src/security/jwt-keys.ts'
import {
  arrived,
  audience,
  clerk,
  issuer,
  jwksOf,
  longAfter,
  newKey,
  openIssuer,
  openWith,
  part,
  secondsFromNow,
  settings,
  sign,
  silent,
  times,
  usual,
  whose,
  withoutRoles,
} from '../unit/jwt-issuer.ts'
import { openSecureServer } from '../unit/open-secure-server.ts'
import { openServer } from '../unit/open-server.ts'
import { rule } from './rule.ts'

rule('9.1.8', 'a token of the issuer is its caller, with the roles that its claims stand for', async () => {
  const key = await newKey('k1')
  const { url } = await openIssuer(key)
  const { scheme, get } = await openWith(url)
  const token = await sign(key)
  expect(await scheme.authenticate(arrived(token))).toMatchObject({
    kind: 'jwt',
    name: 'ann@example.com',
    grants: clerk,
    claims: { team: 'north', level: '3' },
    credential: { kind: 'jwt', id: 'u-1' },
  })
  expect((await get(token)).statusCode).toBe(200)
  // A writer is no operator.
  expect((await get(token, '/v1/tool')).statusCode).toBe(403)
  const ofAuditor = await sign(key, { realm_access: { roles: ['auditors'] } })
  expect((await get(ofAuditor, '/v1/tool')).statusCode).toBe(200)
  expect((await get(ofAuditor)).statusCode).toBe(403)
})

rule('9.1.8', 'of a token that expires later than any date can tell, the expiry is told as none', async () => {
  const key = await newKey('k1')
  const { url } = await openIssuer(key)
  const { get } = await openWith(url)
  for (const [expires, told] of [
    [longAfter, '2096-10-02T07:06:40.000Z'],
    [1e13, null],
    [1e300, null],
  ] as const) {
    const reply = await get(await sign(key, {}, expires), '/v1/security/session')
    expect([reply.statusCode, reply.json().expiresAt], reply.body).toEqual([200, told])
  }
})

rule('9.1.8', 'tokens that are not valid are 401, and the reply does not repeat them', async () => {
  const [key, other] = [await newKey('k1'), await newKey('k1')]
  const { url } = await openIssuer(key)
  const { get } = await openWith(url)
  const claims = part({ ...whose, ...usual, exp: longAfter })
  const byPublicKey = await new SignJWT({ ...whose, ...usual })
    .setProtectedHeader({ alg: 'HS256', kid: 'k1' })
    .setExpirationTime('1h')
    .sign(Buffer.from(await exportSPKI(key.publicKey)))
  const withoutExpiry = await new SignJWT({ ...whose, ...usual })
    .setProtectedHeader({ alg: 'ES256', kid: 'k1' })
    .sign(key.privateKey)
  const right = await sign(key)
  const wrong: Record<string, string> = {
    expired: await sign(key, {}, secondsFromNow(-10)),
    'of another issuer': await sign(key, { iss: 'https://elsewhere.example/' }),
    'for another audience': await sign(key, { aud: 'others' }),
    'signed by another key': await sign(other),
    'of an unknown key': await sign({ ...other, kid: 'k9' }),
    'without an algorithm': `${part({ alg: 'none' })}.${claims}.x`,
    'signed by the public key as a secret': byPublicKey,
    'without an expiry': withoutExpiry,
    'without a name': await sign(key, { email: undefined }),
    'not yet valid': await sign(key, { nbf: longAfter }),
    'no token': 'a.b.c',
    changed: `${right.slice(0, -4)}${right.endsWith('AAAA') ? 'BBBB' : 'AAAA'}`,
  }
  for (const [what, token] of Object.entries(wrong)) {
    const reply = await get(token)
    expect(reply.statusCode, what).toBe(401)
    expect(reply.headers['www-authenticate'], what).toMatch(/^Bearer/)
    expect(reply.body, what).not.toContain(token)
  }
  expect((await get('x'.repeat(10_000))).statusCode).toBe(401)
})

rule(
  ['9.1.8', '9.3.3'],
  'a role that its claims stand for may be one of the security database, as it is now',
  async () => {
    const key = await newKey('k1')
    const { url } = await openIssuer(key)
    const roles = { clerks: [{ role: 'clerk', aliases: undefined }] }
    const { app, security, user } = await openSecureServer({
      schemes: (callers) => [new JwtScheme({ ...settings, roles }, keysOf(url, silent, times), callers)],
    })
    const authorization = `Bearer ${await sign(key)}`
    const names = async (): Promise<unknown> => {
      const reply = await app.inject({ url: '/v1/schema', headers: { authorization } })
      const body: unknown = reply.json()
      return Array.isArray(body) ? body.map(({ className }) => className) : reply.statusCode
    }
    const admin = await user('root', ['admin'])
    const classes = ['Shop.Order', 'Shop.Secret'].map((className) => ({
      className,
      isReferenceable: true,
      attributes: [],
    }))
    await app.inject({ method: 'POST', url: '/v1/schema', headers: { authorization: admin }, payload: classes })
    expect(await names()).toBe(403)
    const on = (className: string) => ({ on: { kind: 'class', className }, actions: ['read'] })
    await security.change((database) => addRole(database, 'clerk', { grants: [on('Shop.Order')] }))
    expect(await names()).toEqual(['Shop.Order'])
    await security.change((database) => changeRole(database, 'clerk', { grants: [on('Shop.Secret')] }))
    expect(await names()).toEqual(['Shop.Secret'])
    // The local user of the same name is another caller.
    const { email } = usual
    await user(email, ['reader'])
    const identities = [
      await security.authenticator.authenticate({ headers: { authorization }, socket: undefined as never }),
    ]
    expect(identities).toMatchObject([{ name: email, identity: `jwt:${issuer} u-1` }])
  },
)

rule('9.1.8', 'a token that was found valid is not checked again, but not taken beyond its expiry', async () => {
  const key = await newKey('k1')
  const { url } = await openIssuer(key)
  let looked = 0
  const keys = keysOf(url, silent, times)
  const scheme = new JwtScheme(
    settings,
    (...asked) => {
      looked++
      return keys(...asked)
    },
    withoutRoles,
  )
  const token = await sign(key)
  const first = await scheme.authenticate(arrived(token))
  // At once, without a promise.
  expect(await scheme.authenticate(arrived(token))).toBe(first)
  expect(looked).toBe(1)
  const brief = await sign(key, {}, secondsFromNow(1))
  await scheme.authenticate(arrived(brief))
  await new Promise((resolve) => setTimeout(resolve, 2_000))
  await expect(scheme.authenticate(arrived(brief))).rejects.toThrow(/expired/)
})

rule('9.1.8', 'keys that are exchanged are found, and those that were read go on while the issuer fails', async () => {
  const [first, second] = [await newKey('k1'), await newKey('k2')]
  const issuing = await openIssuer(first)
  const { get } = await openWith(issuing.url)
  expect((await get(await sign(first))).statusCode).toBe(200)
  issuing.body = jwksOf(second)
  expect((await get(await sign(second))).statusCode).toBe(200)
  expect((await get(await sign(first, { team: 'again' }))).statusCode).toBe(401)
  issuing.status = 500
  expect((await get(await sign(second, { team: 'again' }))).statusCode).toBe(200)
  expect((await get(await sign({ ...first, kid: 'k3' }))).statusCode).toBe(401)
})

rule('9.1.8', 'an issuer whose keys were never read, or not for too long, is 503', async () => {
  const key = await newKey('k1')
  const issuing = await openIssuer(key)
  const stale = await openWith(issuing.url, { ...times, freshMs: 0, staleMsMax: -1 })
  expect((await stale.get(await sign(key))).json()).toMatchObject({ status: 503, type: 'IssuerUnavailable' })
  for (const broken of ['no JSON', '{"keys":1}', JSON.stringify({ keys: [], more: 'x'.repeat(2_000_000) })]) {
    issuing.body = broken
    const { get } = await openWith(issuing.url)
    expect((await get(await sign(key))).json()).toMatchObject({ status: 503, type: 'IssuerUnavailable' })
  }
})

rule('9.1.8', 'tokens of unknown keys do not have the issuer asked each time', async () => {
  const key = await newKey('k1')
  const issuing = await openIssuer(key)
  const { get } = await openWith(issuing.url, { ...times, repeatMs: 60_000 })
  for (let i = 0; i < 5; i++) expect((await get(await sign({ ...key, kid: `x${i}` }))).statusCode).toBe(401)
  expect(issuing.asked).toBe(1)
})

rule(
  '9.1.8',
  'the configuration takes algorithms with public keys alone, and places that nobody can change on the way',
  () => {
    const jwtOf = (jwt: object) => configFromJson(JSON.stringify({ jwt }), 'ashlar.json').jwt
    const given = { issuer, audience, jwks: 'https://id.example.com/jwks' }
    expect(jwtOf(given)).toMatchObject({ name: 'sub', rolesClaim: 'roles', clockToleranceSeconds: 5 })
    const mistakes: [object, RegExp][] = [
      [{ algorithms: ['HS256'] }, /algorithms of jwt in ashlar.json are of RS256/],
      [{ algorithms: ['none'] }, /not 'none'/],
      [{ algorithms: [] }, /algorithms/],
      [{ jwks: 'http://id.example.com/jwks' }, /an address by https, or a file/],
      [{ issuer: '' }, /issuer/],
      [{ clockToleranceSeconds: 3_600 }, /0 to 300/],
      [{ roles: { a: 'reader' } }, /array of strings/],
      [{ audiense: 'x' }, /has no field audiense/],
    ]
    for (const [wrong, message] of mistakes) expect(() => jwtOf({ ...given, ...wrong })).toThrow(message)
    expect(() => mergeConfig([configFromJson(JSON.stringify({ jwt: given }), 'ashlar.json')])).toThrow(/--auth/)
  },
)

rule('9.1.9', 'replies to requests with a session are not kept by the browser', async () => {
  const caller = makeCaller({
    kind: 'user',
    name: 'ann',
    identity: 'user:ann',
    grants: [{ role: 'reader', aliases: undefined }],
    claims: {},
    credential: { kind: 'session', id: 's1' },
    expiresAtMs: Number.POSITIVE_INFINITY,
  })
  const { app } = await openServer({ authenticator: new Authenticator([{ authenticate: async () => caller }]) })
  for (const url of ['/v1/schema/namespace', '/v1/object/1-1-1-1']) {
    expect((await app.inject({ method: 'GET', url })).headers['cache-control'], url).toBe('no-store')
  }
})
