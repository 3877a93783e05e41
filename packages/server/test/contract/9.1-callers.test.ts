/** Contract 9.1 and 9.3: who sends a request, and what built-in roles allow; in this process, with callers that a header names. */
import { expect } from 'vitest'
import { ServerError } from '../../src/errors/server-errors.ts'
import { Authenticator } from '../../src/security/authenticator.ts'
import { type Caller, makeCaller, nobody } from '../../src/security/caller.ts'
import { builtInRoles, type RoleGrant } from '../../src/security/roles.ts'
import { defineGadget, openServer, type TestServer } from '../unit/open-server.ts'
import { rule } from './rule.ts'

function callerWith(name: string, ...grants: readonly RoleGrant[]): Caller {
  return makeCaller({ ...nobody, kind: 'user', name, identity: `user:${name}`, grants })
}

const everywhere = (role: string): RoleGrant => ({ role, aliases: undefined })
const admin = callerWith('admin', everywhere('admin'))

/** `authorization` is the name of a caller. */
async function openFor(callers: readonly Caller[], aliases = ['fleet', 'sales']): Promise<TestServer> {
  const byName = new Map(callers.map((caller) => [caller.name, caller]))
  const authenticate = async ({ headers: { authorization } }: Parameters<Authenticator['authenticate']>[0]) => {
    if (authorization === 'broken') throw new ServerError('Unauthenticated', 'It is not valid.')
    return byName.get(authorization ?? '')
  }
  const { app } = await openServer({ aliases, authenticator: new Authenticator([{ authenticate }]) })
  return app
}

rule('9.1.1', 'unknown callers and wrong credentials are 401, before the body is read', async () => {
  const app = await openFor([admin])
  for (const authorization of [undefined, 'broken', 'Digest x']) {
    const headers = { ...(authorization !== undefined && { authorization }), 'content-type': 'application/json' }
    const reply = await app.inject({ method: 'POST', url: '/v1/object?fdAlias=fleet', headers, payload: '{"class":' })
    expect(reply.statusCode).toBe(401)
    expect(reply.json()).toMatchObject({ type: 'Unauthenticated', status: 401 })
    expect(reply.headers.connection).toBe('close')
    if (authorization !== 'broken')
      expect(reply.headers['www-authenticate']).toBe('Bearer realm="ashlar", Basic realm="ashlar", charset="UTF-8"')
  }
  const byScript = await app.inject({ url: '/v1', headers: { 'sec-fetch-dest': 'empty' } })
  expect(byScript.headers['www-authenticate']).toBe('Bearer realm="ashlar"')
  for (const url of ['/health/live', '/health/ready', '/openapi.json', '/docs/']) {
    expect([url, (await app.inject({ url })).statusCode]).toEqual([url, 200])
  }
  expect((await app.inject({ url: '/nothing' })).statusCode).toBe(404)
  expect((await app.inject({ method: 'OPTIONS', url: '/v1' })).statusCode).toBe(204)
  expect((await app.inject({ url: '/v1', headers: { authorization: 'admin' } })).statusCode).toBe(200)
})

rule('9.1.2', 'an Idempotency-Key of one caller is another one of another', async () => {
  const app = await openFor([admin, callerWith('other', everywhere('writer'))])
  await defineGadget(app, '?fdAlias=fleet', { authorization: 'admin' })
  const create = (authorization: string) => {
    const headers = { authorization, 'idempotency-key': 'one' }
    const payload = { class: 'Shop.Gadget', attributes: { name: 'a' } }
    return app.inject({ method: 'POST', url: '/v1/object?fdAlias=fleet', headers, payload })
  }
  const [first, other, again] = [await create('admin'), await create('other'), await create('admin')]
  expect([first.statusCode, other.statusCode]).toEqual([201, 201])
  expect(other.json()).not.toEqual(first.json())
  expect(again.json()).toEqual(first.json())
})

/** One request for each action, on a federated database. */
const requests = {
  read: { method: 'GET', url: '/v1/schema' },
  write: { method: 'POST', url: '/v1/query', payload: { query: "CREATE Shop.Gadget {name: 'b'}" } },
  define: { method: 'POST', url: '/v1/query', payload: { query: 'CREATE INDEX byName ON Shop.Gadget(name)' } },
  operate: { method: 'POST', url: '/v1/tool', payload: { tool: 'Verify' } },
} as const

rule('9.3.1', 'built-in roles allow their actions, where they are granted, and add up', async () => {
  const roles = Object.keys(builtInRoles) as (keyof typeof builtInRoles)[]
  const here = (role: string): Caller => callerWith(`${role}@fleet`, { role, aliases: ['fleet'] })
  const both = callerWith('both', { role: 'writer', aliases: ['fleet'] }, everywhere('designer'))
  const app = await openFor([admin, both, ...roles.map(here)])
  await defineGadget(app, '?fdAlias=fleet', { authorization: 'admin' })
  const ask = async (authorization: string, action: keyof typeof requests, alias: string) => {
    const { url, ...request } = requests[action]
    return app.inject({ ...request, url: `${url}?fdAlias=${alias}`, headers: { authorization } })
  }
  for (const role of roles) {
    for (const action of Object.keys(requests) as (keyof typeof requests)[]) {
      const isAllowed = (builtInRoles[role] as readonly string[]).includes(action)
      const [there, elsewhere] = [
        await ask(`${role}@fleet`, action, 'fleet'),
        await ask(`${role}@fleet`, action, 'sales'),
      ]
      expect([role, action, there.statusCode === 403]).toEqual([role, action, !isAllowed])
      if (!isAllowed) expect(there.json().message).toMatch(/federated database fleet/)
      expect(elsewhere.json()).toMatchObject({ type: 'FederatedDatabaseNotFound', status: 404 })
    }
    const whole = await app.inject({ url: '/v1/tool', headers: { authorization: `${role}@fleet` } })
    expect(whole.statusCode).toBe(403)
  }
  const all = await Promise.all((['read', 'write', 'define'] as const).map((action) => ask('both', action, 'fleet')))
  expect(all.map(({ statusCode }) => statusCode === 403)).toEqual([false, false, false])
  expect((await ask('both', 'write', 'sales')).statusCode).toBe(403)
  const steps = [
    { method: 'POST', uri: '/v1/object', body: { class: 'Shop.Gadget', attributes: { name: 'c' } } },
    { method: 'DELETE', uri: '/v1/schema/Shop.Gadget' },
  ]
  const headers = { authorization: 'writer@fleet' }
  const refused = await app.inject({ method: 'POST', url: '/v1/transaction?fdAlias=fleet', headers, payload: steps })
  expect(refused.json()).toMatchObject({ type: 'Forbidden', operation: 2 })
  const payload = { query: "FROM Shop.Gadget WHERE name = 'c' RETURN name" }
  const found = await app.inject({ method: 'POST', url: '/v1/query?fdAlias=fleet', headers, payload })
  expect(found.json()).toEqual([])
})
