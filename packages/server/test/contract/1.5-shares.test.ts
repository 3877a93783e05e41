/** Contract 1.5.23: what one caller takes is its own share, whatever it takes it by; others have theirs. */
import { type IncomingMessage, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json as jsonOf } from 'node:stream/consumers'
import { expect, onTestFinished } from 'vitest'
import { addUser } from '../../src/security/users.ts'
import { openSecureServer } from '../unit/open-secure-server.ts'
import { defineGadget, openServer, type TestServer } from '../unit/open-server.ts'
import { rule } from './rule.ts'

/** Endless for the time of a test: each pair of objects is looked at. */
const slow =
  'FROM Shop.Gadget a, Shop.Gadget b, Shop.Gadget c WHERE a.size + b.size + c.size = 1000000 RETURN COUNT() AS n'
const unlimited = { statementMsMax: 1_000_000, statementQueueMsMax: 1_000_000, queuedStatementsPerCallerMax: 1 }

interface Asked {
  readonly authorization?: string | undefined
  readonly localAddress?: string
  readonly query?: string
  readonly path?: string
  readonly accept?: string
}

/** The reply as soon as its head is there. Whoever asks goes away at the end of the test. */
async function listening(app: TestServer) {
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  return ({ authorization, localAddress, query, path = '/v1/query', accept = 'application/json' }: Asked) => {
    const headers = { accept, ...(authorization && { authorization }), 'content-type': 'text/plain' }
    const method = query === undefined ? 'GET' : 'POST'
    const sent = request({
      host: '127.0.0.1',
      port,
      path,
      method,
      agent: false,
      headers,
      ...(localAddress && { localAddress }),
    })
    onTestFinished(() => void sent.destroy())
    const reply = new Promise<IncomingMessage>((resolve, reject) => sent.on('response', resolve).on('error', reject))
    reply.catch(() => undefined)
    sent.end(query)
    return { sent, reply, problem: async () => (await jsonOf(await reply)) as { type: string; message: string } }
  }
}

async function fill(app: TestServer, authorization: string): Promise<void> {
  await defineGadget(app, '', { authorization })
  const payload = Array.from({ length: 2_000 }, (_, size) => ({ class: 'Shop.Gadget', attributes: { size } }))
  const made = await app.inject({ method: 'POST', url: '/v1/object', payload, headers: { authorization } })
  expect(made.statusCode).toBe(201)
}

const listed = async (app: TestServer, authorization: string): Promise<readonly { state: string }[]> =>
  (await app.inject({ url: '/v1/statement', headers: { authorization } })).json()

rule(
  '1.5.23',
  'statements of a caller are counted by its identity, from whichever address and with whichever token',
  async () => {
    const limits = { ...unlimited, statementsMax: 3, statementsPerCallerMax: 2 }
    const { app, security, user, token } = await openSecureServer({ limits })
    const admin = await user('root', ['admin'])
    await fill(app, admin)
    for (const name of ['ann', 'bob']) {
      await security.change((database) => addUser(database, { name, roles: ['reader'], passwordHash: undefined }))
    }
    const ask = await listening(app)
    const [ann, again, bob] = [
      await token({ owner: 'ann' }),
      await token({ owner: 'ann' }),
      await token({ owner: 'bob' }),
    ]
    ask({ authorization: ann, query: slow })
    ask({ authorization: again, query: slow, localAddress: '127.0.0.2' })
    const states = async () => (await listed(app, admin)).map(({ state }) => state)
    await expect.poll(states).toEqual(['running', 'running'])
    ask({ authorization: ann, query: slow, localAddress: '127.0.0.3' })
    await expect.poll(states).toEqual(['running', 'running', 'queued'])
    const fourth = ask({ authorization: again, query: slow, localAddress: '127.0.0.4' })
    expect((await fourth.problem()).message).toBe(
      'The caller user:ann already has 1 statements waiting, the share of one caller (queuedStatementsPerCallerMax).',
    )
    // From the same address as the first.
    const served = ask({ authorization: bob, query: slow })
    await expect.poll(states).toEqual(['running', 'running', 'queued', 'running'])
    served.sent.destroy()
    await expect.poll(states).toEqual(['running', 'running', 'queued'])
  },
)

rule('1.5.23', 'who is not known is counted by its address, and told so', async () => {
  const limits = { ...unlimited, statementsMax: 3, statementsPerCallerMax: 1 }
  const { app } = await openServer({ limits })
  await fill(app, '')
  const ask = await listening(app)
  const states = async () => (await listed(app, '')).map(({ state }) => state)
  ask({ query: slow })
  await expect.poll(states).toEqual(['running'])
  ask({ query: slow })
  await expect.poll(states).toEqual(['running', 'queued'])
  expect((await ask({ query: slow }).problem()).message).toBe(
    'The address 127.0.0.1 already has 1 statements waiting, the share of one address without authentication (queuedStatementsPerCallerMax).',
  )
  ask({ query: slow, localAddress: '127.0.0.2' })
  await expect.poll(states).toEqual(['running', 'queued', 'running'])
})

