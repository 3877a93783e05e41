/** Pages of changes: what was logged under earlier schemas, large commits in pieces, what was removed, and who waits. */
import { describe, expect, it } from 'vitest'
import { LogRemoval } from '../../src/changes/log-removal.ts'
import { AshlarError } from '../../src/errors.ts'
import { FederatedDatabase } from '../../src/federated-database.ts'
import { defaultEngineLimits, type EngineLimits } from '../../src/limits.ts'
import type { Store } from '../../src/store/store.ts'
import { classOf, outcome, toOne } from '../engine/open-fd.ts'
import { openStoreOfRun } from '../store/store-of-run.ts'

async function withFeed(
  use: (fd: FederatedDatabase, store: Store) => Promise<void>,
  limits: Partial<EngineLimits> = {},
): Promise<void> {
  const store = await openStoreOfRun()
  const fd = await FederatedDatabase.open({ alias: 'test', store, limits, changeLog: 'on' })
  await fd.defineClasses([classOf('Car', { license: 'string', year: 'integer' })], 'create')
  await use(fd, store)
  expect((await fd.verify()).problems).toEqual([])
  await fd.close()
}

/** JSON whose shape a test knows and the compiler does not. */
type Told = ReturnType<typeof JSON.parse>

const request = { since: 'first', include: 'values', limit: 1_000 } as const

async function all(fd: FederatedDatabase, asked: { since?: string; limit?: number } = {}): Promise<Told[]> {
  const told: Told[] = []
  for (let since = asked.since ?? 'first'; ; ) {
    const page = await fd.changes.page({ ...request, ...asked, since })
    for (const { json, position } of page.changes) {
      const change = JSON.parse(json.toString())
      expect(change.position).toBe(position)
      told.push(change)
    }
    since = page.position
    if (page.isAtEnd) return told
  }
}

const now = async (fd: FederatedDatabase): Promise<string> =>
  (await fd.changes.page({ ...request, since: 'now' })).position

describe('changes of earlier schemas', () => {
  it('have the names of today; deleted attributes are not told, objects of deleted classes are', () =>
    withFeed(async (fd) => {
      const since = await now(fd)
      const oid = await fd.createObject('Car', { license: 'A', year: 2020 })
      await fd.alterClass('Car', { classRename: 'Vehicle' } as never)
      await fd.alterClass('Vehicle', {
        attributesToRename: [{ originalName: 'license', newName: 'plate' }],
        attributesToDelete: ['year'],
      } as never)
      const [created] = await all(fd, { since })
      expect(created).toMatchObject({ change: 'created', class: 'Vehicle', after: { plate: 'A' } })
      await fd.deleteObject(oid)
      await fd.deleteClass('Vehicle')
      await fd.defineClasses([classOf('Vehicle', { other: 'integer' })], 'create')
      const changes = await all(fd, { since })
      expect(changes.map(({ change }) => change)).toEqual([
        'created',
        'schema',
        'schema',
        'deleted',
        'schema',
        'schema',
      ])
      expect(changes[3]).toMatchObject({ class: 'Vehicle', before: { plate: 'A' } })
      expect(changes[4]).toMatchObject({ deletedClasses: ['Vehicle'] })
    }))

  it('are not told where objects are only written anew', () =>
    withFeed(async (fd) => {
      await fd.createObject('Car', { license: 'A', year: 2020 })
      await fd.defineClasses([classOf('Car', { colour: 'string' })], 'createOrExtend')
      const since = await now(fd)
      await fd.upgradeObjects()
      expect(await all(fd, { since })).toEqual([])
    }))
})

describe('a large commit', () => {
  it('is told in pages, each change once, from any position within it', () =>
    withFeed(async (fd) => {
      const since = await now(fd)
      const count = 3_000
      await fd.createObjects(
        Array.from({ length: count }, (_, year) => ({
          class: 'Car',
          attributes: { license: 'x'.repeat(100), year },
        })) as never,
      )
      const changes = await all(fd, { since, limit: 700 })
      const years = changes.map(({ after }) => after.year)
      expect(years).toEqual(Array.from({ length: count }, (_, year) => year))
      expect(new Set(changes.map(({ position }) => position)).size).toBe(count)
      for (const nth of [0, 1, 499, 1_234, count - 2]) {
        const [next] = await all(fd, { since: changes[nth]?.position ?? '', limit: 1_000 })
        expect(next?.after.year).toBe(nth + 1)
      }
    }))

  it('may be one change that is larger than an entry of the log', () =>
    withFeed(async (fd) => {
      const since = await now(fd)
      const license = 'long '.repeat(600_000)
      const oid = await fd.createObject('Car', { license, year: 1 })
      const position = await now(fd)
      await expect(all(fd, { since: `${position}-1-0` })).rejects.toMatchObject({ type: 'MalformedRequest' })
      await fd.updateObject(oid, { license: 'short' })
      const [created, updated] = await all(fd, { since })
      expect(created?.after.license === license).toBe(true)
      expect(updated).toMatchObject({ oid, after: { license: 'short' } })
      expect(updated?.before.license === license).toBe(true)
    }))
})

