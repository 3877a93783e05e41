/** What a link costs an object that has many, counted at the store. */
import { defaultEngineLimits, FederatedDatabase, openStore, type Store } from '@ashlar/engine'
import { pino } from 'pino'
import { expect } from 'vitest'
import { buildServer } from '../../src/http/server.ts'
import { defaultServerLimits } from '../../src/limits.ts'
import { withoutConnections } from '../unit/open-server.ts'
import { classOf, list, reference, set } from './class-of.ts'
import { rule } from './rule.ts'

/** Counts the bytes of all that is committed. */
function counting(store: Store): { store: Store; written: () => number } {
  let bytes = 0
  return {
    written: () => bytes,
    store: {
      capabilities: store.capabilities,
      snapshot: () => store.snapshot(),
      commit(commit) {
        for (const change of commit.changes) {
          bytes += change.key.length + (change.kind === 'put' ? change.value.length : 0)
        }
        return store.commit(commit)
      },
      stats: () => store.stats(),
      close: () => store.close(),
    },
  }
}

rule('4.4.10', 'a hub of 300 takes the next link by writing no more than for the second', async () => {
  const { store, written } = counting(await openStore('memory:'))
  const fd = await FederatedDatabase.open({ alias: 'default', store })
  const server = await buildServer({
    federatedDatabases: [fd],
    defaultAlias: undefined,
    limits: { ...defaultServerLimits, ...defaultEngineLimits },
    isShutdownAllowed: false,
    logger: pino({ level: 'silent' }),
    onStop: () => undefined,
    isStopping: () => false,
  })
  const app = withoutConnections(server)
  const ask = async (method: 'PUT' | 'POST', url: string, body: unknown) => {
    const before = written()
    const payload = JSON.stringify(body)
    const reply = await app.inject({ method, url, payload, headers: { 'content-type': 'application/json' } })
    expect(reply.statusCode, reply.body).toBe(201)
    return { json: reply.json(), cost: written() - before }
  }
  await ask('PUT', '/v1/schema', [
    classOf('Hub', {
      spokes: list(reference('Spoke', 'hub')),
      ranked: list(reference('Label', 'hubs'), 'TreeListOfReferences'),
      mates: set(reference('Mate', 'hub')),
    }),
    classOf('Spoke', { hub: reference('Hub', 'spokes') }),
    classOf('Label', { hubs: list(reference('Hub', 'ranked')) }),
    classOf('Mate', { hub: reference('Hub', 'mates') }),
  ])
  const hub = (await ask('POST', '/v1/object', { class: 'Hub' })).json.__identifier__
  const costs: number[] = []
  for (let i = 0; i < 300; i++) {
    let cost = 0
    for (const body of [
      { class: 'Spoke', attributes: { hub } },
      { class: 'Label', attributes: { hubs: [hub] } },
      { class: 'Mate', attributes: { hub } },
    ]) {
      cost += (await ask('POST', '/v1/object', body)).cost
    }
    costs.push(cost)
  }
  const read = (await app.inject(`/v1/object/${hub}`)).json()
  expect([read.spokes.length, read.ranked.length, read.mates.length]).toEqual([300, 300, 300])
  // The first of each class also makes its container.
  expect(costs.at(-1)).toBeLessThanOrEqual((costs[1] as number) * 1.1)
  await app.close()
  await fd.close()
})
