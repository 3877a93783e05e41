/** What survives when the server is killed while it writes. */
import { FederatedDatabase, openStore } from '@ashlar/engine'
import { expect, it } from 'vitest'
import { classOf, FdUnderTest, list, reference } from '../contract/class-of.ts'
import { type ServerUnderTest, startServer, temporaryDirectory } from '../contract/server-under-test.ts'

const kills = Math.ceil(5 * Number(process.env.ASHLAR_RUNS ?? 1))
const writers = 8

interface Acknowledged {
  /** Number and hub of each car whose creation was acknowledged. */
  readonly cars: Map<string, { readonly number: number; readonly hub: string }>
  readonly deleted: Set<string>
}

/** Creates, links and deletes until the server is gone; notes what was acknowledged. */
async function write(fd: FdUnderTest, hubs: readonly string[], state: Acknowledged, next: () => number): Promise<void> {
  for (;;) {
    const number = next()
    const hub = hubs[number % hubs.length] as string
    const reply = await fd.postObject('Car', { number, hub }).catch(() => undefined)
    if (reply === undefined) return
    expect(reply.status, reply.text).toBe(201)
    const oid = reply.json.__identifier__ as string
    state.cars.set(oid, { number, hub })
    if (number % 5 !== 0) continue
    state.deleted.add(oid)
    const gone = await fd.server.delete(fd.at(`/v1/object/${oid}`)).catch(() => undefined)
    if (gone === undefined) {
      // Not acknowledged: it may be gone or not.
      state.cars.delete(oid)
      state.deleted.delete(oid)
      return
    }
    expect(gone.status).toBe(204)
    state.cars.delete(oid)
  }
}

async function check(fd: FdUnderTest, hubs: readonly string[], state: Acknowledged): Promise<void> {
  const wanted = [...state.cars].map(([oid, { number, hub }]) => ({ __identifier__: oid, number, hub }))
  expect(await Promise.all(wanted.map(({ __identifier__: oid }) => fd.read(oid)))).toMatchObject(wanted)
  for (const oid of state.deleted) expect((await fd.server.get(fd.at(`/v1/object/${oid}`))).status).toBe(404)
  for (const hub of hubs) {
    const { cars } = await fd.read(hub)
    expect(new Set(cars).size).toBe(cars.length)
    // Nothing half done: whatever the hub names exists and names the hub.
    for (const car of cars.slice(-20)) expect((await fd.read(car)).hub).toBe(hub)
    for (const [oid, known] of state.cars) if (known.hub === hub) expect(cars).toContain(oid)
  }
}

it(
  `kill -9 under write load, ${kills} times: every acknowledged write is there, nothing half done`,
  async () => {
    const data = temporaryDirectory()
    let server: ServerUnderTest = await startServer({ words: ['--fd', 'fleet'], data })
    let fd = new FdUnderTest(server, 'fleet')
    await fd.define(
      classOf('Hub', { cars: list(reference('Car', 'hub')) }),
      classOf('Car', { number: 'integer', hub: reference('Hub', 'cars') }),
    )
    await fd.index('byNumber', 'Car', true, 'number')
    const hubs = [await fd.create('Hub'), await fd.create('Hub')]
    const state: Acknowledged = { cars: new Map(), deleted: new Set() }
    let number = 0
    for (let round = 0; round < kills; round++) {
      const target = state.cars.size + 5 + round * 3
      const working = Array.from({ length: writers }, () => write(fd, hubs, state, () => ++number))
      while (state.cars.size < target) await new Promise((resolve) => setTimeout(resolve, 1))
      await server.end('SIGKILL')
      await Promise.all(working)
      server = await startServer({ words: ['--fd', 'fleet'], data })
      fd = new FdUnderTest(server, 'fleet')
      await check(fd, hubs, state)
    }
    const cars = (await Promise.all(hubs.map((hub) => fd.read(hub)))).flatMap((hub) => hub.cars)
    expect((await server.get(fd.at('/v1/index/byNumber'))).json.entryCount).toBe(cars.length)
    await server.end()
    const stored = await FederatedDatabase.open({ alias: 'fleet', store: await openStore(`lmdb:${data}/fleet`) })
    expect((await stored.verify()).problems).toEqual([])
    await stored.close()
    await server.remove()
  },
  60_000 * Math.max(5, kills),
)
