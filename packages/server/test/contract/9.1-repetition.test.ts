/** Contract 9.1.2: a reply that was kept is for those alone who may still see and do what it was made by. */
import { expect } from 'vitest'
import { openShop, type Shop } from './own-roles-world.ts'
import { rule } from './rule.ts'

const orders = (more: object = {}) => ({
  on: { kind: 'class', className: 'Shop.Order' },
  actions: ['read', 'query', 'update'],
  ...more,
})
const change = { query: "UPDATE Shop.Order WHERE owner = 'bob' SET title TO 'changed' RETURN price" }

/** Sends the change, with the same key each time. */
function sender({ app }: Shop): (authorization: string) => Promise<unknown> {
  return async (authorization) => {
    const headers = { authorization, 'idempotency-key': 'the-same' }
    const reply = await app.inject({ method: 'POST', url: '/v1/query?fdAlias=shop', headers, payload: change })
    const isReplayed = reply.headers['idempotent-replayed'] === 'true'
    const body = reply.json()
    return reply.statusCode === 200 ? { rows: body, isReplayed } : body.type
  }
}

const first = { rows: [{ price: '1' }], isReplayed: false }
const again = { rows: [{ price: '1' }], isReplayed: true }

rule('9.1.2', 'a token with roles of its own is not given replies to its owner', async () => {
  const shop = await openShop()
  const { ask, user, token } = shop
  const admin = await token({ roles: ['admin'] })
  await ask(admin, 'POST', '/v1/security/role', { name: 'narrow', grants: [orders({ hidden: ['price'] })] })
  const alice = await user('alice', ['writer'])
  const send = sender(shop)
  expect(await send(alice)).toEqual(first)
  expect(await send(alice)).toEqual(again)
  expect(await send(await token({ name: 'whole', owner: 'alice' }))).toEqual(again)
  const narrow = await token({ name: 'narrow', owner: 'alice', roles: ['narrow'] })
  // Carried out for itself, where it cannot see the price.
  expect(await send(narrow)).toBe('QueryError')
})

rule('9.1.2', 'a reply is not given again once a grant was taken, and is where others were given', async () => {
  const shop = await openShop()
  const { ask, user, token } = shop
  const admin = await token({ roles: ['admin'] })
  await ask(admin, 'POST', '/v1/security/role', { name: 'clerk', grants: [orders()] })
  const bob = await user('bob', ['clerk'])
  const send = sender(shop)
  const becomes = async (path: string, body: object): Promise<void> => {
    expect((await ask(admin, 'PUT', `/v1/security/${path}`, body)).statusCode).toBe(200)
  }
  expect(await send(bob)).toEqual(first)
  expect(await send(bob)).toEqual(again)
  await becomes('role/clerk', { grants: [orders({ hidden: ['team'] })] })
  expect(await send(bob)).toBe('ReplyNotKept')
  await becomes('role/clerk', { grants: [orders()] })
  expect(await send(bob)).toEqual(again)
  await becomes('user/bob', { roles: ['clerk', 'writer', 'designer'] })
  expect(await send(bob)).toEqual(again)
  const rows = await shop.rows(bob, 'FROM Shop.Order RETURN title')
  expect(rows).toContainEqual({ title: 'changed' })
})

rule('9.1.2', 'a reply to a caller for the whole is not given where something of that was taken', async () => {
  const shop = await openShop()
  const { ask, user, token } = shop
  const admin = await token({ roles: ['admin'] })
  await ask(admin, 'POST', '/v1/security/role', { name: 'clerk', grants: [orders({ hidden: ['price'] })] })
  const bob = await user('bob', ['writer', 'clerk'])
  const send = sender(shop)
  expect(await send(bob)).toEqual(first)
  await ask(admin, 'PUT', '/v1/security/user/bob', { roles: ['clerk'] })
  expect(await send(bob)).toBe('ReplyNotKept')
})
