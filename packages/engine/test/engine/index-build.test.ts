/** Indexes over objects that exist already: built while writes go on, and wholly or not at all. */
import { expect, it } from 'vitest'
import { FederatedDatabase } from '../../src/federated-database.ts'
import type { Commit, Store } from '../../src/store/store.ts'
import { leftOpen } from '../store/left-open.ts'
import { openStoreOfRun } from '../store/store-of-run.ts'
import { classOf, index, outcome, withFd } from './open-fd.ts'

const small = { indexBuildBatchObjects: 20 }
const classes = [
  classOf('Car', { license: 'string', year: 'integer' }),
  classOf('Truck', { load: 'integer' }, { superClass: 'Car' }),
]

async function fill(fd: FederatedDatabase, count: number): Promise<string[]> {
  const requests = Array.from({ length: count }, (_, i) => {
    return { class: i % 3 === 0 ? 'Truck' : 'Car', attributes: { license: `L${i}`, year: i % 50 } }
  })
  return fd.createObjects(requests)
}

it('creates, updates and deletes go on while an index is built; afterwards every entry is right', () =>
  withFd(
    classes,
    async (fd) => {
      const oids = await fill(fd, 600)
      let isBuilt = false
      let written = 0
      const writer = async (nth: number): Promise<void> => {
        while (!isBuilt) {
          const n = ++written
          const oid = oids[(n * 7 + nth) % 500] as string
          await fd.updateObject(oid, { license: `W${n}`, year: n % 50 })
          await fd.createObject('Car', { license: `N${n}` })
          if (n % 10 === 0) await outcome(fd.deleteObject(oids[500 + ((n / 10) % 100)] as string))
          // A store in memory answers at once: without this the build would never get its turn.
          await new Promise(setImmediate)
        }
      }
      const writers = Array.from({ length: 4 }, (_, nth) => writer(nth))
      await fd.createIndex(index('byLicense', 'Car', true, 'license'))
      await fd.createIndex(index('byYear', 'Car', false, 'year', 'license'))
      isBuilt = true
      await Promise.all(writers)
      expect(written).toBeGreaterThan(4)
      const [byLicense, byYear] = [await fd.readIndex('byLicense'), await fd.readIndex('byYear')]
      expect(byLicense).toMatchObject({ state: 'ready' })
      expect(byYear.entryCount).toBe((await fd.verify()).objects)
    },
    small,
  ))

it('a duplicate ends the build, and no index and no entry is left', () =>
  withFd(
    classes,
    async (fd) => {
      await fill(fd, 200)
      expect(await outcome(fd.createIndex(index('byYear', 'Car', true, 'year')))).toBe('UniqueViolation')
      expect(await fd.listIndexes()).toEqual([])
      expect((await fd.verify()).indexEntries).toBe(0)
      await fd.createObject('Car', { year: 3 })
    },
    small,
  ))

it('a client that goes away leaves no index', () =>
  withFd(
    classes,
    async (fd) => {
      await fill(fd, 200)
      const controller = new AbortController()
      const building = fd.createIndex(index('byYear', 'Car', false, 'year'), { signal: controller.signal })
      controller.abort(new Error('gone'))
      await expect(building).rejects.toThrow('gone')
      expect(await fd.listIndexes()).toEqual([])
      expect((await fd.verify()).indexEntries).toBe(0)
    },
    small,
  ))

/** Passes a number of commits on, and leaves the others unanswered, as a process that is gone does. */
function endingAfter(store: Store, commits: number): Store {
  let left = commits
  return {
    capabilities: store.capabilities,
    snapshot: () => store.snapshot(),
    commit: (commit: Commit) => (left-- > 0 ? store.commit(commit) : new Promise(() => undefined)),
    stats: () => store.stats(),
    close: () => store.close(),
  }
}

// The store stays open for the process that is taken for gone, which goes on reading.
it('an index that a stop found building is dropped once its process is known to be gone', async () => {
  const store = await openStoreOfRun()
  const first = await FederatedDatabase.open({ alias: 'first', store: leftOpen(store), limits: small })
  await first.defineClasses(classes, 'create')
  await fill(first, 200)
  // Session and sign of life, then the announcement of the index and three of its batches.
  const stopping = await FederatedDatabase.open({ alias: 'stopping', store: endingAfter(store, 6), limits: small })
  // Ends when it finds its index gone; a process that was killed would not even do that.
  void stopping.createIndex(index('byYear', 'Car', false, 'year')).catch(() => undefined)
  while (((await first.readIndex('byYear').catch(() => undefined))?.entryCount ?? 0) < 40)
    await new Promise(setImmediate)
  const second = await FederatedDatabase.open({
    alias: 'second',
    store: leftOpen(store),
    limits: { heartbeatIntervalMs: 10 },
  })
  while ((await second.listIndexes()).length > 0) await new Promise(setImmediate)
  expect(await second.verify()).toMatchObject({ problems: [], indexEntries: 0 })
  await second.createIndex(index('byYear', 'Car', false, 'year'))
  expect((await second.readIndex('byYear')).entryCount).toBe(200)
  await second.close()
  await first.close()
})

it('an index that is deleted while it is built stays deleted', () =>
  withFd(
    classes,
    async (fd) => {
      await fill(fd, 300)
      const building = outcome(fd.createIndex(index('byYear', 'Car', false, 'year')))
      while ((await outcome(fd.deleteIndex('byYear'))) !== 'ok') await new Promise(setImmediate)
      expect(await building).toBe('IndexNotFound')
      expect(await fd.listIndexes()).toEqual([])
    },
    small,
  ))
