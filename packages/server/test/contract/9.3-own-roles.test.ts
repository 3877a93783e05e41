/** Contract 9.3 and 9.4: roles of one's own with grants for classes, attributes and objects, over HTTP. */
import { expect } from 'vitest'
import { defineGadget, openServer } from '../unit/open-server.ts'
import { openShop, type Shop, seller } from './own-roles-world.ts'
import { rule } from './rule.ts'

const orders = 'FROM Shop.Order ORDER BY title RETURN title'

rule(
  ['9.3.3', '9.4.1', '9.4.2'],
  'a role with grants lets its holders see what the grants show, and no more',
  async () => {
    const { ask, rows, user, oids } = await openShop()
    const bob = await user('bob', ['seller@shop'])
    expect(await rows(bob, orders)).toEqual([{ title: 'bobs' }, { title: 'norths' }])
    expect(await rows(bob, 'FROM Shop.Order RETURN COUNT(*) AS n')).toEqual([{ n: 2 }])
    expect((await ask(bob, 'GET', `/v1/object/${oids.bob}`)).json()).toEqual({
      __class__: 'Shop.Member',
      __identifier__: oids.bob,
      name: 'bob',
      team: oids.north,
    })
    expect((await ask(bob, 'GET', `/v1/object/${oids.south}`)).json()).toMatchObject({ orders: [] })
    const schema = (await ask(bob, 'GET', '/v1/schema')).json() as { className: string }[]
    expect(schema.map(({ className }) => className).sort()).toEqual(['Shop.Member', 'Shop.Order', 'Shop.Team'])
    expect((await ask(bob, 'GET', '/v1/schema/Shop.Secret')).json().type).toBe('ClassNotFound')
    expect(await rows(bob, 'FROM Shop.Secret RETURN *')).toMatchObject({ status: 422, type: 'QueryError' })
    // Elsewhere the role is not given.
    expect(await rows(bob, orders, 'other')).toMatchObject({ status: 404, type: 'FederatedDatabaseNotFound' })
  },
)

rule('9.4.1', 'a hidden object is answered as a missing one, byte by byte', async () => {
  const { ask, user, token, oids } = await openShop()
  const bob = await user('bob', ['seller'])
  const hidden = String(oids.souths)
  const missing = hidden.replace(/\d+$/, '9999')
  const shown = async (method: 'GET' | 'PUT' | 'DELETE', oid: string, body?: object) => {
    const reply = await ask(bob, method, `/v1/object/${oid}`, body)
    const { date: _date, ...headers } = reply.headers
    return { status: reply.statusCode, headers, body: reply.body.replaceAll(oid, 'OID') }
  }
  expect((await shown('GET', hidden)).status).toBe(404)
  const one = await shown('GET', hidden)
  const other = await shown('GET', missing)
  // The lengths differ by what the OID in the message takes.
  const { 'content-length': _one, ...headers } = one.headers
  const { 'content-length': _other, ...others } = other.headers
  expect({ ...one, headers }).toEqual({ ...other, headers: others })
  const admin = await token({ roles: ['admin'] })
  expect((await ask(admin, 'GET', `/v1/object/${hidden}`)).statusCode).toBe(200)
})

rule('9.3.4', 'what is not by class takes a role for the whole federated database', async () => {
  const { ask, user } = await openShop()
  const bob = await user('bob', ['seller'])
  const paths = ['/v1/fd', '/v1/tool', '/v1/security/audit', '/v1/security/role']
  for (const path of paths) expect([path, (await ask(bob, 'GET', path)).json().type]).toEqual([path, 'Forbidden'])
  expect((await ask(bob, 'POST', '/v1/tool', { tool: 'Statistics' })).statusCode).toBe(403)
  expect((await ask(bob, 'DELETE', '/v1/schema/Shop.Order')).json().type).toBe('Forbidden')
  const reader = await user('ann', ['seller', 'reader'])
  expect((await ask(reader, 'GET', '/v1/fd')).statusCode).toBe(200)
})

