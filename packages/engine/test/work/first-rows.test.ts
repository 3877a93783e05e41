/** The first rows of an index are read without counting how many entries it has for the predicate. */
import { expect, it } from 'vitest'
import { FederatedDatabase } from '../../src/federated-database.ts'
import { openMemoryStore } from '../../src/store/memory/memory-store.ts'
import type { Snapshot, Store } from '../../src/store/store.ts'
import { classOf, index } from '../engine/open-fd.ts'
import { rowValues } from '../row-texts.ts'

const texts = {
  'a page in the order of the index': 'n >= 500 ORDER BY n TAKE 10',
  'a page that goes backwards': 'n <= 2500 ORDER BY n DESC TAKE 10',
  'a few of a range that has many': 'n >= 100 TAKE 10',
  'a few of those with a value that many have': 'even = true TAKE 10',
}

it('entries are not counted where the first of them are enough', async () => {
  const { store, passed } = countingScans(await openMemoryStore())
  const fd = await FederatedDatabase.open({ alias: 'test', store })
  await fd.defineClasses([classOf('Item', { n: 'integer', even: 'boolean' })], 'create')
  await fd.createIndex(index('byNumber', 'Item', false, 'n'))
  await fd.createIndex(index('byEven', 'Item', false, 'even'))
  const objects = Array.from({ length: 3_000 }, (_, n) => ({ class: 'Item', attributes: { n, even: n % 2 === 0 } }))
  await fd.createObjects(objects)
  for (const [name, where] of Object.entries(texts)) {
    passed.entries = 0
    expect(await rowValues(await fd.query({ text: `FROM Item WHERE ${where} RETURN n` })), name).toHaveLength(10)
    expect(passed.entries, name).toBeLessThan(100)
  }
  await fd.close()
})

function countingScans(store: Store): { readonly store: Store; readonly passed: { entries: number } } {
  const passed = { entries: 0 }
  const counting = (snapshot: Snapshot): Snapshot => ({
    view: (key, use) => snapshot.view(key, use),
    read: (keys, ranges) => snapshot.read(keys, ranges),
    scan(range, use, options) {
      const counted: typeof use = (key, value) => {
        passed.entries++
        return use(key, value)
      }
      return snapshot.scan(range, counted, options)
    },
    release: () => snapshot.release(),
  })
  return {
    passed,
    store: {
      ...store,
      async snapshot(options) {
        return counting(await store.snapshot(options))
      },
    },
  }
}
