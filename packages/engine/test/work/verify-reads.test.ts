/** What the consistency check reads of an object with many links: counted. */
import { expect, it } from 'vitest'
import { FederatedDatabase } from '../../src/federated-database.ts'
import { openMemoryStore } from '../../src/store/memory/memory-store.ts'
import { classOf, toMany, toOne } from '../engine/open-fd.ts'
import { countingStore, searchedBy } from './count-work.ts'

const noteBytes = 1_000_000

it('the record of an owner is read once, not for each of its link entries', async () => {
  const { store, counts } = countingStore(await openMemoryStore())
  const fd = await FederatedDatabase.open({ alias: 'test', store })
  await fd.defineClasses(
    [
      classOf('Hub', { note: 'string', spokes: toMany('Spoke', 'hub') }),
      classOf('Spoke', { hub: toOne('Hub', 'spokes') }),
    ],
    'create',
  )
  const hub = await fd.createObject('Hub', { note: 'x'.repeat(noteBytes) })
  await fd.createObjects(Array.from({ length: 2_000 }, () => ({ class: 'Spoke', attributes: { hub } })))
  counts.copiedBytes = 0
  const { problems, linkEntries } = await fd.verify()
  expect({ problems, linkEntries }).toEqual({ problems: [], linkEntries: 2_000 })
  expect(counts.copiedBytes).toBeGreaterThan(noteBytes)
  expect(counts.copiedBytes).toBeLessThan(2 * noteBytes)
  await fd.close()
})

it('the attribute of a link entry is not looked for among all classes, entry by entry', async () => {
  const fd = await FederatedDatabase.open({ alias: 'test', store: await openMemoryStore() })
  const others = Array.from({ length: 300 }, (_, i) => classOf(`Other${i}`, { a: 'integer', b: 'string' }))
  const pair = [classOf('Hub', { spokes: toMany('Spoke', 'hub') }), classOf('Spoke', { hub: toOne('Hub', 'spokes') })]
  await fd.defineClasses([...others, ...pair], 'create')
  const searchedWith = async (entries: number): Promise<number> => {
    const hub = await fd.createObject('Hub', {})
    await fd.createObjects(Array.from({ length: entries }, () => ({ class: 'Spoke', attributes: { hub } })))
    return searchedBy(() => fd.verify())
  }
  const few = await searchedWith(10)
  const many = await searchedWith(500)
  expect(many - few).toBeLessThan(500 * 20)
  await fd.close()
})
