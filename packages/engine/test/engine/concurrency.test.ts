/** Changes that meet: whichever commits first, what is left is right. */
import { expect, it } from 'vitest'
import { FederatedDatabase } from '../../src/federated-database.ts'
import { leftOpen } from '../store/left-open.ts'
import { openStoreOfRun } from '../store/store-of-run.ts'
import { sometimesLater } from '../store/wrappers/sometimes-later.ts'
import { classOf, index, outcome, read, toMany, toOne, withFd } from './open-fd.ts'

/** On PostgreSQL, where one takes very much longer, there are fewer. */
const scale = Math.max(0.25, Number(process.env.ASHLAR_RUNS ?? 1))
const rounds = Math.ceil(40 * scale)
const fleet = [
  classOf('Hub', { cars: toMany('Car', 'hub'), tags: toMany('Tag', 'hubs') }),
  classOf('Car', { license: 'string', hub: toOne('Hub', 'cars') }),
  classOf('Tag', { hubs: toMany('Hub', 'tags') }),
]

it('40 creations with one unique key: one succeeds, 39 are refused', () =>
  withFd(fleet, async (fd) => {
    await fd.createIndex(index('byLicense', 'Car', true, 'license'))
    const acts = Array.from({ length: 40 }, () => outcome(fd.createObject('Car', { license: 'A' })))
    const outcomes = await Promise.all(acts)
    expect(outcomes.filter((one) => one === 'ok')).toHaveLength(1)
    expect(outcomes.filter((one) => one === 'UniqueViolation')).toHaveLength(39)
  }))

it('a creation by what another process has just defined is made, though the process knew an earlier schema', async () => {
  const store = sometimesLater(await openStoreOfRun(), 7)
  const [one, other] = [
    await FederatedDatabase.open({ alias: 'one', store }),
    await FederatedDatabase.open({ alias: 'other', store: leftOpen(store) }),
  ]
  await one.defineClasses([classOf('Car', { license: 'string' })], 'create')
  for (let round = 0; round < 10; round++) {
    expect(await other.listClasses()).toHaveLength(round + 1)
    await one.defineClasses([classOf(`Car${round}`, { license: 'string' })], 'create')
    const oid = await other.createObject(`Car${round}`, { license: 'A' })
    expect(await read(one, oid)).toMatchObject({ license: 'A' })
    expect(await outcome(other.createObject('Lorry', {}))).toBe('UnknownClass')
  }
  await other.close()
  await one.close()
})

it('a truncated unique key: the other object is created while this one is updated to the same full value', () =>
  withFd(fleet, async (fd) => {
    await fd.createIndex(index('byLicense', 'Car', true, 'license'))
    const prefix = 'x'.repeat(24)
    for (let round = 0; round < rounds; round++) {
      const wanted = `${prefix} ${round}`
      const car = await fd.createObject('Car', { license: `${prefix} other ${round}` })
      const outcomes = await Promise.all([
        outcome(fd.createObject('Car', { license: wanted })),
        outcome(fd.updateObject(car, { license: wanted })),
      ])
      expect(outcomes.sort()).toEqual(['UniqueViolation', 'ok'])
    }
  }))

it('32 writers linking to one hub: none fails, and the hub is complete', () =>
  withFd(fleet, async (fd) => {
    const hub = await fd.createObject('Hub', {})
    const made = await Promise.all(Array.from({ length: 32 }, () => fd.createObject('Car', { hub })))
    expect(((await read(fd, hub)).cars as string[]).sort()).toEqual(made.sort())
  }))

it('links made one after the other keep their order, whatever was linked at once before', () =>
  withFd(fleet, async (fd) => {
    const hub = await fd.createObject('Hub', {})
    await Promise.all(Array.from({ length: 20 }, () => fd.createObject('Car', { hub })))
    const following: string[] = []
    for (let i = 0; i < 20; i++) following.push(await fd.createObject('Car', { hub }))
    expect(((await read(fd, hub)).cars as string[]).slice(20)).toEqual(following)
  }))

