/** Contract 9.4: what callers with grants for parts of a federated database change, over HTTP: alone, in transactions, by statements. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { expect, onTestFinished } from 'vitest'
import { AuditFile } from '../../src/audit/audit-file.ts'
import { AuditLog } from '../../src/audit/audit-log.ts'
import { openShop, type Shop } from './own-roles-world.ts'
import { rule } from './rule.ts'

const newOrder = (title: string, more: object = {}) => ({
  class: 'Shop.Order',
  attributes: { title, owner: 'bob', ...more },
})

/** Without what differs from reply to reply. */
async function shown(shop: Shop, authorization: string, method: 'GET' | 'PUT' | 'DELETE', oid: string, body?: object) {
  const reply = await shop.ask(authorization, method, `/v1/object/${oid}`, body)
  const { date: _date, 'content-length': _length, ...headers } = reply.headers
  return { status: reply.statusCode, headers, body: reply.body.replaceAll(oid, 'OID') }
}

async function missingBeside(shop: Shop, oid: string): Promise<string> {
  const admin = await shop.token({ roles: ['admin'] })
  const missing = oid.replace(/\d+$/, '9999')
  expect((await shop.ask(admin, 'GET', `/v1/object/${missing}`)).json().type).toBe('ObjectNotFound')
  return missing
}

async function titles(shop: Shop): Promise<unknown> {
  const admin = await shop.token({ roles: ['reader'] })
  const rows = (await shop.rows(admin, 'FROM Shop.Order ORDER BY title RETURN title, price')) as { title: string }[]
  return rows.map(({ title }) => title)
}

rule(['9.4.5', '9.4.1'], 'single objects are created, changed and deleted as the grants say', async () => {
  const shop = await openShop()
  const { ask, user, oids } = shop
  const bob = await user('bob', ['seller@shop'])
  const made = await ask(bob, 'POST', '/v1/object', newOrder('new'))
  expect(made.statusCode).toBe(201)
  const url = made.json().uri
  const read = await ask(bob, 'GET', url)
  // What was read, put again, changes nothing and is no error.
  const { __class__: _class, __identifier__: _oid, ...attributes } = read.json()
  expect((await ask(bob, 'PUT', url, { attributes })).statusCode).toBe(204)
  expect((await ask(bob, 'GET', url)).headers.etag).toBe(read.headers.etag)
  const refusals = [
    await ask(bob, 'PUT', url, { attributes: { price: '9' } }),
    await ask(bob, 'POST', '/v1/object', newOrder('priced', { price: '9' })),
    await ask(bob, 'PUT', `/v1/object/${oids.bob}`, { attributes: { name: 'eve' } }),
    await ask(bob, 'DELETE', `/v1/object/${oids.bob}`),
    await ask(bob, 'POST', '/v1/object', [newOrder('one'), newOrder('two', { price: '9' })]),
  ]
  expect(refusals.map((reply) => [reply.statusCode, reply.json().type])).toEqual(refusals.map(() => [403, 'Forbidden']))
  expect(refusals[0]?.json().message).toMatch(/Attribute price of class Shop\.Order/)
  const hidden = String(oids.souths)
  const missing = await missingBeside(shop, hidden)
  for (const [method, body] of [['GET'], ['PUT', { attributes: { title: 'mine' } }], ['DELETE']] as const) {
    const found = await shown(shop, bob, method, hidden, body)
    expect(found.status).toBe(404)
    expect(found).toEqual(await shown(shop, bob, method, missing, body))
  }
  expect(await titles(shop)).toEqual(['bobs', 'new', 'norths', 'souths'])
  expect((await ask(bob, 'DELETE', url)).statusCode).toBe(204)
  expect(await titles(shop)).toEqual(['bobs', 'norths', 'souths'])
  // Elsewhere the role is not given.
  expect((await ask(bob, 'POST', '/v1/object?fdAlias=other', newOrder('x'))).json().type).toBe(
    'FederatedDatabaseNotFound',
  )
})