rule(['1.5.23', '2.4.7'], 'followers are counted by caller; pages that do not wait are none', async () => {
  const limits = { changeFollowersMax: 3, changeFollowersPerCallerMax: 2 }
  const { app, token, security, user } = await openSecureServer({ limits })
  await fill(app, await user('root', ['admin']))
  for (const name of ['ann', 'bob']) {
    await security.change((database) => addUser(database, { name, roles: ['reader'], passwordHash: undefined }))
  }
  const [ann, bob] = [await token({ owner: 'ann' }), await token({ owner: 'bob' })]
  const ask = await listening(app)
  const follow = (authorization: string, localAddress = '127.0.0.1') =>
    ask({ authorization, localAddress, path: '/v1/changes?since=now', accept: 'text/event-stream' })
  for (const address of ['127.0.0.1', '127.0.0.2']) expect((await follow(ann, address).reply).statusCode).toBe(200)
  const third = follow(ann, '127.0.0.3')
  expect((await third.reply).statusCode).toBe(429)
  expect((await third.problem()).message).toBe(
    'The caller user:ann already has 2 requests that follow changes, the share of one caller (changeFollowersPerCallerMax).',
  )
  const page = ask({ authorization: ann, path: '/v1/changes?since=now' })
  expect((await page.reply).statusCode).toBe(200)
  const waiting = ask({ authorization: ann, path: '/v1/changes?since=now&wait=1' })
  expect((await waiting.reply).statusCode).toBe(429)
  expect((await follow(bob).reply).statusCode).toBe(200)
  // Now nobody may follow; a page is there all the same.
  expect((await follow(bob).reply).statusCode).toBe(503)
  expect((await ask({ authorization: bob, path: '/v1/changes?since=now' }).reply).statusCode).toBe(200)
})

/** `count` objects that one refers to. */
async function hub(app: TestServer, authorization: string, count: number): Promise<string> {
  const reference = { logicalType: 'reference', referencedClass: 'Shop.Part' }
  const classes = [
    { className: 'Shop.Part', isReferenceable: true, attributes: [{ attributeName: 'owner', logicalType: 'string' }] },
    {
      className: 'Shop.Hub',
      isReferenceable: true,
      attributes: [{ attributeName: 'parts', logicalType: 'list', elementSpecification: reference }],
    },
  ]
  const headers = { authorization }
  expect((await app.inject({ method: 'PUT', url: '/v1/schema', payload: classes, headers })).statusCode).toBe(201)
  const payload = Array.from({ length: count }, () => ({ class: 'Shop.Part', attributes: { owner: 'eve' } }))
  const made = await app.inject({ method: 'POST', url: '/v1/object', payload, headers })
  const parts = (made.json() as { __identifier__: string }[]).map(({ __identifier__: oid }) => oid)
  const body = { class: 'Shop.Hub', attributes: { parts } }
  const created = await app.inject({ method: 'POST', url: '/v1/object', payload: body, headers })
  return created.json().__identifier__
}

rule('6.1.14', 'who sees a part of the objects is not told how many entries an index has', async () => {
  const { app, security, token, user } = await openSecureServer()
  const admin = await user('root', ['admin'])
  await fill(app, admin)
  const index = {
    name: 'bySize',
    indexedClass: 'Shop.Gadget',
    isUnique: false,
    keyAttributes: [{ attributeName: 'size' }],
  }
  const headers = { authorization: admin }
  expect((await app.inject({ method: 'POST', url: '/v1/index', payload: index, headers })).statusCode).toBe(201)
  const on = { kind: 'class', className: 'Shop.Gadget' }
  const role = { name: 'some', grants: [{ on, actions: ['read'], rules: { read: 'size > 5' } }] }
  await app.inject({ method: 'POST', url: '/v1/security/role', payload: role, headers })
  await security.change((database) => addUser(database, { name: 'ann', roles: ['some'], passwordHash: undefined }))
  const ann = await token({ owner: 'ann' })
  const recordsFor = async (authorization: string) => [
    (await app.inject({ url: '/v1/index', headers: { authorization } })).json()[0],
    (await app.inject({ url: '/v1/index/bySize', headers: { authorization } })).json(),
  ]
  expect((await recordsFor(admin)).map(({ entryCount }) => entryCount)).toEqual([2_000, 2_000])
  for (const record of await recordsFor(ann)) {
    expect(record).toMatchObject({ name: 'bySize', state: 'ready' })
    expect(record).not.toHaveProperty('entryCount')
  }
})

rule(
  ['1.5.23', '2.3.1', '2.3.2', '2.3.4'],
  'the read of an object of very many links is a statement once it has taken long, and ends with its client',
  async () => {
    const limits = { ...unlimited, statementsMax: 1 }
    const { app, security, token, user } = await openSecureServer({ limits })
    const admin = await user('root', ['admin'])
    await fill(app, admin)
    const oid = await hub(app, admin, 6_000)
    const rules = { read: 'owner = $$USER.name OR owner =~ "(x+x+)+y"' }
    const grants = [
      { on: { kind: 'class', className: 'Shop.Part' }, actions: ['read'], rules },
      { on: { kind: 'class', className: 'Shop.Hub' }, actions: ['read'] },
    ]
    const role = { name: 'parts', grants }
    const headers = { authorization: admin }
    const defined = await app.inject({ method: 'POST', url: '/v1/security/role', payload: role, headers })
    expect(defined.statusCode).toBe(201)
    await security.change((database) => addUser(database, { name: 'ann', roles: ['parts'], passwordHash: undefined }))
    const ann = await token({ owner: 'ann' })
    const ask = await listening(app)
    const statements = async () => (await listed(app, admin)).slice(1)
    ask({ authorization: admin, query: slow })
    await expect.poll(() => listed(app, admin)).toMatchObject([{ kind: 'query', state: 'running' }])
    const path = `/v1/object/${oid}`
    const waiting = ask({ authorization: ann, path })
    await expect.poll(statements).toMatchObject([{ kind: 'read', text: `GET ${path}`, state: 'queued' }])
    const refused = ask({ authorization: ann, path })
    expect((await refused.problem()).type).toBe('TooManyStatements')
    expect((await refused.reply).headers).toHaveProperty('statement-id')
    // Others do not wait for it.
    expect((await ask({ authorization: admin, path: '/v1/object/3-5-1-1' }).reply).statusCode).toBeLessThan(500)
    waiting.sent.destroy()
    await expect.poll(statements).toEqual([])
  },
)
