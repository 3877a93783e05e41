/** The change log on LMDB, which keeps several commits in one entry and the latest beside the others: followed, removed, ended, and that of earlier formats. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { prefixEnd } from '../../src/bytes/key-space.ts'
import { logPrefix } from '../../src/change-log/log-keys.ts'
import { LogRemoval } from '../../src/changes/log-removal.ts'
import { FederatedDatabase } from '../../src/federated-database.ts'
import { defaultEngineLimits, type EngineLimits } from '../../src/limits.ts'
import { copyStore } from '../../src/storage/copy-store.ts'
import { storageFormat } from '../../src/storage/storage-format.ts'
import { appendedPart } from '../../src/store/append.ts'
import { blockPart } from '../../src/store/append-blocks.ts'
import { openLmdbStore } from '../../src/store/lmdb/lmdb-store.ts'
import type { Bytes, Store } from '../../src/store/store.ts'
import { classOf, outcome } from '../engine/open-fd.ts'
import { fixture } from '../format/fixture-files.ts'
import { withSnapshot } from '../store/bytes.ts'
import { temporaryPostgres } from '../store/postgres-stores.ts'
import { temporaryDirectory, temporaryLmdb } from '../store/temporary-stores.ts'

/** JSON whose shape a test knows and the compiler does not. */
type Told = ReturnType<typeof JSON.parse>

const unclosed = (store: Store): Store => ({ ...store, close: async () => undefined })

async function openLmdb(directory?: string): Promise<Store> {
  const store = await openLmdbStore(directory ?? (await temporaryDirectory()))
  onTestFinished(() => store.close())
  return store
}

async function withCars(store: Store, use: (fd: FederatedDatabase) => Promise<void>): Promise<void> {
  const fd = await FederatedDatabase.open({ alias: 'test', store: unclosed(store), changeLog: 'on' })
  await fd.defineClasses([classOf('Car', { license: 'string', year: 'integer' })], 'create')
  await use(fd)
  expect((await fd.verify()).problems).toEqual([])
  await fd.close()
}

async function all(fd: FederatedDatabase, since = 'first', limit = 1_000): Promise<Told[]> {
  const told: Told[] = []
  for (let from = since; ; ) {
    const page = await fd.changes.page({ since: from, include: 'values', limit })
    told.push(...page.changes.map(({ json }) => JSON.parse(json.toString())))
    from = page.position
    if (page.isAtEnd) return told
  }
}

/** How many entries the log has, and how many of them hold several commits. */
async function entriesOfLog(store: Store): Promise<{ readonly entries: number; readonly blocks: number }> {
  const range = { from: logPrefix, to: prefixEnd(logPrefix) }
  return withSnapshot(store, async (snapshot) => {
    const parts: number[] = []
    for await (const batch of snapshot.scan(range, (key: Bytes) => appendedPart(key))) parts.push(...batch)
    return { entries: parts.length, blocks: parts.filter((part) => part === blockPart).length }
  })
}

function removal(fd: FederatedDatabase, store: Store, limits: Partial<EngineLimits>): LogRemoval {
  const catalogs = (fd as unknown as { database: { catalogs: never } }).database.catalogs
  return new LogRemoval(store, catalogs, { ...defaultEngineLimits, ...limits })
}

describe('the log', () => {
  it('is followed from every position, whichever entry that is in', async () => {
    const store = await openLmdb()
    await withCars(store, async (fd) => {
      for (let year = 0; year < 60; year++) {
        const oid = await fd.createObject('Car', {
          license: 'x'.repeat((year % 5) * (year % 7 === 0 ? 900 : 40)),
          year,
        })
        if (year % 3 === 0) await fd.updateObject(oid, { license: 'changed' })
        if (year % 4 === 0) await fd.deleteObject(oid)
        if (year % 20 === 0)
          await fd.createObjects(Array.from({ length: 3 }, () => ({ class: 'Car', attributes: { year } })) as never)
      }
      const { entries, blocks } = await entriesOfLog(store)
      expect(blocks).toBeGreaterThan(3)
      expect(entries).toBeLessThan(60)
      const told = await all(fd)
      expect(await all(fd, 'first', 1)).toEqual(told)
      for (const [nth, { position }] of told.entries()) expect(await all(fd, position)).toEqual(told.slice(nth + 1))
    })
  })

  it('takes few bytes of an update: what it was, and what is another', async () => {
    const store = await openLmdb()
    await withCars(store, async (fd) => {
      const license = 'x'.repeat(400)
      const oid = await fd.createObject('Car', { license, year: 0 })
      const before = await entriesOfLog(store)
      for (let year = 1; year <= 8; year++) await fd.updateObject(oid, { year })
      expect((await entriesOfLog(store)).entries - before.entries).toBeLessThanOrEqual(2)
      const updates = (await all(fd)).filter(({ change }) => change === 'updated')
      expect(updates.map(({ before: old, after }) => [old.year, after.year])).toEqual(
        Array.from({ length: 8 }, (_, nth) => [nth, nth + 1]),
      )
    })
  })
})