rule('9.4.5', 'each step of a transaction sees what those before it did; one that is refused undoes all', async () => {
  const shop = await openShop()
  const { ask, user, oids } = shop
  const bob = await user('bob', ['seller'])
  const create = { method: 'POST', uri: '/v1/object', body: newOrder('new'), id: 'order' }
  const find = { method: 'POST', uri: '/v1/query', body: { query: 'FROM Shop.Order ORDER BY title RETURN title' } }
  const steps = [
    create,
    { method: 'PUT', uri: `/v1/object/\${order}`, body: { attributes: { title: 'newer' } } },
    {
      method: 'POST',
      uri: '/v1/query',
      body: { query: "UPDATE Shop.Order WHERE title = 'newer' SET title TO 'newest'" },
    },
    find,
  ]
  const done = await ask(bob, 'POST', '/v1/transaction', steps)
  expect(done.json()[3]).toEqual({
    responseCode: '200',
    result: [{ title: 'bobs' }, { title: 'newest' }, { title: 'norths' }],
  })
  const failing: readonly (readonly [object, string])[] = [
    [{ method: 'GET', uri: `/v1/object/${oids.souths}` }, 'ObjectNotFound'],
    [{ method: 'DELETE', uri: `/v1/object/${oids.bob}` }, 'Forbidden'],
    [{ method: 'GET', uri: '/v1/fd' }, 'Forbidden'],
    [{ method: 'DELETE', uri: '/v1/schema/Shop.Order' }, 'Forbidden'],
    [{ method: 'POST', uri: '/v1/query', body: { query: 'FROM Shop.Secret RETURN *' } }, 'QueryError'],
  ]
  for (const [step, type] of failing) {
    const reply = await ask(bob, 'POST', '/v1/transaction', [create, step])
    expect(reply.json()).toMatchObject({ type, operation: 2 })
  }
  expect(await titles(shop)).toEqual(['bobs', 'newest', 'norths', 'souths'])
  // A role for reading all beside it: steps that change still go by the grants.
  const ann = await user('ann', ['seller', 'reader'])
  const both = await ask(ann, 'POST', '/v1/transaction', [create, find])
  expect(both.json()[1].result).toHaveLength(5)
  const changed = await ask(ann, 'PUT', `/v1/object/${oids.souths}`, { attributes: { title: 'south' } })
  expect(changed.statusCode).toBe(204)
  expect((await ask(ann, 'PUT', `/v1/object/${oids.eve}`, { attributes: { name: 'e' } })).json().type).toBe('Forbidden')
})

rule('9.4.7', 'statements take query on the classes that they name, and their own action beside it', async () => {
  const shop = await openShop()
  const { ask, rows, user, oids, token } = shop
  const admin = await token({ roles: ['admin'] })
  const bob = await user('bob', ['seller'])
  expect(await rows(bob, "UPDATE Shop.Order SET title TO 'all'")).not.toHaveProperty('type')
  expect(await titles(shop)).toEqual(['all', 'all', 'souths'])
  for (const statement of [
    "UPDATE Shop.Order SET price TO '9'",
    "UPDATE Shop.Member WHERE name = 'nobody' SET name TO 'x'",
    'DELETE FROM Shop.Team',
    "CREATE Shop.Team {name: 'east'}",
    "UPSERT Shop.Team {name: 'east'} KEY (name)",
  ]) {
    const reply = await rows(bob, statement)
    expect([statement, reply]).toMatchObject([
      statement,
      { type: expect.stringMatching(/^(Forbidden|QuerySyntaxError)$/) },
    ])
  }
  // Reading alone is not naming.
  const grants = [{ on: { kind: 'all' }, actions: ['read', 'update'] }]
  expect((await ask(admin, 'POST', '/v1/security/role', { name: 'mute', grants })).statusCode).toBe(201)
  const mute = await user('eve', ['mute'])
  expect((await ask(mute, 'GET', `/v1/object/${oids.souths}`)).statusCode).toBe(200)
  for (const statement of ['FROM Shop.Order RETURN title', "UPDATE Shop.Order SET title TO 'x'"]) {
    expect([statement, await rows(mute, statement)]).toMatchObject([statement, { type: 'Forbidden', status: 403 }])
  }
  expect(await titles(shop)).toEqual(['all', 'all', 'souths'])
})

rule('9.4.8', 'classes and indexes are changed where a grant lets them be', async () => {
  const { ask, user, token } = await openShop()
  const admin = await token({ roles: ['admin'] })
  const on = { kind: 'class', className: 'Shop.Secret' }
  const index = (name: string, indexedClass: string) => ({
    name,
    indexedClass,
    isUnique: false,
    keyAttributes: [{ attributeName: indexedClass === 'Shop.Order' ? 'owner' : 'name' }],
  })
  const grants = [{ on, actions: ['read', 'query', 'define', 'index'] }]
  expect((await ask(admin, 'POST', '/v1/security/role', { name: 'smith', grants })).statusCode).toBe(201)
  const bob = await user('bob', ['smith@shop'])
  const more = (className: string) => [
    { className, isReferenceable: true, attributes: [{ attributeName: 'note', logicalType: 'string' }] },
  ]
  expect((await ask(bob, 'PUT', '/v1/schema', more('Shop.Secret'))).statusCode).toBe(201)
  expect((await ask(bob, 'POST', '/v1/index', index('byName', 'Shop.Secret'))).statusCode).toBe(201)
  for (const dryRun of ['', '?dryRun=true']) {
    expect((await ask(bob, 'PUT', `/v1/schema${dryRun}`, more('Shop.Elsewhere'))).json().type).toBe('Forbidden')
  }
  expect((await ask(bob, 'POST', '/v1/index', index('byOwner', 'Shop.Order'))).json().type).toBe('UnknownClass')
  expect((await ask(bob, 'PUT', '/v1/schema?fdAlias=other', more('Shop.Secret'))).json().type).toBe(
    'FederatedDatabaseNotFound',
  )
  const seller = await user('eve', ['seller'])
  expect((await ask(seller, 'POST', '/v1/index', index('byOwner', 'Shop.Order'))).json().type).toBe('Forbidden')
})

