/** Contract 9.4: what callers change beside what is hidden from them, over HTTP: it stays, and nothing tells of it. */
import { expect } from 'vitest'
import { openShop, type Shop } from './own-roles-world.ts'
import { rule } from './rule.ts'

interface Ruled {
  readonly className: string
  readonly actions: readonly string[]
  readonly hidden?: readonly string[]
  readonly rules?: Readonly<Record<string, string>>
}

/** The Authorization header of the user bob with these grants; of an administrator. */
async function openFor(...grants: readonly Ruled[]): Promise<Shop & { readonly bob: string; readonly admin: string }> {
  const shop = await openShop()
  const admin = await shop.token({ roles: ['admin'] })
  const given = grants.map(({ className, actions, ...more }) => ({
    on: { kind: 'class', className },
    actions: ['read', 'query', ...actions],
    ...more,
  }))
  const made = await shop.ask(admin, 'POST', '/v1/security/role', { name: 'clerk', grants: given })
  expect(made.json()).toMatchObject({ problems: [] })
  return { ...shop, admin, bob: await shop.user('bob', ['clerk@shop']) }
}

const everything = ['create', 'update', 'delete']

rule('9.4.9', 'rules decide on what is created, changed and deleted, before and after', async () => {
  const own = 'owner = $$USER.name'
  const { ask, bob, admin, oids } = await openFor({
    className: 'Shop.Order',
    actions: everything,
    hidden: ['team'],
    rules: { read: "title != 'souths'", create: own, update: own, delete: own },
  })
  const put = (name: string, attributes: object) => ask(bob, 'PUT', `/v1/object/${oids[name]}`, { attributes })
  const create = (owner: string) => {
    return ask(bob, 'POST', '/v1/object', { class: 'Shop.Order', attributes: { title: 'x', owner } })
  }
  const refusals = [
    ['update', await put('norths', { title: 'mine' })],
    ['update', await put('bobs', { owner: 'ann' })],
    ['create', await create('ann')],
    ['delete', await ask(bob, 'DELETE', `/v1/object/${oids.norths}`)],
  ] as const
  for (const [action, reply] of refusals) {
    const { status, type, message } = reply.json()
    expect({ action, status, type }).toEqual({ action, status: 403, type: 'Forbidden' })
    expect(message).toContain('Shop.Order')
    expect(message).toContain(action)
    expect(message).not.toContain('owner =')
  }
  expect((await put('souths', { title: 'mine' })).json().type).toBe('ObjectNotFound')
  expect((await put('bobs', { title: 'still mine' })).statusCode).toBe(204)
  expect((await create('bob')).statusCode).toBe(201)
  expect((await ask(bob, 'DELETE', `/v1/object/${oids.bobs}`)).statusCode).toBe(204)
  const kept = await ask(admin, 'GET', `/v1/object/${oids.norths}`)
  expect(kept.json()).toMatchObject({ title: 'norths', team: oids.north })
})

rule(['9.4.10', '9.4.11'], 'what is hidden stays where it is, and cannot be named', async () => {
  const { ask, bob, admin, oids } = await openFor(
    { className: 'Shop.Order', actions: ['update'] },
    {
      className: 'Shop.Team',
      actions: ['update'],
      rules: { read: "name != 'north'", update: "name = 'south'" },
    },
    { className: 'Shop.Member', actions: ['update'], rules: { read: 'name = $$USER.name' } },
  )
  const read = async (authorization: string, name: string) => {
    return (await ask(authorization, 'GET', `/v1/object/${oids[name]}`)).json()
  }
  const put = (name: string, attributes: object) => ask(bob, 'PUT', `/v1/object/${oids[name]}`, { attributes })
  // A reference to a hidden object.
  expect(await read(bob, 'norths')).toMatchObject({ team: '0-0-0-0' })
  expect((await put('norths', { title: 'n', team: null })).statusCode).toBe(204)
  expect(await read(admin, 'norths')).toMatchObject({ title: 'n', team: oids.north })
  expect((await put('norths', { team: oids.south })).json().type).toBe('Forbidden')
  // A list of which some elements are hidden.
  await ask(admin, 'PUT', `/v1/object/${oids.bob}`, { attributes: { team: oids.south } })
  expect(await read(bob, 'south')).toMatchObject({ members: [oids.bob] })
  expect((await put('south', { members: [] })).statusCode).toBe(204)
  expect(await read(admin, 'south')).toMatchObject({ members: [oids.eve] })
  // A hidden object and a missing one as targets.
  const missing = String(oids.north).replace(/\d+$/, '9999')
  const refused = async (target: string | undefined) => {
    const reply = await put('bobs', { team: target })
    return [reply.statusCode, reply.body.replaceAll(String(target), 'OID')]
  }
  expect(await refused(oids.north)).toEqual(await refused(missing))
  expect((await put('bobs', { team: missing })).json().type).toBe('InvalidReference')
  // The side that is not addressed follows; a third object that would lose its partner takes a right of its own.
  expect((await put('bobs', { team: oids.south })).statusCode).toBe(204)
  expect(await read(admin, 'south')).toMatchObject({ orders: [oids.souths, oids.bobs] })
  expect((await put('south', { orders: [oids.norths] })).json().type).toBe('Forbidden')
  expect(await read(admin, 'north')).toMatchObject({ orders: [oids.norths] })
})