describe('removal', () => {
  it('by age tells nothing of what is older, also where it shares an entry with what is not', async () => {
    const store = await openLmdb()
    await withCars(store, async (fd) => {
      for (let year = 0; year < 5; year++) await fd.createObject('Car', { year })
      const told = await all(fd)
      const { entries } = await entriesOfLog(store)
      await removal(fd, store, { changeLogMs: 1 }).runRound(Date.now() + 60_000)
      expect(await all(fd)).toEqual(told.slice(-1))
      expect(await outcome(all(fd, told.at(-3).position))).toBe('ChangesGone')
      expect(await all(fd, told.at(-2).position)).toEqual(told.slice(-1))
      // All of them are in the one that the last commit is in.
      expect((await entriesOfLog(store)).entries).toBe(entries)
      for (let year = 5; year < 60; year++) await fd.createObject('Car', { year, license: 'x'.repeat(100) })
      expect((await all(fd)).map(({ after }) => after.year)).toEqual(Array.from({ length: 56 }, (_, nth) => nth + 4))
      const grown = await entriesOfLog(store)
      await removal(fd, store, { changeLogMs: 1 }).runRound(Date.now() + 60_000)
      expect((await entriesOfLog(store)).entries).toBeLessThan(grown.entries)
      expect((await all(fd)).map(({ after }) => after.year)).toEqual([59])
    })
  })

  it('by age keeps what is younger of an entry that was begun long ago', async () => {
    const store = await openLmdb()
    await withCars(store, async (fd) => {
      for (let year = 0; year < 3; year++) await fd.createObject('Car', { year })
      await new Promise((resolve) => setTimeout(resolve, 400))
      const before = Date.now()
      for (let year = 3; year < 7; year++) await fd.createObject('Car', { year })
      await removal(fd, store, { changeLogMs: 60_000 }).runRound(before - 100 + 60_000)
      expect((await all(fd)).map(({ after }) => after.year)).toEqual([3, 4, 5, 6])
    })
  })

  it('by size counts entries of several commits, and keeps what is newest', async () => {
    const store = await openLmdb()
    await withCars(store, async (fd) => {
      const license = 'x'.repeat(1_500)
      await Promise.all(Array.from({ length: 3_000 }, (_, year) => fd.createObject('Car', { license, year })))
      const one = removal(fd, store, { changeLogBytesMax: 2 * 2 ** 20 })
      await one.runRound(Date.now())
      const kept = (await all(fd)).length
      expect(kept).toBeGreaterThan(600)
      expect(kept).toBeLessThan(2_200)
      await Promise.all(Array.from({ length: 1_000 }, (_, year) => fd.createObject('Car', { license, year })))
      await one.runRound(Date.now())
      const told = await all(fd)
      expect(told.length).toBeGreaterThan(600)
      expect(told.length).toBeLessThan(2_200)
      expect(told.at(-1)).toMatchObject({ change: 'created' })
    })
  })

  it('by size follows the data where no size is set, and leaves what subscriptions have not read', async () => {
    const store = await openLmdb()
    await withCars(store, async (fd) => {
      const position = async () => (await fd.changes.page({ since: 'now', include: 'keys', limit: 1 })).position
      const begin = await position()
      const subscription = fd.subscription('webhook a')
      await subscription.acquire(async () => begin)
      const oid = await fd.createObject('Car', { year: 0 })
      // Two megabytes of the log each.
      for (let year = 0; year < 56; year++)
        await fd.updateObject(oid, { license: String.fromCharCode(97 + (year % 26)).repeat(2 ** 20), year })
      /** Within two changes of the bound. */
      const expectFull = ({ size }: LogRemoval, mebibytes: number): void => {
        const bytesMax = mebibytes * 2 ** 20
        expect(size).toEqual({
          bytesMax,
          bytes: expect.toSatisfy((bytes) => bytes <= bytesMax && bytes > bytesMax - 2 ** 22),
        })
      }
      const one = removal(fd, store, {})
      expect(one.size).toBeUndefined()
      await one.runRound(Date.now())
      expect(one.size).toMatchObject({
        bytesMax: 64 * 2 ** 20,
        bytes: expect.toSatisfy((bytes) => bytes > 104 * 2 ** 20),
      })
      expect(await outcome(fd.changes.page({ since: begin, include: 'keys', limit: 1 }))).not.toBe('ChangesGone')
      await subscription.update({ position: await position() })
      // A third of what is stored.
      const larger = { ...store, stats: async () => ({ ...(await store.stats()), usedBytes: 300 * 2 ** 20 }) }
      const other = removal(fd, larger, {})
      await other.runRound(Date.now())
      expectFull(other, 100)
      await one.runRound(Date.now())
      expectFull(one, 64)
      expect(await outcome(fd.changes.page({ since: begin, include: 'keys', limit: 1 }))).toBe('ChangesGone')
      // Whoever has lost changes already keeps nothing.
      await subscription.update({ position: begin })
      for (let year = 0; year < 8; year++) await fd.updateObject(oid, { license: `${year}`.repeat(2 ** 20) })
      await one.runRound(Date.now())
      expectFull(one, 64)
      // An explicit size is exact, whoever is behind.
      await subscription.update({ position: 'first' })
      const exact = removal(fd, store, { changeLogBytesMax: 10 * 2 ** 20 })
      await exact.runRound(Date.now())
      expectFull(exact, 10)
    })
  })

  it('takes all of a log that was ended, also what is beside the other entries, and leaves the next one', async () => {
    const store = await openLmdb()
    const open = (changeLog: 'on' | 'off') =>
      FederatedDatabase.open({ alias: 'test', store: unclosed(store), changeLog })
    await withCars(store, async (fd) => void (await fd.createObject('Car', { year: 1 })))
    await (await open('off')).close()
    const fd = await open('on')
    await fd.createObject('Car', { year: 2 })
    await removal(fd, store, {}).runRound(Date.now())
    expect((await all(fd)).map(({ after }) => after?.year)).toEqual([2])
    expect((await entriesOfLog(store)).entries).toBe(1)
    await fd.close()
    const off = await open('off')
    await removal(off, store, {}).runRound(Date.now())
    expect((await entriesOfLog(store)).entries).toBe(0)
    expect(await outcome(all(off))).toBe('ChangeLogOff')
    await off.close()
  })

  it('takes nothing of a log that another process begins meanwhile', async () => {
    const store = await openLmdb()
    const open = (changeLog: 'on' | 'off') =>
      FederatedDatabase.open({ alias: 'test', store: unclosed(store), changeLog })
    await withCars(store, async (fd) => void (await fd.createObject('Car', { year: 1 })))
    const off = await open('off')
    let next: FederatedDatabase | undefined
    const turningOn: Store = {
      ...store,
      async commit(commit) {
        if (next === undefined) {
          next = await open('on')
          await next.createObject('Car', { year: 2 })
        }
        return store.commit(commit)
      },
    }
    await removal(off, turningOn, {}).runRound(Date.now())
    expect((await all(next as FederatedDatabase)).map(({ after }) => after?.year)).toEqual([2])
    expect((await entriesOfLog(store)).entries).toBe(1)
    await next?.close()
    await off.close()
  })
})