rule('9.3.3', 'roles for the whole and for parts add up', async () => {
  const { rows, user, token } = await openShop()
  const both = await user('ann', ['seller', 'reader@shop'])
  expect(await rows(both, orders)).toHaveLength(3)
  expect(await rows(both, orders, 'other')).toEqual([])
  expect(await rows(both, 'FROM Shop.Secret RETURN name')).toEqual([{ name: 'hidden' }])
  const alone = await token({ roles: ['seller'], name: 'bob' })
  // Its name is not that of a user: no rule takes it for one.
  expect(await rows(alone, orders)).toEqual([])
})

rule('9.3.5', 'a token of a user sees what both see', async () => {
  const { ask, rows, user } = await openShop()
  const bob = await user('bob', ['seller', 'designer@other'])
  const ann = await user('ann', ['admin'])
  const tokenOf = async (authorization: string, body: object): Promise<string> => {
    const reply = await ask(authorization, 'POST', '/v1/security/token', { name: 'a token', ...body })
    expect(reply.statusCode).toBe(201)
    return `Bearer ${reply.json().token}`
  }
  const whole = await tokenOf(ann, { owner: 'bob', roles: ['admin'] })
  expect(await rows(whole, orders)).toEqual([{ title: 'bobs' }, { title: 'norths' }])
  expect(await rows(whole, 'FROM Shop.Member RETURN salary')).toMatchObject({ status: 422 })
  const same = await tokenOf(bob, {})
  expect(await rows(same, orders)).toEqual([{ title: 'bobs' }, { title: 'norths' }])
  const elsewhere = await tokenOf(bob, { roles: ['seller@other'] })
  expect(await rows(elsewhere, orders)).toMatchObject({ type: 'FederatedDatabaseNotFound' })
  // The rule is about what the roles of the owner are too.
  const manager = {
    name: 'manager',
    grants: [
      {
        on: { kind: 'class', className: 'Shop.Order' },
        actions: ['read', 'query'],
        rules: { read: "'reader' IN $$USER.roles" },
      },
    ],
  }
  const admin = await user('root', ['admin'])
  expect((await ask(admin, 'POST', '/v1/security/role', manager)).statusCode).toBe(201)
  const eve = await user('eve', ['manager'])
  expect(await rows(eve, orders)).toEqual([])
  const both = await tokenOf(ann, { owner: 'eve', roles: ['manager', 'reader'] })
  expect(await rows(both, orders)).toEqual([])
})

async function refusedWith(shop: Shop, body: unknown) {
  const admin = await shop.token({ roles: ['admin'] })
  const reply = await shop.ask(admin, 'POST', '/v1/security/role', body)
  const { status, type, message, errors } = reply.json()
  return { status, type, message, pointers: errors?.map(({ pointer }: { pointer: string }) => pointer) }
}

rule('9.3.6', 'what is wrong with a role is told by role, grant and field', async () => {
  const shop = await openShop()
  const grant = { on: { kind: 'all' }, actions: ['read'] }
  const told = (grants: unknown) => refusedWith(shop, { name: 'team', grants })
  expect(await told([grant, { ...grant, rules: { read: 'owner = ' } }])).toMatchObject({
    status: 400,
    type: 'QuerySyntaxError',
    message: expect.stringMatching(/^Role team: Grant 2: rules\.read: /),
    pointers: ['/grants/1/rules/read'],
  })
  expect(await told([{ ...grant, actions: ['drop'] }])).toMatchObject({
    status: 400,
    message: expect.stringMatching(/^Role team: Grant 1: action 1 \('\w+'\) must be one of read, /),
    pointers: ['/grants/0/actions/0'],
  })
  expect(await told([{ ...grant, hide: [] }])).toMatchObject({
    message:
      "Role team: Grant 1 cannot have a field 'hide': its fields are on, actions, shown, hidden, readOnly and rules.",
  })
  expect(await refusedWith(shop, { name: 'team' })).toMatchObject({ status: 422, type: 'InvalidRole' })
  expect(await refusedWith(shop, { name: 'team', actions: ['fly'] })).toMatchObject({
    status: 422,
    type: 'InvalidRole',
  })
  expect(await refusedWith(shop, { name: 'team', rights: [] })).toMatchObject({ status: 400, type: 'UnknownField' })
  expect(await refusedWith(shop, seller)).toMatchObject({ status: 409, type: 'RoleExists' })
  // A user who makes a token is not told which roles others have.
  const bob = await shop.user('bob', ['reader'])
  const refused = await shop.ask(bob, 'POST', '/v1/security/token', { name: 'x', roles: ['sellr'] })
  expect(refused.json()).toMatchObject({ type: 'InvalidGrant', message: expect.not.stringMatching(/seller/) })
})

