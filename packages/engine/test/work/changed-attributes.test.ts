/** What a change of some attributes costs: index keys of those attributes alone, and one read of the object. */
import { expect, it, vi } from 'vitest'
import { KeyWriter } from '../../src/bytes/key-writer.ts'
import { FederatedDatabase } from '../../src/federated-database.ts'
import { entityTagOf } from '../../src/objects/condition.ts'
import { openMemoryStore } from '../../src/store/memory/memory-store.ts'
import { classOf, index, toMany, toOne, withFd } from '../engine/open-fd.ts'
import { countingStore } from './count-work.ts'

const classes = [
  classOf('Address', { city: 'string', street: 'string' }, { isReferenceable: false }),
  classOf('Vehicle', {
    licence: 'string',
    km: 'integer',
    address: { logicalType: 'object', class: 'Address' },
    rentals: toMany('Rental', 'vehicle'),
  }),
  classOf('Rental', { days: 'integer', vehicle: toOne('Vehicle', 'rentals') }),
]

/** Index keys that are made while `act` runs: the texts and numbers in them. */
async function keyPartsDuring(act: () => Promise<unknown>): Promise<number> {
  const { prototype } = KeyWriter
  const spies = [vi.spyOn(prototype, 'text'), vi.spyOn(prototype, 'asciiText'), vi.spyOn(prototype, 'integer')]
  try {
    await act()
    return spies.reduce((sum, { mock }) => sum + mock.calls.length, 0)
  } finally {
    for (const spy of spies) spy.mockRestore()
  }
}

it('a change makes the keys of the indexes that have a changed attribute, and no others', () =>
  withFd(classes, async (fd) => {
    await fd.createIndex(index('byLicence', 'Vehicle', true, 'licence'))
    await fd.createIndex(index('byKm', 'Vehicle', false, 'km'))
    await fd.createIndex(index('byCity', 'Vehicle', false, 'address.city'))
    const oid = await fd.createObject('Vehicle', { licence: 'A', km: 1, address: { city: 'X', street: 'Y' } })
    const update = (attributes: object) => keyPartsDuring(() => fd.updateObject(oid, { ...attributes }))
    // Of each index the key before and the key after.
    expect(await update({ km: 2 })).toBe(2)
    expect(await update({ licence: 'B' })).toBe(2)
    expect(await update({ km: 3, licence: 'C' })).toBe(4)
    // The embedded object is given as a whole.
    expect(await update({ address: { street: 'Z' } })).toBe(2)
    expect(await update({ rentals: [await fd.createObject('Rental', {})] })).toBe(0)
    expect(await keyPartsDuring(() => fd.createObject('Vehicle', {}))).toBe(3)
    expect(await keyPartsDuring(() => fd.deleteObject(oid))).toBe(3)
    expect(await keyPartsDuring(async () => fd.query({ text: 'UPDATE Vehicle SET km TO km + 1' }))).toBe(2)
  }))

it('an object that is changed under a condition is read once', async () => {
  const { store, counts } = countingStore(await openMemoryStore())
  const fd = await FederatedDatabase.open({ alias: 'test', store })
  await fd.defineClasses(classes, 'create')
  const oid = await fd.createObject('Vehicle', { licence: 'A' })
  const tag = await entityTagOf(await fd.readObject(oid))
  const before = { ...counts }
  await fd.updateObject(oid, { km: 1 }, undefined, (found) => found === tag)
  expect(counts.copies - before.copies).toBe(0)
  // The other is of the catalog's version.
  expect(counts.views - before.views).toBe(2)
  await fd.close()
})