it.each([
  ['LMDB', 40, temporaryLmdb],
  ['PostgreSQL', 40, temporaryPostgres],
  ['PostgreSQL', 180, temporaryPostgres],
] as const)(
  'a copy to %s of %s commits has it, and is followed on from every position',
  async (_name, commits, kind) => {
    const [store, target] = [await openLmdb(), await kind.open()]
    await withCars(store, async (fd) => {
      for (let year = 0; year < commits; year++) await fd.createObject('Car', { year, license: 'x'.repeat(90) })
      await copyStore(store, target)
      const told = await all(fd)
      // PostgreSQL gives numbers behind those that it finds when it is opened.
      const copy = await FederatedDatabase.open({ alias: 'copy', store: (await kind.reopen?.(target)) as Store })
      expect(await all(copy)).toEqual(told)
      await copy.createObject('Car', { license: 'new' })
      for (const nth of [0, 1, 17, told.length - 1]) {
        const { position } = told[nth]
        expect((await all(copy, position)).at(-1)).toMatchObject({ change: 'created', after: { license: 'new' } })
        expect((await all(copy, position)).slice(0, -1)).toEqual(told.slice(nth + 1))
      }
      await copy.close()
    })
  },
)

it('a log that an earlier format has written is read on, and what comes later follows it', async () => {
  const [former, present] = [fixture('format-3'), fixture(`format-${storageFormat.version}`)]
  const tellingOf = async (lmdb: Buffer): Promise<{ store: Store; fd: FederatedDatabase }> => {
    const directory = await temporaryDirectory()
    await writeFile(join(directory, 'data.mdb'), lmdb)
    const store = await openLmdb(directory)
    return { store, fd: await FederatedDatabase.open({ alias: 'stored', store: unclosed(store) }) }
  }
  const [one, other] = [await tellingOf(former.lmdb), await tellingOf(present.lmdb)]
  const told = await all(one.fd)
  expect(told.length).toBeGreaterThan(100)
  // That format has no sequences.
  const isOfSequences = (change: Told): boolean => 'sequences' in change || 'isSequenceDeleted' in change
  expect(told).toEqual((await all(other.fd)).filter((change) => !isOfSequences(change)))
  const { blocks } = await entriesOfLog(one.store)
  expect(blocks).toBeLessThanOrEqual(1)
  const oid = await one.fd.createObject('Rock.Item', { name: 'later' })
  await one.fd.deleteObject(oid)
  expect(await all(one.fd, told.at(-1).position)).toMatchObject([
    { change: 'created', oid },
    { change: 'deleted', oid },
  ])
  expect((await all(one.fd)).slice(0, told.length)).toEqual(told)
  for (const { fd } of [one, other]) await fd.close()
})