rule(
  ['9.3.6', '9.4.3'],
  'a role that does not agree with the classes is made, and what it is wrong about is told',
  async () => {
    const { ask, rows, token, user } = await openShop()
    const admin = await token({ roles: ['admin'] })
    const role = {
      name: 'clerk',
      grants: [
        { on: { kind: 'class', className: 'Shop.Oder' }, actions: ['read', 'query'] },
        {
          on: { kind: 'class', className: 'Shop.Order' },
          actions: ['read', 'query'],
          hidden: ['prise'],
          rules: { read: 'ownr = 1' },
        },
      ],
    }
    const made = await ask(admin, 'POST', '/v1/security/role', role)
    expect(made.statusCode).toBe(201)
    expect(made.json()).toMatchObject({ ...role, actions: [], isBuiltIn: false })
    const fields = (problems: readonly { fdAlias: string; grant: number; field: string }[]) =>
      problems.map(({ fdAlias, grant, field }) => `${fdAlias} ${grant} ${field}`)
    expect(fields(made.json().problems)).toEqual(
      ['shop', 'other'].flatMap((alias) => [`${alias} 1 on`, `${alias} 2 hidden`, `${alias} 2 rules.read`]),
    )
    const bob = await user('bob', ['clerk'])
    expect(await rows(bob, orders)).toEqual([])
    const grants = [{ on: { kind: 'class', className: 'Shop.Order' }, actions: ['read', 'query'], hidden: ['price'] }]
    const changed = await ask(admin, 'PUT', '/v1/security/role/clerk', { grants })
    expect(changed.json()).toMatchObject({ name: 'clerk', grants, problems: [] })
    expect(await rows(bob, orders)).toHaveLength(3)
    expect((await ask(admin, 'GET', '/v1/security/role/clerk')).json()).toEqual({
      name: 'clerk',
      actions: [],
      grants,
      isBuiltIn: false,
      problems: [],
    })
    const renamed = 'UPDATE SCHEMA { ALTER CLASS Shop.Order { RENAME price TO cost } }'
    expect((await ask(admin, 'POST', '/v1/query', { query: renamed })).statusCode).toBe(200)
    const { problems } = (await ask(admin, 'GET', '/v1/security/role/clerk')).json()
    expect(fields(problems)).toEqual(['shop 1 hidden'])
    expect((await ask(admin, 'GET', '/v1/security/role/reader')).json()).toMatchObject({ isBuiltIn: true, grants: [] })
    expect((await ask(admin, 'PUT', '/v1/security/role/reader', { actions: [] })).json().type).toBe('InvalidRole')
    expect((await ask(admin, 'GET', '/v1/security/role/nothing')).json().type).toBe('RoleNotFound')
    const nowhere = { name: 'x', grants: [{ on: { kind: 'namespace', namespace: 'Nowhere' }, actions: ['read'] }] }
    expect((await ask(admin, 'POST', '/v1/security/role', nowhere)).json().problems).toMatchObject([
      { fdAlias: null, grant: 1, field: 'on' },
    ])
  },
)