rule('9.4.12', 'a unique violation with a hidden object tells nothing of it', async () => {
  const { ask, bob, admin, oids } = await openFor({
    className: 'Shop.Order',
    actions: everything,
    hidden: ['team'],
    rules: { read: "title != 'souths'" },
  })
  const index = {
    name: 'byTitle',
    indexedClass: 'Shop.Order',
    isUnique: true,
    keyAttributes: [{ attributeName: 'title' }],
  }
  expect((await ask(admin, 'POST', '/v1/index', index)).statusCode).toBe(201)
  const create = (title: string) => ask(bob, 'POST', '/v1/object', { class: 'Shop.Order', attributes: { title } })
  const hidden = (await create('souths')).json()
  expect(hidden).toMatchObject({ status: 409, type: 'UniqueViolation' })
  expect(JSON.stringify(hidden)).not.toContain(oids.souths)
  expect((await create('norths')).json().message).toContain(oids.norths)
})

rule('10.3.4', 'a violation of a hidden attribute says only that it is there', async () => {
  const { ask, token, user } = await openShop()
  const admin = await token({ roles: ['admin'] })
  const attributes = [
    { attributeName: 'seal', logicalType: 'string', isRequired: true },
    { attributeName: 'note', logicalType: 'string', maxLength: 3 },
  ]
  const sealed = { className: 'Shop.Sealed', isReferenceable: true, attributes }
  await ask(admin, 'PUT', '/v1/schema', [
    sealed,
    { ...sealed, className: 'Shop.Dated', attributes: [{ ...attributes[0], default: 'wax' }, attributes[1]] },
  ])
  const grants = ['Shop.Sealed', 'Shop.Dated'].map((className) => {
    return { on: { kind: 'class', className }, actions: ['read', 'create'], hidden: ['seal'] }
  })
  await ask(admin, 'POST', '/v1/security/role', { name: 'clerk', grants })
  const bob = await user('bob', ['clerk@shop'])
  const create = (name: string, note: string) => ask(bob, 'POST', '/v1/object', { class: name, attributes: { note } })
  expect((await create('Shop.Dated', 'abcd')).json().errors).toMatchObject([{ attributeName: 'note' }])
  const created = await create('Shop.Dated', 'abc')
  expect((await ask(admin, 'GET', created.json().uri)).json()).toMatchObject({ seal: 'wax', note: 'abc' })
  const refused = (await create('Shop.Sealed', 'abc')).json()
  expect(refused).toMatchObject({ status: 422, type: 'ConstraintViolation' })
  expect(JSON.stringify(refused)).not.toMatch(/\bseal\b/)
})

rule('10.6.15', 'attributes whose expressions name a hidden one are hidden, too', async () => {
  const { ask, token, user } = await openShop()
  const admin = await token({ roles: ['admin'] })
  const expression = { expression: 'secret + 0' }
  const attributes = [
    { attributeName: 'secret', logicalType: 'integer' },
    { attributeName: 'copied', logicalType: 'integer', default: expression },
    { attributeName: 'noted', logicalType: 'integer', onUpdate: expression },
    { attributeName: 'n', logicalType: 'integer' },
  ]
  await ask(admin, 'PUT', '/v1/schema', [{ className: 'Shop.Kept', isReferenceable: true, attributes }])
  const grants = [
    { on: { kind: 'class', className: 'Shop.Kept' }, actions: ['read', 'query', 'update'], hidden: ['secret'] },
  ]
  await ask(admin, 'POST', '/v1/security/role', { name: 'clerk', grants })
  const bob = await user('bob', ['clerk@shop'])
  const made = await ask(admin, 'POST', '/v1/object', { class: 'Shop.Kept', attributes: { secret: 6 } })
  const { uri } = made.json() as { uri: string }
  expect((await ask(bob, 'PUT', uri, { attributes: { n: 1 } })).statusCode).toBe(204)
  expect((await ask(admin, 'GET', uri)).json()).toMatchObject({ secret: 6, copied: 6, noted: 6, n: 1 })
  expect(Object.keys((await ask(bob, 'GET', uri)).json())).toEqual(['__class__', '__identifier__', 'n'])
})

rule('9.4.13', 'conditions are about what the caller reads', async () => {
  const { app, ask, bob, admin, oids } = await openFor({
    className: 'Shop.Member',
    actions: ['update'],
    hidden: ['salary', 'team'],
  })
  const url = `/v1/object/${oids.bob}`
  const tag = async (authorization: string) => String((await ask(authorization, 'GET', url)).headers.etag)
  const [ofBob, ofAdmin] = [await tag(bob), await tag(admin)]
  expect(ofBob).not.toBe(ofAdmin)
  expect((await ask(admin, 'PUT', url, { attributes: { salary: '99' } })).statusCode).toBe(204)
  expect(await tag(bob)).toBe(ofBob)
  const put = (etag: string, name: string) => {
    const headers = { authorization: bob, 'if-match': etag }
    return app.inject({ method: 'PUT', url, headers, payload: { attributes: { name } } })
  }
  expect((await put(await tag(admin), 'x')).statusCode).toBe(412)
  expect((await put(ofBob, 'bobby')).statusCode).toBe(204)
  expect((await put(ofBob, 'y')).statusCode).toBe(412)
  expect((await ask(admin, 'GET', url)).json()).toMatchObject({ name: 'bobby', salary: '99', team: oids.north })
})