rule(['9.1.2', '9.6.1'], 'Idempotency-Keys and lines of the audit log are as those of anybody', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'ashlar-audit-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  const name = join(directory, 'audit.ndjson')
  const file = new AuditFile({ file: name, fileBytesMax: 10_000_000, filesMax: 3 }, pino({ level: 'silent' }))
  await file.start()
  onTestFinished(() => file.close())
  const shop = await openShop({ audit: new AuditLog(file, 'refuse') })
  const { app, user, oids } = shop
  const [bob, ann] = [await user('bob', ['seller']), await user('ann', ['seller'])]
  const post = (authorization: string, url: string, payload: object) => {
    return app.inject({ method: 'POST', url, headers: { authorization, 'idempotency-key': 'k' }, payload })
  }
  const first = await post(bob, '/v1/object', newOrder('new'))
  expect(first.statusCode).toBe(201)
  expect((await post(bob, '/v1/object', newOrder('new'))).json()).toEqual(first.json())
  expect((await post(ann, '/v1/object', newOrder('new'))).json()).not.toEqual(first.json())
  expect(await titles(shop)).toEqual(['bobs', 'new', 'new', 'norths', 'souths'])
  expect((await post(bob, '/v1/object', newOrder('other'))).json().type).toBe('IdempotencyKeyReused')
  const query = { query: "UPDATE Shop.Order WHERE title = 'bobs' SET title TO 'bob'" }
  expect((await post(bob, '/v1/query', query)).json().type).toBe('IdempotencyKeyReused')
  await shop.ask(bob, 'POST', '/v1/query', query)
  await shop.ask(bob, 'DELETE', `/v1/object/${oids.bob}`)
  await file.flush()
  const lines = readFileSync(name, 'utf8')
    .split('\n')
    .filter((line) => line.includes('"caller":"bob"'))
    .map((line) => JSON.parse(line))
  expect(lines[0]).toMatchObject({
    operation: 'POST /v1/object',
    fd: 'shop',
    classes: ['Shop.Order'],
    oids: [first.json().__identifier__],
    outcome: 'done',
  })
  expect(lines.slice(-2)).toMatchObject([
    { operation: 'POST /v1/query', classes: ['Shop.Order'], oids: [oids.bobs], outcome: 'done' },
    { operation: 'DELETE /v1/object/:oid', outcome: 'refused', status: 403, type: 'Forbidden' },
  ])
})

rule(['9.3.1', '9.6.1', '2.2.16'], 'what a text explains and the request analyzes is a change', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'ashlar-audit-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  const name = join(directory, 'audit.ndjson')
  const file = new AuditFile({ file: name, fileBytesMax: 10_000_000, filesMax: 3 }, pino({ level: 'silent' }))
  await file.start()
  onTestFinished(() => file.close())
  const shop = await openShop({ audit: new AuditLog(file, 'refuse') })
  const before = await titles(shop)
  const analyzed = (authorization: string, query: string) =>
    shop.ask(authorization, 'POST', '/v1/query?explain=analyze', { query })
  const change = "EXPLAIN DELETE Shop.Order WHERE title = 'norths'"
  const reader = await shop.user('rita', ['reader'])
  const refused = await analyzed(reader, change)
  expect([refused.statusCode, refused.json().type]).toEqual([403, 'Forbidden'])
  expect((await analyzed(reader, 'EXPLAIN FROM Shop.Order RETURN title')).statusCode).toBe(200)
  expect((await shop.ask(reader, 'POST', '/v1/query', { query: change })).statusCode).toBe(200)
  for (const [user, role] of [
    ['wim', 'writer'],
    ['sam', 'seller'],
  ] as const) {
    const reply = await analyzed(await shop.user(user, [role]), change)
    expect({ user, status: reply.statusCode, body: reply.body }).toMatchObject({ user, status: 200 })
  }
  expect(await titles(shop)).toEqual(before)
  await file.flush()
  const lines = readFileSync(name, 'utf8')
    .split('\n')
    .filter((line) => line.includes('POST /v1/query'))
    .map((line) => JSON.parse(line))
  expect(lines.map(({ caller, outcome, status }) => [caller, outcome, status])).toEqual([
    ['rita', 'refused', 403],
    ['wim', 'done', 200],
    ['sam', 'done', 200],
  ])
})