it('a hub is deleted while others link to it: no mirror outlives it', () =>
  withFd(fleet, async (fd) => {
    for (let round = 0; round < rounds; round++) {
      const hub = await fd.createObject('Hub', {})
      const car = await fd.createObject('Car', {})
      const tag = await fd.createObject('Tag', {})
      const [deleted, ...linked] = await Promise.all([
        outcome(fd.deleteObject(hub)),
        outcome(fd.createObject('Car', { hub })),
        outcome(fd.updateObject(car, { hub })),
        outcome(fd.updateObject(tag, { hubs: { action: 'add', elements: [hub] } })),
      ])
      expect(deleted).toBe('ok')
      for (const one of linked) expect(['ok', 'InvalidReference']).toContain(one)
      expect(await read(fd, car)).toMatchObject({ hub: '0-0-0-0' })
      expect(await read(fd, tag)).toMatchObject({ hubs: [] })
    }
  }))

it('a car is deleted while its hub takes it: the hub keeps no dead element', () =>
  withFd(fleet, async (fd) => {
    for (let round = 0; round < rounds; round++) {
      const hub = await fd.createObject('Hub', {})
      const car = await fd.createObject('Car', {})
      await Promise.all([outcome(fd.deleteObject(car)), outcome(fd.updateObject(hub, { cars: [car] }))])
      expect(await read(fd, hub)).toMatchObject({ cars: [] })
    }
  }))

it('the same pair is linked from both sides at once: it is linked once', () =>
  withFd(fleet, async (fd) => {
    for (let round = 0; round < rounds; round++) {
      const [hub, tag] = [await fd.createObject('Hub', {}), await fd.createObject('Tag', {})]
      await Promise.all([
        fd.updateObject(hub, { tags: [tag] }),
        fd.updateObject(tag, { hubs: { action: 'add', elements: [hub] } }),
      ])
      expect([(await read(fd, hub)).tags, (await read(fd, tag)).hubs]).toEqual([[tag], [hub]])
    }
  }))

it('a list is overwritten while others add to it: each element is there or not, on both sides alike', () =>
  withFd(fleet, async (fd) => {
    const hub = await fd.createObject('Hub', {})
    for (let round = 0; round < rounds; round++) {
      const cars = await Promise.all(Array.from({ length: 4 }, () => fd.createObject('Car', {})))
      await Promise.all([
        fd.updateObject(hub, { cars: cars.slice(0, 2) }),
        ...cars.slice(2).map((car) => fd.updateObject(car, { hub })),
      ])
      const held = (await read(fd, hub)).cars as string[]
      for (const car of cars) expect((await read(fd, car)).hub === hub).toBe(held.includes(car))
    }
  }))

it('one engine changes the schema: the next request of another sees it, and nothing lands under the old one', async () => {
  const store = await openStoreOfRun()
  const [one, other] = [
    await FederatedDatabase.open({ alias: 'one', store }),
    await FederatedDatabase.open({ alias: 'other', store: leftOpen(store) }),
  ]
  await one.defineClasses([classOf('Car', { license: 'string' })], 'create')
  const oids: string[] = []
  for (let round = 0; round < 10; round++) {
    const writes = Array.from({ length: 5 }, () => other.createObject('Car', { license: `${round}` }))
    const schemaChange = one.defineClasses([classOf('Car', { [`a${round}`]: 'integer' })], 'createOrExtend')
    oids.push(...(await Promise.all(writes)))
    await schemaChange
    oids.push(await other.createObject('Car', { [`a${round}`]: round }))
    await one.createIndex(index(`i${round}`, 'Car', false, `a${round}`))
    oids.push(await other.createObject('Car', { [`a${round}`]: round }))
  }
  expect(new Set(oids).size).toBe(oids.length)
  expect((await other.readIndex('i0')).entryCount).toBe(oids.length)
  expect((await one.verify()).problems).toEqual([])
  await other.close()
  await one.close()
})

it('however many want to change the same object, all get through', () =>
  withFd(
    [classOf('Counter', { n: 'integer' })],
    async (fd) => {
      const [one, other] = await fd.createObjects([
        { class: 'Counter', attributes: {} },
        { class: 'Counter', attributes: {} },
      ])
      const increment = async (oid: string | undefined): Promise<void> => {
        const { chunks } = await fd.query({
          text: 'UPDATE Counter WHERE $$ID = $oid SET n TO n + 1 RETURN n',
          parameters: { oid },
        })
        for await (const chunk of chunks) void chunk
      }
      const third = Math.ceil(200 * scale)
      await Promise.all(Array.from({ length: 3 * third }, (_, i) => increment(i % 3 === 0 ? other : one)))
      const counts = [await read(fd, String(one)), await read(fd, String(other))]
      expect(counts).toMatchObject([{ n: 2 * third }, { n: third }])
    },
    { transactionAttemptsMax: 20 },
  ))
