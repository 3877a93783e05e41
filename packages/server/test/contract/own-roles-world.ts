/** A shop with teams and their orders, for tests of roles of one's own over HTTP. */
import { expect } from 'vitest'
import { openSecureServer, type SecureServer } from '../unit/open-secure-server.ts'
import type { ServerSetting, TestServer } from '../unit/open-server.ts'

const text = (attributeName: string) => ({ attributeName, logicalType: 'string' })
const many = (attributeName: string, referencedClass: string, inverseAttribute: string) => ({
  attributeName,
  logicalType: 'list',
  elementSpecification: { logicalType: 'reference', referencedClass, inverseAttribute },
})
const one = (attributeName: string, referencedClass: string, inverseAttribute: string) => ({
  attributeName,
  logicalType: 'reference',
  referencedClass,
  inverseAttribute,
})

const classes = [
  {
    className: 'Shop.Team',
    isReferenceable: true,
    attributes: [text('name'), many('members', 'Shop.Member', 'team'), many('orders', 'Shop.Order', 'team')],
  },
  {
    className: 'Shop.Member',
    isReferenceable: true,
    attributes: [text('name'), text('salary'), one('team', 'Shop.Team', 'members')],
  },
  {
    className: 'Shop.Order',
    isReferenceable: true,
    attributes: [text('title'), text('owner'), text('price'), one('team', 'Shop.Team', 'orders')],
  },
  { className: 'Shop.Secret', isReferenceable: true, attributes: [text('name')] },
]

/** What a team sees and does: its own orders, members without their salaries, and prices that it does not change. */
export const seller = {
  name: 'seller',
  grants: [
    { on: { kind: 'class', className: 'Shop.Team' }, actions: ['read', 'query'] },
    { on: { kind: 'class', className: 'Shop.Member' }, actions: ['read', 'query'], hidden: ['salary'] },
    {
      on: { kind: 'class', className: 'Shop.Order' },
      actions: ['read', 'query', 'create', 'update', 'delete'],
      readOnly: ['price'],
      rules: { read: 'owner = $$USER.name OR $$USER.name IN team.members.name' },
    },
  ],
}

export interface Shop extends SecureServer {
  /** By what they are called here. */
  readonly oids: Readonly<Record<string, string>>
  ask(authorization: string, method: 'GET' | 'POST' | 'PUT' | 'DELETE', url: string, payload?: unknown): Promise<Reply>
  /** The rows of a query. */
  rows(authorization: string, query: string, alias?: string): Promise<unknown>
}

type Reply = Awaited<ReturnType<TestServer['inject']>>

/** `shop` has the objects, `other` the classes alone. */
export async function openShop(setting: ServerSetting = {}): Promise<Shop> {
  const server = await openSecureServer({ aliases: ['shop', 'other'], defaultAlias: 'shop', ...setting })
  const { app, token } = server
  const ask: Shop['ask'] = (authorization, method, url, payload) => {
    return app.inject({
      method,
      url,
      headers: { authorization },
      ...(payload === undefined ? {} : { payload: payload as object }),
    })
  }
  const rows: Shop['rows'] = async (authorization, query, alias = 'shop') => {
    const reply = await ask(authorization, 'POST', `/v1/query?fdAlias=${alias}`, { query })
    return reply.json()
  }
  const admin = await token({ roles: ['admin'] })
  for (const alias of ['shop', 'other']) {
    expect((await ask(admin, 'PUT', `/v1/schema?fdAlias=${alias}`, classes)).statusCode).toBe(201)
  }
  const oids: Record<string, string> = {}
  const make = async (name: string, className: string, attributes: object): Promise<void> => {
    const reply = await ask(admin, 'POST', '/v1/object', { class: className, attributes })
    expect(reply.statusCode).toBe(201)
    oids[name] = reply.json().__identifier__
  }
  await make('north', 'Shop.Team', { name: 'north' })
  await make('south', 'Shop.Team', { name: 'south' })
  await make('bob', 'Shop.Member', { name: 'bob', salary: '10', team: oids.north })
  await make('eve', 'Shop.Member', { name: 'eve', salary: '20', team: oids.south })
  await make('bobs', 'Shop.Order', { title: 'bobs', owner: 'bob', price: '1' })
  await make('norths', 'Shop.Order', { title: 'norths', owner: 'ann', price: '2', team: oids.north })
  await make('souths', 'Shop.Order', { title: 'souths', owner: 'eve', price: '3', team: oids.south })
  await make('secret', 'Shop.Secret', { name: 'hidden' })
  expect((await ask(admin, 'POST', '/v1/security/role', seller)).statusCode).toBe(201)
  return { ...server, oids, ask, rows }
}
