/** Contract 2.4.7: who may follow the changes, how many do, and what ends them; in this process. */
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import type { Grant } from '@ashlar/engine'
import { expect } from 'vitest'
import { everyone } from '../../src/security/caller.ts'
import { addRole, changeRole } from '../../src/security/custom-roles.ts'
import { revokeToken } from '../../src/security/tokens.ts'
import { ChangeFollowers } from '../../src/statements/change-followers.ts'
import { basic, openSecureServer, passwordOf } from '../unit/open-secure-server.ts'
import { openServer, type TestServer } from '../unit/open-server.ts'
import { rule } from './rule.ts'

async function listening(app: TestServer): Promise<number> {
  await app.listen({ host: '127.0.0.1', port: 0 })
  return (app.server.address() as AddressInfo).port
}

async function follow(port: number, authorization?: string, parameters = ''): Promise<IncomingMessage> {
  const headers = { accept: 'text/event-stream', ...(authorization !== undefined && { authorization }) }
  const asked = get({ host: '127.0.0.1', port, path: `/v1/changes?since=now${parameters}`, headers, agent: false })
  const [response] = (await once(asked, 'response')) as [IncomingMessage]
  return response
}

/** JSON whose shape a test knows and the compiler does not. */
type Loose = ReturnType<typeof JSON.parse>

const lastEvent = (events: string): unknown => {
  const data = events
    .trim()
    .split('\n')
    .findLast((line) => line.startsWith('data: '))
  return JSON.parse(data?.slice('data: '.length) ?? 'null')
}

const owned = (name: string): Grant => ({
  on: { kind: 'class', className: 'Note' },
  actions: ['read', 'query'],
  hidden: ['secret'],
  rules: { read: `owner = '${name}'` },
})

rule(['2.4.7', '9.4.14'], 'callers with grants are told what they see, until they lose something of it', async () => {
  const { app, security, user } = await openSecureServer()
  await security.change((database) => addRole(database, 'partial', { grants: [owned('ann')] }))
  const admin = basic('admin', passwordOf('admin'))
  const port = await listening(app)
  const send = async (method: 'POST' | 'PUT', path: string, payload: object): Promise<Loose> => {
    const reply = await app.inject({ method, url: path, payload, headers: { authorization: admin } })
    expect(reply.statusCode).toBeLessThan(300)
    return reply.body === '' ? undefined : reply.json()
  }
  const texts = ['owner', 'secret', 'text'].map((attributeName) => ({ attributeName, logicalType: 'string' }))
  const classes = ['Note', 'Other'].map((className) => ({ className, isReferenceable: true, attributes: texts }))
  await send('POST', '/v1/schema', classes)
  const response = await follow(port, await user('bob', ['partial']))
  expect(response.statusCode).toBe(200)
  const lines = createInterface({ input: response })[Symbol.asyncIterator]()
  const nextChange = async (): Promise<Loose> => {
    for (;;) {
      const { value, done } = await lines.next()
      if (done === true) return undefined
      const data = value.startsWith('data: ') ? JSON.parse(value.slice('data: '.length)) : {}
      if ('change' in data || 'status' in data) return data
    }
  }
  await send('POST', '/v1/query', { query: 'CREATE SEQUENCE unseen' })
  await send('POST', '/v1/object', { class: 'Other', attributes: { text: 'x' } })
  const { __identifier__: oid } = await send('POST', '/v1/object', { class: 'Note', attributes: { owner: 'eve' } })
  const changes = [{ owner: 'ann', secret: '1' }, { secret: '2' }, { text: 't', secret: '3' }, { owner: 'eve' }]
  for (const attributes of changes) await send('PUT', `/v1/object/${oid}`, { attributes })
  const told = [await nextChange(), await nextChange(), await nextChange()]
  const note = { class: 'Note', oid }
  expect(told).toMatchObject([
    { ...note, change: 'created', after: { owner: 'ann', text: '' } },
    { ...note, change: 'updated', attributes: ['text'], before: { text: '' }, after: { text: 't' } },
    { ...note, change: 'deleted', before: { owner: 'ann', text: 't' } },
  ])
  expect(JSON.stringify(told)).not.toContain('secret')
  await security.change((database) => changeRole(database, 'partial', { grants: [owned('nobody')] }))
  expect(await nextChange()).toMatchObject({ type: 'Forbidden', status: 403 })
  expect(await nextChange()).toBeUndefined()
})

rule('2.4.7', 'who loses the right loses the events', async () => {
  const { app, security, token } = await openSecureServer()
  const port = await listening(app)
  const authorization = await token({ roles: ['reader'] })
  const response = await follow(port, authorization)
  expect(response.statusCode).toBe(200)
  const events = text(response)
  const [, id = ''] = /ash_([^_]+)_/.exec(authorization) ?? []
  await revokeToken(security.database, id)
  // By itself, and with the reason.
  expect(lastEvent(await events)).toMatchObject({ type: 'Unauthenticated', status: 401 })
})

rule('2.4.7', 'they are bounded by limits of their own, and end with the server', async () => {
  const limits = { changeFollowersMax: 3, changeFollowersPerCallerMax: 2, statementsMax: 1 }
  const { app, close } = await openServer({ limits })
  const port = await listening(app)
  const two = [await follow(port), await follow(port)]
  expect(two.map(({ statusCode }) => statusCode)).toEqual([200, 200])
  const third = await follow(port)
  expect(third.statusCode).toBe(429)
  expect(JSON.parse(await text(third))).toMatchObject({ type: 'TooManyFollowers' })
  // They take no places of statements.
  const query = await app.inject({ method: 'POST', url: '/v1/query', payload: { query: 'SHOW CLASSES' } })
  expect([200, 400, 422]).toContain(query.statusCode)
  const [gone, left] = two as [IncomingMessage, IncomingMessage]
  gone.destroy()
  let again = await follow(port)
  while (again.statusCode === 429) {
    again.resume()
    again = await follow(port)
  }
  expect(again.statusCode).toBe(200)
  const ends = [left, again].map((response) => text(response))
  await close()
  for (const events of await Promise.all(ends)) expect(lastEvent(events)).toMatchObject({ type: 'ShuttingDown' })
})

rule('2.4.7', 'how far the one that is furthest behind is, is measured', async () => {
  const followers = new ChangeFollowers({ changeFollowersMax: 9, changeFollowersPerCallerMax: 9 })
  const caller = everyone
  const begin = (alias: string) =>
    followers.begin({ sharer: 'user:bob', alias, caller, signal: new AbortController().signal })
  const [first, second, other] = [begin('a'), begin('a'), begin('b')]
  const untilLater = (): void => {
    for (const begunMs = performance.now(); performance.now() - begunMs < 3; );
  }
  untilLater()
  expect(followers.lagMs('a')).toBeGreaterThan(2)
  first.waits()
  other.waits()
  expect([followers.lagMs('a') > 2, followers.lagMs('b'), followers.lagMs('c')]).toEqual([true, 0, 0])
  second.waits()
  expect(followers.lagMs('a')).toBe(0)
  second.proceeds()
  untilLater()
  second.proceeds()
  expect(followers.lagMs('a')).toBeGreaterThan(2)
  second.end()
  expect(followers.lagMs('a')).toBe(0)
  const { app } = await openServer()
  const response = await follow(await listening(app))
  const lag = async () =>
    /^ashlar_change_follower_lag_seconds\{fd="\w+"\} (\S+)$/m.exec((await app.inject('/metrics')).body)?.[1]
  await expect.poll(lag).toBe('0')
  response.destroy()
})