describe('a transaction', () => {
  it('tells what comes of all its steps', () =>
    withFeed(async (fd) => {
      const old = await fd.createObject('Car', { license: 'old', year: 1 })
      const since = await now(fd)
      const made = await fd.transaction(async (step) => {
        const oid = await step(1).createObject('Car', { license: 'A', year: 1 })
        await step(2).updateObject(oid, { year: 2 })
        await step(3).updateObject(old, { year: 5 })
        await step(4).updateObject(old, { license: 'new' })
        const other = await step(5).createObject('Car', { license: 'B' })
        await step(6).deleteObject(other)
        return oid
      }, false)
      expect(await all(fd, { since })).toMatchObject([
        { change: 'created', oid: made, after: { license: 'A', year: 2 } },
        { change: 'updated', oid: old, before: { license: 'old', year: 1 }, after: { license: 'new', year: 5 } },
      ])
    }))
})

describe('links', () => {
  const map = {
    logicalType: 'map',
    collectionTypeName: 'NameToReferenceMap',
    keySpecification: { logicalType: 'string' },
    elementSpecification: toOne('Car'),
  }

  it('are not told where a change leaves them as they are', () =>
    withFeed(async (fd) => {
      const cars = { logicalType: 'set', elementSpecification: toOne('Car') }
      await fd.defineClasses([classOf('Garage', { cars, named: map })], 'create')
      const [one, two] = [await fd.createObject('Car', {}), await fd.createObject('Car', {})]
      const garage = await fd.createObject('Garage', { cars: [one], named: { a: one } } as never)
      const since = await now(fd)
      const remove = (...elements: string[]) => ({ action: 'remove', elements })
      await fd.updateObject(garage, { cars: remove(two, two), named: remove('b', 'b') } as never)
      await fd.updateObject(garage, { cars: [one], named: { a: one } } as never)
      await fd.updateObject(garage, { named: { action: 'add', pairs: [{ key: 'a', value: one }] } } as never)
      expect(await all(fd, { since })).toEqual([])
      await fd.transaction(async (step) => {
        await step(1).updateObject(garage, { cars: { action: 'add', elements: [two] } } as never)
        await step(2).updateObject(garage, { cars: remove(two, one), named: { b: two } } as never)
        await step(3).updateObject(garage, { cars: [one], named: { a: one } } as never)
      }, false)
      expect(await all(fd, { since })).toEqual([])
      await fd.updateObject(garage, { cars: remove(one, two), named: { a: two, b: one } } as never)
      await fd.updateObject(garage, { named: remove('a', 'c') } as never)
      const told = (await all(fd, { since })).map(({ change, target, key }) => [change, key ?? target, key && target])
      expect(told).toEqual([
        ['unlinked', one, undefined],
        ['linked', 'a', two],
        ['linked', 'b', one],
        ['unlinked', 'a', undefined],
      ])
      const last = await now(fd)
      await fd.transaction(async (step) => {
        await step(1).updateObject(garage, { named: { b: two } } as never)
        await step(2).deleteObject(garage)
      }, false)
      expect(await all(fd, { since: last })).toMatchObject([{ change: 'deleted', oid: garage }])
    }))
})