rule(
  '9.3.6',
  'a role that was read can be sent back, and nothing else of it than actions and grants can be changed',
  async () => {
    const { ask, token } = await openShop()
    const admin = await token({ roles: ['admin'] })
    const read = (await ask(admin, 'GET', '/v1/security/role/seller')).json()
    const put = (body: object) => ask(admin, 'PUT', '/v1/security/role/seller', body)
    expect((await put(read)).json()).toEqual(read)
    expect((await ask(admin, 'GET', '/v1/security/role/seller')).json()).toEqual(read)
    for (const body of [{ name: 'clerk' }, { isBuiltIn: true }]) {
      expect((await put({ ...read, ...body })).json()).toMatchObject({ status: 422, type: 'InvalidRole' })
    }
    expect((await put({ rights: [] })).json()).toMatchObject({ status: 400, type: 'UnknownField' })
  },
)

rule(
  '9.3.6',
  'administrators are told which roles there are, who has one, and which federated databases are not served',
  async () => {
    const { ask, token, user } = await openShop()
    const admin = await token({ roles: ['admin'] })
    const told = async (method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, body?: object) =>
      (await ask(admin, method, `/v1/security/${path}`, body)).json()
    expect((await told('GET', 'role/sellr')).message).toBe("There is no role 'sellr'; roles of your own are seller.")
    await user('bob', ['seller'])
    await user('eve', ['seller@shop'])
    await token({ roles: ['seller'], name: 'import' })
    const inUse = "The role seller cannot be removed while it is granted to user 'bob', user 'eve', token 'import'."
    expect(await told('DELETE', 'role/seller')).toMatchObject({ status: 409, type: 'RoleInUse', message: inUse })
    expect((await told('PUT', 'user/bob', { roles: ['sellr'] })).message).toMatch(
      /^There is no role 'sellr'.* seller\.$/,
    )
    const unserved = "reader@shop,shpo: no federated database 'shpo' is served, so it grants nothing there."
    const roles = ['reader@shop,shpo', 'seller@shop']
    expect((await told('POST', 'user', { name: 'ann', roles })).problems).toEqual([unserved])
    expect((await told('PUT', 'user/ann', { isDisabled: true })).problems).toEqual([unserved])
    expect((await told('POST', 'token', { name: 'x', roles })).problems).toEqual([unserved])
    expect((await told('POST', 'token', { name: 'x', roles: ['reader'] })).problems).toEqual([])
  },
)

rule(['9.3.4', '9.1.1'], 'what is refused says what was wanted, and what would be taken', async () => {
  const { ask, user } = await openShop()
  const bob = await user('bob', ['seller'])
  expect((await ask(bob, 'GET', '/v1/fd')).json().message).toMatch(
    /^This is about the federated database shop as a whole/,
  )
  expect((await ask('Bearer something', 'GET', '/v1/fd')).json().message).toMatch(/^The bearer token is not accepted/)
  expect((await ask('Digest x', 'GET', '/v1/fd')).json().message).toMatch(/use Bearer with a token, or Basic/)
})

