/** Creations by the hundred, which go from JSON to rows at once: what comes of them is what comes of the same one by one. */
import { expect, it } from 'vitest'
import { AshlarError } from '../../src/errors.ts'
import { FederatedDatabase } from '../../src/federated-database.ts'
import { eachCommitFailsOnce } from '../model/spurious-conflicts.ts'
import { openStoreOfRun } from '../store/store-of-run.ts'
import { classOf, outcome, read, toOne, withFd } from './open-fd.ts'
import { type Creation, classes, creations, faults, makersOf, openWatched } from './things.ts'

async function withoutOids(fd: FederatedDatabase, oids: readonly string[]): Promise<unknown[]> {
  const all: unknown[] = []
  for (const oid of oids) {
    const { __identifier__, ...others } = await read(fd, oid)
    expect(__identifier__).toBe(oid)
    all.push(others)
  }
  return all
}

async function errorOf(act: Promise<unknown>): Promise<{ readonly type: string; readonly positions: unknown }> {
  try {
    await act
  } catch (error) {
    if (error instanceof AshlarError)
      return { type: error.type, positions: error.errors.map(({ place }) => place?.[0]) }
    throw error
  }
  return { type: 'ok', positions: [] }
}

async function count(fd: FederatedDatabase): Promise<number> {
  return (await fd.verify()).objects
}

it('objects, their index entries and their references are those of creations one by one', async () => {
  await withFd(classes, async (fd) => {
    const makers = await makersOf(fd)
    const given = creations(300, makers)
    const together = await fd.createObjects(given)
    const shown = await withoutOids(fd, together)
    for (const oid of together) await fd.deleteObject(oid)
    const inTurn: string[] = []
    for (const one of given) inTurn.push(await fd.createObject(one.class, one.attributes ?? {}))
    expect(shown).toEqual(await withoutOids(fd, inTurn))
  })
})

it('are made once where each commit fails once, under the OIDs of the first attempt', async () => {
  const store = await openStoreOfRun()
  const fd = await FederatedDatabase.open({ alias: 'test', store: eachCommitFailsOnce(store) })
  await fd.defineClasses(classes, 'create')
  const makers = await makersOf(fd)
  const before = await count(fd)
  const oids = await fd.createObjects(creations(120, makers))
  expect(new Set(oids).size).toBe(120)
  expect(await count(fd)).toBe(before + 120)
  expect((await fd.verify()).problems).toEqual([])
  await fd.close()
})

it('are in the change log as those one by one are', async () => {
  const store = await openStoreOfRun()
  const fd = await FederatedDatabase.open({ alias: 'test', store, changeLog: 'on' })
  await fd.defineClasses(classes, 'create')
  const given = creations(300, await makersOf(fd))
  const told = async (since: string): Promise<Map<string, unknown>> => {
    const page = await fd.changes.page({ since, include: 'values', limit: 10_000 })
    const changes = page.changes.map(({ json }) => JSON.parse(json.toString()))
    for (const { change } of changes) expect(change).toBe('created')
    return new Map(
      changes.map(({ oid, class: name, after }) => [oid, { name, after: { ...after, __identifier__: '' } }]),
    )
  }
  const now = async (): Promise<string> => {
    return (await fd.changes.page({ since: 'now', include: 'values', limit: 1 })).position
  }
  const [start, together] = [await now(), await fd.createObjects(given)]
  const packed = await told(start)
  expect([...packed.keys()].toSorted()).toEqual(together.toSorted())
  for (const oid of together) await fd.deleteObject(oid)
  const [later, inTurn] = [await now(), [] as string[]]
  for (const one of given) inTurn.push(await fd.createObject(one.class, one.attributes ?? {}))
  const single = await told(later)
  expect(together.map((oid) => packed.get(oid))).toEqual(inTurn.map((oid) => single.get(oid)))
  await fd.close()
})

it('an array of a transaction that goes the usual way after all has the OIDs of its rehearsal, and uses no others', async () => {
  await withFd([classOf('A', { n: 'integer' })], async (fd) => {
    // The class is named only by the last object, which ends the packing.
    const given = Array.from({ length: 60 }, (_, i) => ({ class: 'A', attributes: { [i === 59 ? 'A::n' : 'n']: i } }))
    const seen: (readonly string[])[] = []
    await fd.transaction(async (step) => {
      seen.push(await step(1).createObjects(given), await step(2).createObjects(given))
    }, true)
    expect(seen).toHaveLength(4)
    expect(seen.slice(2)).toEqual(seen.slice(0, 2))
    const next = await fd.createObject('A', {})
    const slots = [...seen.slice(2).flat(), next].map((oid) => Number(oid.split('-').at(-1)))
    expect(slots).toEqual(slots.map((_, i) => (slots[0] as number) + i))
  })
})

it('few objects, and those of classes with links, go the usual way', async () => {
  const { fd, arePacked } = await openWatched()
  const makers = await makersOf(fd)
  const create = (all: Creation[]): Promise<unknown> => fd.createObjects(all)
  arePacked.length = 0
  await create(creations(20, makers))
  await create(Array.from({ length: 200 }, (_, i) => ({ class: 'Thing', attributes: { name: `many ${i}` } })))
  await create(Array.from({ length: 60 }, () => ({ class: 'Part', attributes: {} })))
  expect(arePacked).toEqual([false, true, false])
  await fd.close()
})

it.each(faults)('%s: nothing is created, and the error tells its place', async (_what, type, fault) => {
  await withFd(classes, async (fd) => {
    const makers = await makersOf(fd)
    const gone = await fd.createObject('Maker', {})
    await fd.deleteObject(gone)
    const thing = await fd.createObject('Thing', { name: 'taken' })
    const given = fault(creations(120, makers), { gone, thing })
    const before = await count(fd)
    const error = await errorOf(fd.createObjects(given))
    expect(error.type).toBe(type)
    expect(error.positions).toEqual([77])
    expect(await count(fd)).toBe(before)
  })
})

it('a reference to an object that the same array creates is what it is one by one', async () => {
  const node = [classOf('Node', { next: toOne('Node') })]
  await withFd(node, async (fd) => {
    const oid = await fd.createObject('Node', {})
    const slotOf = (text: string): number => Number(text.split('-').at(-1))
    const guessed = (distance: number): string => oid.replace(/\d+$/, String(slotOf(oid) + distance))
    const chain = (to: (nth: number) => number, length: number): Creation[] => {
      return Array.from({ length }, (_, nth) => ({ class: 'Node', attributes: { next: guessed(to(nth)) } }))
    }
    // Each refers to the one before it; the first to one that was there.
    const oids = await fd.createObjects(chain((nth) => nth, 100))
    expect((await read(fd, oids[99] as string)).next).toBe(oids[98])
    // Each to itself, and to one behind all.
    const last = slotOf(oids[99] as string) - slotOf(oid)
    expect(await outcome(fd.createObjects(chain((nth) => last + 1 + nth, 100)))).toBe('ok')
    expect(await outcome(fd.createObjects(chain((nth) => last + 500 + nth, 100)))).toBe('InvalidReference')
  })
})

it('how much one change may write is the same', async () => {
  const limits = { commitEntriesMax: 400 }
  await withFd(
    classes,
    async (fd) => {
      const makers = await makersOf(fd)
      expect(await outcome(fd.createObjects(creations(60, makers)))).toBe('ok')
      expect(await outcome(fd.createObjects(creations(300, makers)))).toBe('LimitExceeded')
    },
    limits,
  )
})