describe('removal', () => {
  const removal = (fd: FederatedDatabase, store: Store, limits: Partial<EngineLimits>): LogRemoval => {
    // As another process would.
    const catalogs = (fd as unknown as { database: { catalogs: never } }).database.catalogs
    return new LogRemoval(store, catalogs, { ...defaultEngineLimits, ...limits })
  }

  it('by age leaves the last commit, and a position before it is gone', () =>
    withFeed(async (fd, store) => {
      const begin = await now(fd)
      for (let year = 0; year < 20; year++) await fd.createObject('Car', { license: 'A', year })
      const changes = await all(fd, { since: begin })
      const [one, other] = [removal(fd, store, { changeLogMs: 1 }), removal(fd, store, { changeLogMs: 1 })]
      await Promise.all([one.runRound(Date.now() + 60_000), other.runRound(Date.now() + 60_000)])
      expect(await outcome(all(fd, { since: begin }))).toBe('ChangesGone')
      expect(await outcome(all(fd, { since: changes[3]?.position ?? '' }))).toBe('ChangesGone')
      expect(await all(fd, { since: changes[18]?.position ?? '' })).toEqual([changes[19]])
      expect(await all(fd)).toEqual([changes[19]])
      await fd.createObject('Car', { year: 21 })
      expect(await all(fd, { since: changes[19]?.position ?? '' })).toMatchObject([{ after: { year: 21 } }])
    }))

  it('by size keeps what is newest', () =>
    withFeed(async (fd, store) => {
      for (let year = 0; year < 30; year++) await fd.createObject('Car', { license: 'x'.repeat(300_000), year })
      await removal(fd, store, { changeLogBytesMax: 3 * 2 ** 20 }).runRound(Date.now())
      const years = (await all(fd)).map(({ after }) => after.year)
      expect(years.at(-1)).toBe(29)
      expect(years.length).toBeGreaterThan(3)
      expect(years.length).toBeLessThan(12)
      expect(years).toEqual(years.map((_, nth) => 30 - years.length + nth))
    }))

  it('takes all where the log was turned off', async () => {
    const store = await openStoreOfRun()
    const unclosed = { ...store, close: async () => undefined }
    const first = await FederatedDatabase.open({ alias: 'test', store: unclosed, changeLog: 'on' })
    await first.defineClasses([classOf('Car', { year: 'integer' })], 'create')
    await first.close()
    const fd = await FederatedDatabase.open({ alias: 'test', store: unclosed, changeLog: 'off' })
    await removal(fd, store, {}).runRound(Date.now())
    const found = await store.snapshot()
    const { ranges } = await found.read([], [{ from: Buffer.of(7), to: Buffer.of(8), limit: 10 }])
    found.release()
    expect(ranges[0]).toEqual([])
    expect(await outcome(all(fd))).toBe('ChangeLogOff')
    await fd.close()
    await store.close()
  })
})

describe('who waits', () => {
  it('is woken by a commit of this process, and by one of another', () =>
    withFeed(
      async (fd, store) => {
        const signal = new AbortController().signal
        const other = await FederatedDatabase.open({
          alias: 'other',
          store: { ...store, close: async () => undefined },
        })
        for (const writer of [fd, other]) {
          const position = await now(fd)
          const seen = fd.waiters.count
          const waiting = fd.waiters.wait(seen, 60_000, signal)
          await writer.createObject('Car', { year: 1 })
          await waiting
          let told = await all(fd, { since: position })
          while (told.length === 0) {
            await fd.waiters.wait(fd.waiters.count, 60_000, signal)
            told = await all(fd, { since: position })
          }
          expect(told).toMatchObject([{ change: 'created' }])
        }
        await other.close()
      },
      { changePollMs: 5 },
    ))

  it('and ends when its signal does', () =>
    withFeed(async (fd) => {
      const ending = new AbortController()
      const waiting = fd.waiters.wait(fd.waiters.count, 60_000, ending.signal)
      ending.abort()
      await waiting
    }))
})

it('a predicate that fails on a value is an error, not a page with less', () =>
  withFeed(async (fd) => {
    await fd.createObject('Car', { license: 'A', year: 0 })
    const failing = fd.changes.page({ ...request, className: 'Car', where: '10 / year > 1' })
    await failing.catch((error: unknown) => expect(error).toBeInstanceOf(AshlarError))
    await fd.defineClasses([classOf('Owner', { car: toOne('Car') })], 'create')
    expect(await outcome(fd.changes.page({ ...request, className: 'Owner', where: "car.license = 'A'" }))).toBe(
      'QueryError',
    )
  }))

it('of some attributes alone is told of these, and of what enters or leaves', () =>
  withFeed(async (fd) => {
    const oid = await fd.createObject('Car', { license: 'A', year: 2020 })
    await fd.updateObject(oid, { license: 'B' })
    await fd.updateObject(oid, { year: 2021 })
    await fd.updateObject(oid, { license: 'C', year: 2022 })
    await fd.deleteObject(oid)
    const of = async (attributes: readonly string[], where?: string): Promise<unknown[]> => {
      const asked = { since: 'first', className: 'Car', attributes, where, include: 'values', limit: 99 } as const
      const { changes } = await fd.changes.page(asked)
      const told = changes.map(({ json }) => JSON.parse(json.toString()))
      return told
        .filter(({ change }) => change !== 'schema')
        .map(({ before, after, matched }) => [before, after, matched])
    }
    expect(await of(['year'])).toEqual([
      [undefined, { year: 2020 }, undefined],
      [{ year: 2020 }, { year: 2021 }, undefined],
      [{ year: 2021 }, { year: 2022 }, undefined],
      [{ year: 2022 }, undefined, undefined],
    ])
    expect(await of(['license'], 'year < 2021')).toEqual([
      [undefined, { license: 'A' }, 'after'],
      [{ license: 'A' }, { license: 'B' }, 'both'],
      [{}, {}, 'before'],
    ])
  }))
