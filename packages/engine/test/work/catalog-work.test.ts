/** What schemas of many classes cost, counted: each change and each look at them is linear in what there is. */
import { expect, it, vi } from 'vitest'
import { CatalogCache } from '../../src/catalog/catalog-cache.ts'
import { catalogPartRange } from '../../src/catalog/catalog-keys.ts'
import { FederatedDatabase } from '../../src/federated-database.ts'
import { recordFormats } from '../../src/records/record-formats.ts'
import { readDefineClasses } from '../../src/requests/read-class-descriptions.ts'
import { buildCatalog, emptyCatalogState } from '../../src/schema/build-catalog.ts'
import type { Catalog } from '../../src/schema/catalog.ts'
import { defineClasses } from '../../src/schema/define-classes.ts'
import { openMemoryStore } from '../../src/store/memory/memory-store.ts'
import type { Snapshot, Store } from '../../src/store/store.ts'
import { classOf, index, withFd } from '../engine/open-fd.ts'
import { leftOpen } from '../store/left-open.ts'
import { searchedBy, turnsDuring } from './count-work.ts'

const attributes = (n: number): Record<string, string> =>
  Object.fromEntries(Array.from({ length: n }, (_, i) => [`a${i}`, 'integer']))
const subclasses = (n: number): object[] =>
  Array.from({ length: n }, (_, i) => classOf(`Sub${i}`, {}, { superClass: 'Base' }))

function catalogOf(...batches: (readonly object[])[]): Catalog {
  return batches.reduce<Catalog>(
    (catalog, classes) => {
      const { state } = defineClasses(catalog, readDefineClasses(classes, 'createOrExtend'), { attributesMax: 1_000 })
      return buildCatalog(state, Buffer.from([1]))
    },
    buildCatalog(emptyCatalogState(), Buffer.from([0])),
  )
}

it('an attribute of a superclass is one object in the shapes of all classes that inherit it', () => {
  const { state } = catalogOf([classOf('Base', attributes(50)), ...subclasses(40)])
  const held = new Set(state.shapes.flatMap((shape) => shape.attributes))
  expect(state.shapes).toHaveLength(41)
  expect(held.size).toBe(50)
})

it('so it is when they are read, and an attribute that has changed its type is two', async () => {
  const store = await openMemoryStore()
  const fd = await FederatedDatabase.open({ alias: 'test', store })
  await fd.defineClasses([classOf('Base', attributes(5)), ...subclasses(4)], 'create')
  await fd.alterClass('Base', { attributesToChange: [{ attributeName: 'a2', logicalType: 'string' }] })
  const snapshot = await store.snapshot()
  const { state } = await new CatalogCache(() => undefined).at(snapshot)
  snapshot.release()
  const held = new Set(state.shapes.flatMap((shape) => shape.attributes))
  expect(state.shapes).toHaveLength(2 * 5)
  expect(held.size).toBe(5 + 1)
  await fd.close()
})

it('a look at classes that inherit much is not begun before somebody asks for their attributes', () => {
  const catalog = catalogOf([classOf('Base', attributes(50)), ...subclasses(40)])
  const [base, sub] = [catalog.classByName('Base'), catalog.classByName('Sub7')]
  expect(sub?.findAttribute('a7')).toBe(base?.findAttribute('a7'))
  // Without attributes of its own a class has those of its superclass as they are.
  expect(sub?.attributes).toBe(base?.attributes)
})

/** Of reading each class under its first shape, where all have had two. */
async function searchedByFormats(classes: number, attributesEach: number): Promise<number> {
  const names = Array.from({ length: classes }, (_, i) => `C${i}`)
  const catalog = catalogOf(
    names.map((name) => classOf(name, attributes(attributesEach))),
    names.map((name) => classOf(name, { more: 'string' })),
  )
  const formats = recordFormats(catalog)
  return searchedBy(() => {
    for (const cls of catalog.classes) formats.of(cls)
  })
}

it('the format of a class is made without a look at the shapes of others, or at each attribute for each', async () => {
  const few = await searchedByFormats(5, 10)
  expect((await searchedByFormats(50, 10)) / 10).toBeLessThan(2 * few)
  expect((await searchedByFormats(5, 100)) / 10).toBeLessThan(2 * few)
})

it('classes know their indexes without a look at those of others', async () => {
  const indexed = async (n: number): Promise<number> => {
    let searched = 0
    const classes = Array.from({ length: n }, (_, i) => classOf(`C${i}`, { a: 'integer' }))
    await withFd(classes, async (fd) => {
      for (let i = 0; i < n; i++) await fd.createIndex(index(`i${i}`, `C${i}`, false, 'a'))
      searched = await searchedBy(() =>
        fd.alterClass('C0', { attributesToAdd: [{ attributeName: 'b', logicalType: 'real' }] }),
      )
    })
    return searched
  }
  const [few, many] = [await indexed(5), await indexed(50)]
  expect(many).toBeLessThan(15 * few)
})