rule('9.4.4', '$$USER is whoever asks, with whole rights or not, and nobody can say it is another', async () => {
  const { ask, rows, user, token } = await openShop()
  const asked = 'FROM Shop.Team TAKE 1 RETURN $$USER.name AS name, $$USER.roles AS roles'
  const admin = await token({ roles: ['admin'] })
  await ask(admin, 'POST', '/v1/object?fdAlias=other', { class: 'Shop.Team', attributes: { name: 'west' } })
  const bob = await user('bob', ['seller'])
  const ann = await user('ann', ['reader', 'writer@other'])
  for (let time = 0; time < 3; time++) {
    expect(await rows(bob, asked)).toEqual([{ name: 'bob', roles: ['seller'] }])
    expect(await rows(ann, asked)).toEqual([{ name: 'ann', roles: ['reader'] }])
    expect(await rows(ann, asked, 'other')).toEqual([{ name: 'ann', roles: ['reader', 'writer'] }])
  }
  expect(await rows(await token({ roles: ['reader'], name: 'import' }), asked)).toMatchObject([
    { name: 'token:import' },
  ])
  const owned = 'FROM Shop.Order WHERE owner = $$USER.name RETURN owner'
  expect(await rows(ann, owned)).toEqual([{ owner: 'ann' }])
  expect(await rows(bob, owned)).toEqual([{ owner: 'bob' }])
  const steps = [{ method: 'POST', uri: '/v1/query', body: { query: owned } }]
  expect((await ask(ann, 'POST', '/v1/transaction', steps)).json()).toMatchObject([{ result: [{ owner: 'ann' }] }])
  for (const parameters of [{ $USER: 'eve' }, { USER: { name: 'eve' } }, { $$USER: { name: 'eve' } }]) {
    const reply = await ask(bob, 'POST', '/v1/query', { query: owned, parameters })
    expect(reply.body).not.toContain('eve')
  }
  expect((await ask(bob, 'POST', '/v1/query?user=eve', { query: owned })).json().type).toBe('UnknownParameter')
  // Without authentication nobody is known.
  const open = await openServer()
  await defineGadget(open.app)
  await open.app.inject({ method: 'POST', url: '/v1/object', payload: { class: 'Shop.Gadget', attributes: {} } })
  const nobodys = { query: 'FROM Shop.Gadget RETURN $$USER AS user, $$USER.name AS name' }
  const reply = await open.app.inject({ method: 'POST', url: '/v1/query', payload: nobodys })
  expect(reply.json()).toEqual([{ user: null, name: null }])
})

const muchText = 'x'.repeat(100_000)

/** More than sockets hold of rows that a client does not take: a statement that returns it is under way for as long. */
async function addMuch(ask: Shop['ask'], admin: string, className: string, attributes: object): Promise<void> {
  for (let time = 0; time < 4; time++) {
    const objects = Array.from({ length: 50 }, () => ({ class: className, attributes }))
    expect((await ask(admin, 'POST', '/v1/object', objects)).statusCode).toBe(201)
  }
}

rule(
  '9.1.7',
  'a grant that is taken ends what was begun by it within a second; one that is added does not',
  async () => {
    const { app, ask, token, user } = await openShop()
    const admin = await token({ roles: ['admin'] })
    const bob = await user('bob', ['seller'])
    const url = await app.listen({ port: 0, host: '127.0.0.1' })
    await addMuch(ask, admin, 'Shop.Order', { title: muchText, owner: 'bob' })
    const query = 'FROM Shop.Order RETURN title'
    const begun = await fetch(`${url}/v1/query`, {
      method: 'POST',
      headers: { authorization: bob, 'accept-encoding': 'identity', 'content-type': 'application/json' },
      body: JSON.stringify({ query }),
    })
    const under = async () => (await ask(bob, 'GET', '/v1/statement')).json() as { readonly kind: string }[]
    expect(begun.status).toBe(200)
    expect(await under()).toMatchObject([{ kind: 'query', fdAlias: 'shop' }])
    const more = [...seller.grants, { on: { kind: 'class', className: 'Shop.Secret' }, actions: ['read'] }]
    expect((await ask(admin, 'PUT', '/v1/security/role/seller', { grants: more })).statusCode).toBe(200)
    await new Promise((resolve) => setTimeout(resolve, 1_000))
    expect(await under()).toHaveLength(1)
    const fewer = more.map((grant) => ('rules' in grant ? { ...grant, rules: { read: 'owner = $$USER.name' } } : grant))
    expect((await ask(admin, 'PUT', '/v1/security/role/seller', { grants: fewer })).statusCode).toBe(200)
    await expect.poll(under).toEqual([])
    await expect(begun.text()).rejects.toThrow()
  },
)

