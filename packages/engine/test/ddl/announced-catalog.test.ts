/** A process that changes the schema does not load the catalog that it has just written: it would keep every request waiting. */
import { describe, expect, it } from 'vitest'
import { CatalogCache, type Catalogs } from '../../src/catalog/catalog-cache.ts'
import { catalogPartRange } from '../../src/catalog/catalog-keys.ts'
import { FederatedDatabase } from '../../src/federated-database.ts'
import type { Snapshot, Store } from '../../src/store/store.ts'
import { withSnapshot } from '../../src/store/with-snapshot.ts'
import type { OpenDatabase } from '../../src/write/open-database.ts'
import { classOf, index, toMany, toOne } from '../engine/open-fd.ts'
import { openStoreOfRun } from '../store/store-of-run.ts'

const toWhole = { attributesToChange: [{ attributeName: 'note', logicalType: 'integer' }] }
const narrowed = {
  attributesToChange: [{ attributeName: 'target', logicalType: 'reference', referencedClass: 'Other' }],
}

const changes: Record<string, (fd: FederatedDatabase) => Promise<unknown>> = {
  'more classes': (fd) =>
    fd.defineClasses([classOf('Late', {}, { superClass: 'Note' }), classOf('Later', {})], 'create'),
  'an attribute more, which subclasses inherit': (fd) => {
    return fd.alterClass('Note', { attributesToAdd: [{ attributeName: 'more', logicalType: 'string' }] })
  },
  'a class that goes': (fd) => fd.deleteClass('Gone'),
  'an index': (fd) => fd.createIndex(index('byTitle', 'Note', true, 'title')),
  'an index that goes': (fd) => fd.deleteIndex('byNote'),
  'a type, online, with its index': (fd) => fd.alterClass('Note', toWhole),
  'a type, in one transaction': (fd) => fd.alterClass('Note', narrowed),
  'the steps of a transaction': (fd) => {
    return fd.transaction(async (step) => {
      await step(1).defineClasses([classOf('First', { a: 'string' })], 'create')
      await step(2).alterClass('First', { attributesToAdd: [{ attributeName: 'b', logicalType: 'string' }] })
      await step(3).createIndex(index('byB', 'First', false, 'b'))
      await step(4).createObject('First', { b: 'x' })
    }, false)
  },
  statements: async (fd) => {
    const text = "UPDATE SCHEMA { CREATE CLASS Said {a: String} }; CREATE Said {a: 'x'}"
    for await (const _ of (await fd.query({ text })).chunks);
  },
}

function catalogsOf(fd: FederatedDatabase): Catalogs {
  return (fd as unknown as { readonly database: OpenDatabase }).database.catalogs
}

describe('the catalog that a process has written', () => {
  for (const [what, change] of Object.entries(changes)) {
    it(`is not loaded, and is what a load would give: ${what}`, async () => {
      const store = await openStoreOfRun()
      let loads = 0
      const watched: Store = {
        ...store,
        async snapshot(options) {
          return countingLoads(await store.snapshot(options), () => loads++)
        },
      }
      // A look at the heartbeats of others between a commit and its announcement would load the catalog.
      const limits = { heartbeatIntervalMs: 3_600_000 }
      const fd = await FederatedDatabase.open({ alias: 'test', store: watched, limits })
      const attributes = { note: 'string', title: 'string', target: toOne('Note'), all: toMany('Note') }
      await fd.defineClasses([classOf('Note', attributes), classOf('Other', {}, { superClass: 'Note' })], 'create')
      await fd.defineClasses([classOf('Gone', { links: toMany('Note') })], 'create')
      await fd.createIndex(index('byNote', 'Note', false, 'note'))
      await fd.createObject('Note', { note: '7', title: 't' })
      loads = 0
      await change(fd)
      await fd.listClasses()
      expect(loads).toBe(0)
      await withSnapshot(store, async (snapshot) => {
        const kept = await catalogsOf(fd).at(snapshot)
        const loaded = await new CatalogCache(() => undefined).at(snapshot)
        expect(Buffer.from(kept.version)).toEqual(Buffer.from(loaded.version))
        expect(asStored(kept.state)).toEqual(asStored(loaded.state))
      })
      expect(loads).toBe(0)
      await fd.close()
    })
  }
})

it('nor is the one before it, while snapshots of both are open, whichever asks first', async () => {
  const store = await openStoreOfRun()
  const fd = await FederatedDatabase.open({ alias: 'test', store })
  await fd.defineClasses([classOf('Note', { note: 'string' })], 'create')
  await fd.listClasses()
  const catalogs = catalogsOf(fd)
  const early = await store.snapshot()
  // On some stores a snapshot is as of its first read.
  await catalogs.at(early)
  await fd.defineClasses([classOf('Late', {})], 'create')
  const late = await store.snapshot()
  let loads = 0
  const seen: string[] = []
  for (const snapshot of [late, early, late, late, early, late]) {
    const catalog = await catalogs.at(countingLoads(snapshot, () => loads++))
    seen.push(catalog.classes.map(({ name }) => name).join())
  }
  const [both, one] = ['Note,Late', 'Note']
  expect(seen).toEqual([both, one, both, both, one, both])
  expect(loads).toBe(0)
  for (const snapshot of [early, late]) snapshot.release()
  await fd.close()
})

/** Parts are kept in the order of their numbers. */
function asStored(state: object): unknown {
  const parts = JSON.parse(JSON.stringify(state)) as Record<string, unknown>
  for (const [name, part] of Object.entries(parts)) {
    if (Array.isArray(part)) parts[name] = part.toSorted((one, other) => one.number - other.number)
  }
  return parts
}

function countingLoads(snapshot: Snapshot, count: () => void): Snapshot {
  const classes = catalogPartRange('class')
  return {
    read: (...given) => snapshot.read(...given),
    view: (...given) => snapshot.view(...given),
    release: () => snapshot.release(),
    scan(range, ...rest) {
      if (range.from !== undefined && Buffer.compare(range.from, classes.from) === 0) count()
      return snapshot.scan(range, ...rest)
    },
  }
}