it('a class is covered by its own indexes and those of its superclasses, in the order in which they came', () =>
  withFd(
    [
      classOf('A', { a: 'integer' }),
      classOf('B', { b: 'integer' }, { superClass: 'A' }),
      classOf('C', { c: 'integer' }, { superClass: 'B' }),
    ],
    async (fd) => {
      await fd.createIndex(index('onC', 'C', true, 'c'))
      await fd.createIndex(index('onA', 'A', true, 'a'))
      await fd.createIndex(index('onB', 'B', true, 'b'))
      await fd.createObject('C', { a: 1, b: 1, c: 1 })
      for (const [taken, name] of [
        [{ a: 1, b: 2, c: 2 }, 'onA'],
        [{ a: 2, b: 1, c: 2 }, 'onB'],
        [{ a: 2, b: 2, c: 1 }, 'onC'],
        [{ a: 1, b: 1, c: 1 }, 'onC'],
      ] as const) {
        await expect(fd.createObject('C', taken)).rejects.toThrow(`unique index '${name}'`)
      }
    },
  ))

/** Counts the entries of a part of the catalog that are read. */
function countingPart(store: Store, part: 'class' | 'shape'): { store: Store; read: () => number } {
  const { from, to } = catalogPartRange(part)
  let read = 0
  const within = (key: Uint8Array): boolean => Buffer.compare(key, from) >= 0 && Buffer.compare(key, to) < 0
  const counting = (snapshot: Snapshot): Snapshot => ({
    view: (key, use) => snapshot.view(key, use),
    read: (keys, ranges) => snapshot.read(keys, ranges),
    scan: (range, use, options) =>
      snapshot.scan(
        range,
        (key, value) => {
          if (within(key)) read += 1
          return use(key, value)
        },
        options,
      ),
    release: () => snapshot.release(),
  })
  const snapshot: Store['snapshot'] = async (options) => counting(await store.snapshot(options))
  return { store: { ...store, snapshot }, read: () => read }
}

it('shapes that are known are not read again when another has changed the catalog', async () => {
  const memory = await openMemoryStore()
  const { store, read } = countingPart(memory, 'shape')
  const fd = await FederatedDatabase.open({ alias: 'test', store })
  const other = await FederatedDatabase.open({ alias: 'other', store: leftOpen(memory) })
  await other.defineClasses([classOf('Base', attributes(3)), ...subclasses(20)], 'create')
  await fd.listClasses()
  expect(read()).toBe(21)
  const oid = await fd.createObject('Sub3', { a0: 7 })
  await other.alterClass('Sub3', { attributesToAdd: [{ attributeName: 'b', logicalType: 'integer' }] })
  expect(JSON.parse((await fd.readObject(oid)).toString())).toMatchObject({ a0: 7, b: 0 })
  expect(read()).toBe(22)
  await other.alterClass('Base', { attributesToAdd: [{ attributeName: 'c', logicalType: 'integer' }] })
  expect(JSON.parse((await fd.readObject(oid)).toString())).toMatchObject({ a0: 7, b: 0, c: 0 })
  expect(read()).toBe(22 + 21)
  await other.close()
  await fd.close()
})

it('a snapshot from before a change has the shapes that there were then, also once later ones are known', async () => {
  const store = await openMemoryStore()
  const fd = await FederatedDatabase.open({ alias: 'test', store })
  await fd.defineClasses([classOf('A', { a: 'integer' })], 'create')
  const early = await store.snapshot()
  await fd.alterClass('A', { attributesToChange: [{ attributeName: 'a', logicalType: 'string' }] })
  const late = await store.snapshot()
  const cache = new CatalogCache(() => undefined)
  const shapes: number[] = []
  for (const snapshot of [late, early, late]) shapes.push((await cache.at(snapshot)).state.shapes.length)
  expect(shapes).toEqual([2, 1, 2])
  for (const snapshot of [early, late]) snapshot.release()
  await fd.close()
})

it('those who ask for the catalog at once have it read once, and listed once', async () => {
  const memory = await openMemoryStore()
  const { store, read } = countingPart(memory, 'class')
  const other = await FederatedDatabase.open({ alias: 'other', store: leftOpen(memory) })
  const fd = await FederatedDatabase.open({ alias: 'test', store })
  await other.defineClasses([classOf('Base', attributes(3)), ...subclasses(300)], 'create')
  const stringify = vi.spyOn(JSON, 'stringify')
  const lists = await Promise.all(Array.from({ length: 10 }, () => fd.listClassesJson()))
  const listed = stringify.mock.calls.length
  stringify.mockRestore()
  expect(read()).toBe(301)
  expect(listed).toBe(301)
  expect(new Set(lists).size).toBe(1)
  expect(JSON.parse((lists[0] as Buffer).toString())).toEqual(await other.listClasses())
  await other.close()
  await fd.close()
})

it('others have their turn while the shapes of many subclasses are written', () =>
  withFd([classOf('Base', attributes(3)), ...subclasses(200)], async (fd) => {
    const turns = await turnsDuring(() =>
      fd.alterClass('Base', { attributesToAdd: [{ attributeName: 'b', logicalType: 'integer' }] }),
    )
    expect(turns).toBeGreaterThan(20)
  }))

it('others have their turn while many classes with many attributes are read, defined and written', () =>
  withFd([], async (fd) => {
    const define = (count: number) => {
      const classes = Array.from({ length: count }, (_, i) => classOf(`Wide${count}x${i}`, attributes(30)))
      return turnsDuring(() => fd.defineClasses(classes, 'create'))
    }
    const few = await define(4)
    // Read, staged, typed, checked, shaped, and written as classes and shapes, with a look at the clock at least every fourth time.
    expect(await define(100)).toBeGreaterThan(few + 100)
  }))
