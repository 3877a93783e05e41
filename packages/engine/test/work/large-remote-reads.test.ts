/** Reads of large objects of a store that is elsewhere: however many come together, a few hold their records and texts at a time. */
import { expect, it } from 'vitest'
import { FederatedDatabase } from '../../src/federated-database.ts'
import { openMemoryStore } from '../../src/store/memory/memory-store.ts'
import { ReadBatch } from '../../src/store/postgres/read-batch.ts'
import type { Store } from '../../src/store/store.ts'
import { classOf } from '../engine/open-fd.ts'
import { sometimesLater } from '../store/wrappers/sometimes-later.ts'

/** The store, and how many of its snapshots were open together at the most. */
function counted(store: Store): { readonly store: Store; readonly counts: { open: number; most: number } } {
  const counts = { open: 0, most: 0 }
  return {
    counts,
    store: {
      ...store,
      async snapshot(options) {
        const snapshot = await store.snapshot(options)
        counts.most = Math.max(counts.most, ++counts.open)
        const release = snapshot.release.bind(snapshot)
        snapshot.release = () => {
          counts.open--
          release()
        }
        return snapshot
      },
    },
  }
}

it('objects that are known to be large are read a few at a time, and others beside them', async () => {
  const { store, counts } = counted(sometimesLater(await openMemoryStore(), 7))
  const fd = await FederatedDatabase.open({ alias: 'test', store })
  await fd.defineClasses([classOf('Long', { text: 'string' })], 'create')
  const text = 'x'.repeat(2 ** 20)
  const [large, small] = await fd.createObjects([
    { class: 'Long', attributes: { text } },
    { class: 'Long', attributes: { text: 'short' } },
  ])
  const read = async (oid = ''): Promise<unknown> =>
    (JSON.parse(String(await fd.readObject(oid))) as { text: unknown }).text
  expect(await read(large)).toBe(text)
  counts.most = 0
  const all = await Promise.all(Array.from({ length: 40 }, () => read(large)))
  expect(all.every((one) => one === text)).toBe(true)
  expect(counts.most).toBeLessThanOrEqual(4)
  counts.most = 0
  await Promise.all(Array.from({ length: 40 }, () => read(small)))
  expect(counts.most).toBeGreaterThan(4)
  await fd.close()
})

it('many who ask PostgreSQL for a key together get the same bytes where these are shared, else bytes of their own', async () => {
  const key = Buffer.from('key')
  for (const isShared of [true, false]) {
    const batch = new ReadBatch(isShared)
    const asked = [batch.ask([key]), batch.ask([key])]
    const together = batch.take()
    expect(together.keys).toEqual([key])
    together.resolve([Buffer.from('value')])
    const [[one], [other]] = (await Promise.all(asked)) as [Buffer[], Buffer[]]
    expect([one, other]).toEqual([Buffer.from('value'), Buffer.from('value')])
    expect(one === other).toBe(isShared)
  }
})
