/** A change of class is planned once for each state of the catalog that it meets, and costs no more snapshots, commits and loads than it needs. */
import { beforeAll, describe, expect, it, vi } from 'vitest'
import { catalogVersionKey } from '../../src/bytes/key-space.ts'
import { catalogPartRange } from '../../src/catalog/catalog-keys.ts'
import { FederatedDatabase } from '../../src/federated-database.ts'
import * as planning from '../../src/schema/alter-class.ts'
import { openMemoryStore } from '../../src/store/memory/memory-store.ts'
import type { Commit, Snapshot, Store } from '../../src/store/store.ts'
import { classOf, index, read, toOne } from '../engine/open-fd.ts'

const noCosts = { plans: 0, snapshots: 0, commits: 0, catalogLoads: 0 }
let costs = { ...noCosts }

// Counts the computations of the next schema; what is counted is the real one.
beforeAll(() => {
  const { alterClass } = planning
  vi.spyOn(planning, 'alterClass').mockImplementation((...given) => {
    costs.plans++
    return alterClass(...given)
  })
})

/** Whoever reads the classes of the catalog loads all of it. */
function watched(snapshot: Snapshot): Snapshot {
  const classes = catalogPartRange('class')
  return {
    read: (...given) => snapshot.read(...given),
    view: (...given) => snapshot.view(...given),
    release: () => snapshot.release(),
    scan(range, ...rest) {
      if (range.from !== undefined && Buffer.compare(range.from, classes.from) === 0) costs.catalogLoads++
      return snapshot.scan(range, ...rest)
    },
  }
}

/** What to do just before, or just after, the next commit of the catalog. */
interface Interruption {
  before?(): Promise<unknown>
  after?(): Promise<unknown>
}

class CountingStore {
  next: Interruption = {}
  private readonly store: Store

  constructor(store: Store) {
    this.store = store
  }

  view(): Store {
    const { store } = this
    return {
      ...store,
      commit: (commit) => this.commit(commit),
      snapshot(options) {
        costs.snapshots++
        const snapshot = store.snapshot(options)
        return snapshot instanceof Promise ? snapshot.then(watched) : watched(snapshot)
      },
    }
  }

  private async commit(commit: Commit): ReturnType<Store['commit']> {
    costs.commits++
    if (![...commit.changes].some(({ key }) => Buffer.compare(key, catalogVersionKey) === 0))
      return this.store.commit(commit)
    const { before, after } = this.next
    this.next = {}
    await before?.()
    const outcome = await this.store.commit(commit)
    await after?.()
    return outcome
  }
}

/** `Note` with one object and, in `Other`, the same change made once before. */
async function withNotes(
  use: (fd: FederatedDatabase, oid: string, store: CountingStore) => Promise<void>,
  isIndexed = false,
): Promise<typeof costs> {
  const store = new CountingStore(await openMemoryStore())
  const fd = await FederatedDatabase.open({ alias: 'test', store: store.view() })
  const attributes = { note: 'string', title: 'string', target: toOne('Note') }
  await fd.defineClasses([classOf('Note', attributes), classOf('Other', { note: 'string' })], 'create')
  const oid = await fd.createObject('Note', { note: '7' })
  if (isIndexed) await fd.createIndex(index('byNote', 'Note', false, 'note'))
  await fd.alterClass('Other', toWhole)
  await fd.listClasses()
  costs = { ...noCosts }
  await use(fd, oid, store)
  const { plans, catalogLoads } = costs
  // Purges what the change has left, and ends the heartbeat, which is a commit.
  await fd.close()
  return { plans, catalogLoads, snapshots: costs.snapshots, commits: costs.commits - 1 }
}

const toWhole = { attributesToChange: [{ attributeName: 'note', logicalType: 'integer' }] }
const more = { attributesToAdd: [{ attributeName: 'more', logicalType: 'string' }] }
const narrowed = {
  attributesToChange: [{ attributeName: 'target', logicalType: 'reference', referencedClass: 'Other' }],
}

