/** Every operation passes the place where authorisation stands, with what it needs: alone, in a transaction, and as a query. */
import { describe, expect, it } from 'vitest'
import { operations } from '../../src/operations/table.ts'
import { Authenticator } from '../../src/security/authenticator.ts'
import { type Caller, makeCaller, nobody } from '../../src/security/caller.ts'
import type { Need } from '../../src/security/roles.ts'
import { needsOf } from '../contract/operation-needs.ts'
import { defineGadget, openServer, type TestServer } from './open-server.ts'
import { bodyOf } from './operation-bodies.ts'

interface Asked {
  readonly app: TestServer
  /** What was asked for since the last time, as `need@alias`. */
  asked(): string[]
}

/** A caller who may not do what is in `refused`. */
async function openAsking(refused: Set<Need> = new Set()): Promise<Asked> {
  const all: string[] = []
  const caller: Caller = {
    ...makeCaller({ ...nobody, kind: 'user', name: 'somebody' }),
    may(need, alias = 'service') {
      all.push(`${need}@${alias}`)
      return !refused.has(need)
    },
    policyOn: () => undefined,
    mayAnything: () => true,
    userOn: () => null,
  }
  const { app } = await openServer({ authenticator: new Authenticator([{ authenticate: async () => caller }]) })
  return { app, asked: () => all.splice(0) }
}

const gadget = { class: 'Shop.Gadget', attributes: { name: 'a' } }
const texts: readonly (readonly [Need, string])[] = [
  ['read', 'FROM Shop.Gadget RETURN *'],
  ['write', "CREATE Shop.Gadget {name: 'b'}"],
  ['define', 'CREATE INDEX byName ON Shop.Gadget(name)'],
]

describe('authorisation', () => {
  it('is asked once for each operation of the table, before the operation runs', async () => {
    const { app, asked } = await openAsking(new Set(['read', 'write', 'define', 'operate', 'administer', 'identify']))
    for (const operation of operations) {
      const { method, path, body, scope, needs } = operation
      if (needs === 'nothing') continue
      const url = path.replace(/:\w+/g, '1-1-1-1')
      const given = body === undefined ? {} : { payload: bodyOf(operation) as object }
      const reply = await app.inject({ method, url, ...given })
      const [expected] = needsOf(operation)
      expect(reply.json()).toMatchObject({ type: 'Forbidden', message: expect.stringMatching(`\\(${expected}\\)\\.$`) })
      expect(asked()).toEqual([`${expected}@${scope === 'fd' ? 'default' : 'service'}`])
    }
  })

  it('is asked for what a query does, by its text', async () => {
    const { app, asked } = await openAsking()
    await defineGadget(app)
    asked()
    for (const [need, query] of texts) {
      expect((await app.inject({ method: 'POST', url: '/v1/query', payload: { query } })).statusCode).toBe(200)
      expect(asked()).toEqual((need === 'read' ? ['read'] : [need, 'read']).map((word) => `${word}@default`))
    }
    const explained = await app.inject({
      method: 'POST',
      url: '/v1/query?explain=true',
      payload: { query: texts[1]?.[1] },
    })
    expect(explained.statusCode).toBe(200)
    expect(asked()).toEqual(['read@default'])
  })

  it('is asked for each operation of a transaction; one that is refused ends it with nothing done', async () => {
    const refused = new Set<Need>()
    const { app, asked } = await openAsking(refused)
    await defineGadget(app)
    asked()
    const payload = [
      { method: 'POST', uri: '/v1/object', body: gadget },
      { method: 'GET', uri: '/v1/schema' },
      { method: 'GET', uri: '/v1' },
      ...texts.map(([, query]) => ({ method: 'POST', uri: '/v1/query', body: { query } })),
    ]
    const run = () => app.inject({ method: 'POST', url: '/v1/transaction', payload })
    refused.add('define')
    const reply = await run()
    expect(reply.json()).toMatchObject({ operation: 6, type: 'Forbidden' })
    // The transaction itself before its body is read, and when it begins.
    expect(asked()).toEqual(
      ['read', 'read', 'write', 'read', 'identify@service', 'read', 'write', 'read', 'define'].map((word) =>
        word.includes('@') ? word : `${word}@default`,
      ),
    )
    const rows = await app.inject({ method: 'POST', url: '/v1/query', payload: { query: texts[0]?.[1] } })
    expect(rows.json()).toEqual([])
  })
})