rule('9.3.4', 'whoever may not operate the server sees and stops its own statements alone', async () => {
  const { app, ask, token, user, rows } = await openShop()
  const admin = await token({ roles: ['admin'] })
  const [bob, eve] = [await user('bob', ['seller']), await user('eve', ['reader'])]
  expect(await rows(bob, orders)).toHaveLength(2)
  await addMuch(ask, admin, 'Shop.Secret', { name: muchText })
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  const begun = await fetch(`${url}/v1/query`, {
    method: 'POST',
    headers: { authorization: eve, 'accept-encoding': 'identity', 'content-type': 'application/json' },
    body: JSON.stringify({ query: 'FROM Shop.Secret RETURN name' }),
  })
  expect(begun.status).toBe(200)
  const id = begun.headers.get('statement-id')
  expect((await ask(bob, 'GET', '/v1/statement')).json()).toEqual([])
  expect((await ask(bob, 'DELETE', `/v1/statement/${id}`)).json().type).toBe('StatementNotFound')
  expect((await ask(admin, 'GET', '/v1/statement')).json()).toMatchObject([{ id }])
  expect((await ask(eve, 'GET', '/v1/statement')).json()).toMatchObject([{ id }])
  // A token of hers with less than she has is not told of what she does beside it; another one is.
  const tokenOf = async (body: object) => {
    return `Bearer ${(await ask(eve, 'POST', '/v1/security/token', { name: 'hers', ...body })).json().token}`
  }
  expect((await ask(await tokenOf({ roles: ['seller'] }), 'GET', '/v1/statement')).json()).toEqual([])
  expect((await ask(await tokenOf({}), 'GET', '/v1/statement')).json()).toMatchObject([{ id }])
  expect((await ask(eve, 'DELETE', `/v1/statement/${id}`)).statusCode).toBe(204)
  await expect(begun.text()).rejects.toThrow()
})

rule('9.4.6', 'an index on what a rule asks for is used, and EXPLAIN shows the rule', async () => {
  const { ask, token, user } = await openShop()
  const admin = await token({ roles: ['admin'] })
  const index = {
    name: 'byOwner',
    indexedClass: 'Shop.Order',
    isUnique: false,
    keyAttributes: [{ attributeName: 'owner' }],
  }
  expect((await ask(admin, 'POST', '/v1/index', index)).statusCode).toBe(201)
  const own = {
    name: 'own',
    grants: [
      {
        on: { kind: 'class', className: 'Shop.Order' },
        actions: ['read', 'query'],
        rules: { read: 'owner = $$USER.name' },
      },
    ],
  }
  expect((await ask(admin, 'POST', '/v1/security/role', own)).statusCode).toBe(201)
  const bob = await user('bob', ['own'])
  const query = { query: 'FROM Shop.Order RETURN title' }
  const plan = await ask(bob, 'POST', '/v1/query?explain=true&format=text', query)
  expect(plan.body).toContain('byOwner')
  expect(plan.body).toContain('owner = $$USER.name')
  expect((await ask(bob, 'POST', '/v1/query', query)).json()).toEqual([{ title: 'bobs' }])
})

rule(
  ['9.3.3', '9.4.2', '9.3.6'],
  'a grant with a list of what is shown shows nothing else, also what is renamed',
  async () => {
    const { ask, rows, user, token } = await openShop()
    const admin = await token({ roles: ['admin'] })
    const grants = [
      { on: { kind: 'class', className: 'Shop.Member' }, actions: ['read', 'query'], shown: ['name', 'nmae'] },
    ]
    const made = await ask(admin, 'POST', '/v1/security/role', { name: 'lister', grants })
    expect(made.statusCode, made.body).toBe(201)
    expect(made.json().grants).toEqual(grants)
    expect(made.json().problems).toMatchObject([
      { fdAlias: 'shop', grant: 1, field: 'shown' },
      { fdAlias: 'other', grant: 1, field: 'shown' },
    ])
    const bob = await user('bob', ['lister'])
    const all = 'FROM Shop.Member ORDER BY name RETURN *'
    const before = await rows(bob, all)
    expect(before).toMatchObject([{ name: 'bob' }, { name: 'eve' }])
    expect(JSON.stringify(before)).not.toMatch(/salary|team/)
    const rename = { attributesToRename: [{ originalName: 'salary', newName: 'pay' }] }
    const altered = await ask(admin, 'PUT', '/v1/schema/Shop.Member', rename)
    expect(altered.statusCode, altered.body).toBe(201)
    expect(await rows(bob, all)).toEqual(before)
  },
)
