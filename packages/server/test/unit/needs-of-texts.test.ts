/** A text of several statements takes all that each of them does, and shows nothing to who may not read. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { openShop } from '../contract/own-roles-world.ts'

it('a designer changes no objects by a text that changes the schema as well', async () => {
  const shop = await openShop()
  const admin = await shop.token({ roles: ['admin'] })
  const upd = {
    on: { kind: 'class', className: 'Shop.Order' },
    actions: ['update'],
    rules: { update: "owner = 'ann'" },
  }
  await shop.ask(admin, 'POST', '/v1/security/role', { name: 'upd', grants: [upd] })
  const before = await shop.rows(admin, 'FROM Shop.Order ORDER BY title RETURN *')
  const replies: number[] = []
  for (const roles of [['designer'], ['designer', 'upd']]) {
    const caller = await shop.token({ roles, name: roles.join('') } as never)
    for (const query of [
      "UPDATE Shop.Order SET price TO '0'; UPDATE SCHEMA { CREATE CLASS Shop.A EMBEDDABLE {a: String} }",
      'UPDATE SCHEMA { CREATE CLASS Shop.B EMBEDDABLE {a: String} }; DELETE Shop.Order',
      "CREATE Shop.Order {title: 'zz'}; CREATE INDEX zz ON Shop.Order (title)",
    ]) {
      replies.push((await shop.ask(caller, 'POST', '/v1/query', { query })).statusCode)
    }
  }
  expect(await shop.rows(admin, 'FROM Shop.Order ORDER BY title RETURN *')).toEqual(before)
  expect(replies).toEqual(replies.map(() => 403))
})

it('roles with write or define alone read nothing by a text that changes something as well', async () => {
  const shop = await openShop()
  const admin = await shop.token({ roles: ['admin'] })
  const seen: string[] = []
  for (const action of ['write', 'define']) {
    await shop.ask(admin, 'POST', '/v1/security/role', { name: `only-${action}`, actions: [action] })
    const caller = await shop.token({ roles: [`only-${action}`], name: action } as never)
    for (const query of [
      'FROM Shop.Member RETURN name, salary',
      'UPDATE Shop.Member WHERE FALSE SET name TO name; FROM Shop.Member RETURN name, salary',
      'UPDATE Shop.Member SET name TO name RETURN name, salary',
      'UPDATE SCHEMA { CREATE CLASS Shop.C EMBEDDABLE {a: String} }; FROM Shop.Member RETURN name, salary',
    ]) {
      const { statusCode, payload } = await shop.ask(caller, 'POST', '/v1/query', { query })
      if (payload.includes('salary')) seen.push(`${action}: ${query} => ${statusCode}`)
    }
  }
  expect(seen).toEqual([])
})

it('texts that are looked at in turns with others are refused as short ones are', async () => {
  const shop = await openShop()
  const admin = await shop.token({ roles: ['admin'] })
  const reader = await shop.token({ roles: ['reader'], name: 'reader' } as never)
  const nothing = await shop.token({ roles: ['reader@other'], name: 'nothing' } as never)
  const before = await shop.rows(admin, 'FROM Shop.Order ORDER BY title RETURN *')
  const long = 'SHOW 1; '.repeat(5_000)
  const statuses: unknown[] = []
  for (const end of ['SHOW 2', 'DELETE Shop.Order', 'DELETE']) {
    for (const caller of [reader, nothing]) {
      const { statusCode, payload } = await shop.ask(caller, 'POST', '/v1/query', { query: long + end })
      statuses.push(statusCode === 200 ? JSON.parse(payload) : statusCode)
    }
  }
  expect(statuses).toEqual([[2], 403, 403, 403, 400, 403])
  expect(await shop.rows(admin, 'FROM Shop.Order ORDER BY title RETURN *')).toEqual(before)
})

it('a statement of a long text is stopped like any other', async () => {
  const shop = await openShop()
  const admin = await shop.token({ roles: ['admin'] })
  const sources = Array.from({ length: 16 }, (_, i) => `Shop.Order o${i}`)
  const query = `FROM ${sources.join(', ')} WHERE o0.title <= o15.title RETURN COUNT(*) /* ${'x'.repeat(30_000)} */`
  const asked = shop.ask(admin, 'POST', '/v1/query', { query })
  let isOver = false
  const over = asked.then(() => {
    isOver = true
  })
  let id: string | undefined
  while (id === undefined && !isOver) {
    await nextTurn()
    id = (await shop.ask(admin, 'GET', '/v1/statement')).json()[0]?.id
  }
  expect((await shop.ask(admin, 'DELETE', `/v1/statement/${id}`)).statusCode).toBe(204)
  await over
  expect((await asked).json()).toMatchObject({ type: 'StatementStopped' })
})
