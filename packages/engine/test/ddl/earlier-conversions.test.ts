/** Objects whose type was changed by the first builds read as they did then: their shapes do not say that the rules are strict. */
import { expect, it } from 'vitest'
import { catalogKey } from '../../src/catalog/catalog-keys.ts'
import { FederatedDatabase } from '../../src/federated-database.ts'
import { decodeShape, encodeShape } from '../../src/schema/catalog-codec.ts'
import type { Store } from '../../src/store/store.ts'
import { classOf, read } from '../engine/open-fd.ts'
import { leftOpen } from '../store/left-open.ts'
import { openStoreOfRun } from '../store/store-of-run.ts'

const changed = [
  { attributeName: 'flag', logicalType: 'boolean' },
  { attributeName: 'number', logicalType: 'integer' },
  { attributeName: 'same', logicalType: 'string' },
]

/** As builds wrote it that knew no other rules. */
async function forgetRules(store: Store, shapeNumber: number): Promise<void> {
  const key = catalogKey('shape', shapeNumber)
  const snapshot = await store.snapshot()
  const { values } = await snapshot.read([key])
  snapshot.release()
  const shape = decodeShape(values[0] as Uint8Array)
  expect(shape.attributes.map(({ conversion }) => conversion)).toEqual(['strict', 'strict', undefined])
  const attributes = shape.attributes.map(({ number, spec }) => ({ number, spec }))
  await store.commit({
    changes: [{ kind: 'put', key, value: encodeShape({ ...shape, attributes }) }],
    preconditions: [],
  })
}

it('and those changed since by the strict rules', async () => {
  const store = await openStoreOfRun()
  const fd = await FederatedDatabase.open({ alias: 'now', store })
  await fd.defineClasses([classOf('A', { flag: 'integer', number: 'string', same: 'integer' })], 'create')
  const oid = await fd.createObject('A', { flag: 7, number: '+7', same: 5 })
  await fd.alterClass('A', { attributesToChange: changed }, { isLossAllowed: true })
  expect(await read(fd, oid)).toMatchObject({ flag: false, number: 0, same: '5' })
  await forgetRules(store, Number((await fd.readClass('A')).shapeNumber))
  const earlier = await FederatedDatabase.open({ alias: 'earlier', store: leftOpen(store) })
  expect(await read(earlier, oid)).toMatchObject({ flag: true, number: 7, same: '5' })
  await earlier.close()
  await fd.close()
})
