/** Contract 9.4: bulk loads and exports of callers with grants for parts of a federated database. */
import { gunzipSync } from 'node:zlib'
import { expect } from 'vitest'
import { readTar } from '../tar-files.ts'
import { openShop, type Shop } from './own-roles-world.ts'
import { rule } from './rule.ts'

const order = (title: string, more: object = {}) => ({
  class: 'Shop.Order',
  attributes: { title, owner: 'bob', ...more },
})

async function load({ app }: Shop, authorization: string, query: string, ...lines: unknown[]) {
  const headers = { authorization, 'content-type': 'application/x-ndjson' }
  const payload = lines.map((line) => JSON.stringify(line)).join('\n')
  const { statusCode, body } = await app.inject({ method: 'POST', url: `/v1/object${query}`, headers, payload })
  expect(statusCode, body).toBe(200)
  const replies = body
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  return { body, words: replies.slice(0, -1).map(({ error }) => error?.type ?? 'done') }
}

rule(['9.4.5', '2.2.9'], 'lines do what the grants allow, and nothing else', async () => {
  const shop = await openShop()
  const { ask, token, user, oids } = shop
  const bob = await user('bob', ['seller@shop'])
  const admin = await token({ roles: ['admin'] })
  const index = {
    name: 'byTitle',
    indexedClass: 'Shop.Order',
    isUnique: true,
    keyAttributes: [{ attributeName: 'title' }],
  }
  expect((await ask(admin, 'POST', '/v1/index', index)).statusCode).toBe(201)
  const hidden = String(oids.souths)
  const { words } = await load(
    shop,
    bob,
    '?onError=skip',
    order('one'),
    order('two', { price: '9' }),
    { class: 'Shop.Secret' },
    { method: 'put', uri: `/v1/object/${hidden}`, body: { attributes: { title: 'mine' } } },
    { method: 'delete', uri: `/v1/object/${hidden}` },
    order('three'),
  )
  expect([words[0], words[1], words[3], words[4], words[5]]).toEqual([
    'done',
    'Forbidden',
    'ObjectNotFound',
    'ObjectNotFound',
    'done',
  ])
  expect(words[2]).not.toBe('done')
  const keyed = await load(shop, bob, '?onError=skip&upsertOn=byTitle', order('souths'), order('one'))
  expect(keyed.words).toEqual(['UniqueViolation', 'done'])
  const deleted = await load(shop, bob, '', { method: 'delete', index: 'byTitle', key: { title: 'souths' } })
  expect(deleted.words).toEqual(['ObjectNotFound'])
  expect(keyed.body + deleted.body).not.toContain(hidden)
  const titles = (await shop.rows(admin, 'FROM Shop.Order ORDER BY title RETURN title')) as { title: string }[]
  expect(titles.map(({ title }) => title)).toEqual(['bobs', 'norths', 'one', 'souths', 'three'])
})

rule(['9.4.1', '2.2.25'], 'exports have what the caller may read', async () => {
  const shop = await openShop()
  const { app, ask, user, oids } = shop
  const bob = await user('bob', ['seller@shop'])
  const orders = (await ask(bob, 'GET', '/v1/export?class=Shop.Order')).body
  const titles = orders
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line).title)
  expect(titles).toEqual(['bobs', 'norths'])
  expect(orders).not.toContain(String(oids.souths))
  const csv = (await ask(bob, 'GET', '/v1/export?class=Shop.Member&format=csv')).body
  expect(csv.split('\n')[0]).toBe('__class__,__identifier__,name,team')
  expect((await ask(bob, 'GET', '/v1/export?class=Shop.Secret')).statusCode).toBe(404)
  const { rawPayload } = await app.inject({ method: 'GET', url: '/v1/export', headers: { authorization: bob } })
  const files = readTar(gunzipSync(rawPayload))
  const all = [...files.values()].map(String).join('\n')
  expect(all).not.toContain('Secret')
  expect(all).not.toContain('salary')
  expect(all).not.toContain(String(oids.souths))
})
