/** The example of a driver keeps the promises of a store, and a database works on it. */
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { FederatedDatabase } from '../../src/federated-database.ts'
import { classOf, index, read } from '../engine/open-fd.ts'
import { storeConformance } from './conformance.ts'
import { openSqliteStore } from './sqlite-store.ts'
import { temporaryDirectory } from './temporary-stores.ts'
import { poisoned } from './wrappers/poisoned.ts'

const open = async () => openSqliteStore(join(await temporaryDirectory(), 'store.sqlite'))

storeConformance('sqlite', {
  isInOrder: true,
  isCostly: true,
  open,
  async reopen(store) {
    await store.close()
    return openSqliteStore(store.capabilities.location)
  },
})
storeConformance('poisoned sqlite', { isCostly: true, open: async () => poisoned(await open()) })

it('a database on it is created, changed, queried, verified, and opened again', async () => {
  const store = await open()
  const fd = await FederatedDatabase.open({ alias: 'test', store, changeLog: 'on' })
  await fd.defineClasses([classOf('City', { name: 'string', inhabitants: 'integer' })], 'create')
  await fd.createIndex(index('cityName', 'City', true, 'name'))
  const cities = Array.from({ length: 200 }, (_, i) => ({
    class: 'City',
    attributes: { name: `city ${i}`, inhabitants: i },
  }))
  const [first] = await fd.createObjects(cities)
  await expect(fd.createObject('City', { name: 'city 7' })).rejects.toMatchObject({ type: 'UniqueViolation' })
  await fd.updateObject(first as string, { inhabitants: 1_000 })
  await fd.close()
  const again = await FederatedDatabase.open({
    alias: 'test',
    store: await openSqliteStore(store.capabilities.location),
    changeLog: 'on',
  })
  expect((await read(again, first as string)).inhabitants).toBe(1_000)
  expect((await again.verify()).problems).toEqual([])
  const { changes } = await again.changes.page({ since: 'first', include: 'values', limit: 1_000 })
  const ofObjects = changes.map(({ json }) => JSON.parse(json.toString())).filter(({ oid }) => oid !== undefined)
  expect(ofObjects).toHaveLength(201)
  await again.close()
})