describe('one plan', () => {
  it('of an immediate change', async () => {
    const altered = await withNotes(async (fd) => void (await fd.alterClass('Note', more)))
    // A snapshot each for the change and for the two lists of what is to be purged.
    expect(altered).toEqual({ plans: 1, snapshots: 3, commits: 1, catalogLoads: 0 })
  })

  it('of an online change', async () => {
    const altered = await withNotes(async (fd) => void (await fd.alterClass('Note', toWhole)))
    // Snapshots: publish, count losses, complete, and the two lists. Commits: heartbeat, publish, complete.
    expect(altered).toEqual({ plans: 1, snapshots: 5, commits: 3, catalogLoads: 0 })
  })

  it('of an online change that rebuilds an index', async () => {
    const altered = await withNotes(async (fd) => void (await fd.alterClass('Note', toWhole)), true)
    // A commit more for the entries of the new index, and one for those of the old.
    expect(altered).toMatchObject({ plans: 1, commits: 5, catalogLoads: 0 })
    expect(altered.snapshots).toBeLessThanOrEqual(10)
  })

  it('of a transactional change', async () => {
    const altered = await withNotes(async (fd) => void (await fd.alterClass('Note', narrowed)))
    expect(altered).toMatchObject({ plans: 1, commits: 1, catalogLoads: 0 })
  })

  it('of a step of a transaction, and of its dry run', async () => {
    const altered = await withNotes(async (fd, oid) => {
      await fd.transaction(async (step) => {
        await step(1).previewAlteration('Note', toWhole)
        expect(costs.plans).toBe(1)
        await step(2).alterClass('Note', toWhole)
        expect(JSON.parse((await step(3).readObject(oid)).toString())).toMatchObject({ note: 7 })
      }, false)
    })
    expect(altered).toMatchObject({ plans: 2, commits: 1 })
  })

  it('of a dry run', async () => {
    const altered = await withNotes(async (fd) => void (await fd.previewAlteration('Note', toWhole)))
    expect(altered).toEqual({ plans: 1, snapshots: 1, commits: 0, catalogLoads: 0 })
  })
})

describe('another plan once others have changed the catalog', () => {
  const third = (fd: FederatedDatabase) => () => fd.defineClasses([classOf('Third', {})], 'create')

  it('before the new types are published', async () => {
    const { plans } = await withNotes(async (fd, oid, store) => {
      store.next = { before: third(fd) }
      await fd.alterClass('Note', toWhole)
      expect(await read(fd, oid)).toMatchObject({ note: 7 })
    })
    expect(plans).toBe(2)
  })

  it('before the change is complete, of which nothing of theirs is lost', async () => {
    const { plans } = await withNotes(async (fd, oid, store) => {
      store.next = { after: third(fd) }
      await fd.alterClass('Note', toWhole)
      expect(await read(fd, oid)).toMatchObject({ note: 7 })
      expect((await fd.listClasses()).map(({ className }) => className)).toEqual(['Note', 'Other', 'Third'])
      expect(await fd.readIndex('byNote')).toMatchObject({ state: 'ready', entryCount: 1 })
    }, true)
    expect(plans).toBe(2)
  })

  it('which may be of another kind', async () => {
    const { plans } = await withNotes(async (fd, oid, store) => {
      // The index is gone that would have had to be rebuilt: nothing stored is concerned any more.
      const toText = { attributesToChange: [{ attributeName: 'note', logicalType: 'string' }] }
      await fd.alterClass('Note', toWhole)
      costs = { ...noCosts }
      store.next = { before: () => fd.deleteIndex('byNote') }
      await fd.alterClass('Note', toText)
      expect(await read(fd, oid)).toMatchObject({ note: '7' })
    }, true)
    expect(plans).toBe(2)
  })
})
