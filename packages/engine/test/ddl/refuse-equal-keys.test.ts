/** Equal keys are found however many passes it takes to compare them. */
import { expect, it } from 'vitest'
import { CatalogCache } from '../../src/catalog/catalog-cache.ts'
import { refuseEqualKeys } from '../../src/ddl/refuse-equal-keys.ts'
import type { FederatedDatabase } from '../../src/federated-database.ts'
import { buildCatalog } from '../../src/schema/build-catalog.ts'
import type { Store } from '../../src/store/store.ts'
import { classOf, index, outcome, withFd } from '../engine/open-fd.ts'

async function inPasses(store: Store, name: string, keysMax: number): Promise<string> {
  const snapshot = await store.snapshot()
  const { state, version, indexByName } = await new CatalogCache(() => undefined).at(snapshot)
  const number = indexByName(name)?.number
  if (number === undefined) throw new Error(`there is an index ${name}`)
  const unique = { ...state, indexes: state.indexes.map((one) => ({ ...one, isUnique: true })) }
  const found = await outcome(refuseEqualKeys(snapshot, buildCatalog(unique, version), number, [], keysMax))
  snapshot.release()
  return found
}

async function fill(fd: FederatedDatabase, objects: number): Promise<void> {
  for (let n = 0; n < objects; n++) await fd.createObject('A', { n })
  await fd.createIndex(index('byN', 'A', false, 'n'))
}

it('in one pass and in many', () =>
  withFd([classOf('A', { n: 'integer' })], async (fd, store) => {
    await fill(fd, 20)
    for (const keysMax of [100, 7, 1]) expect(await inPasses(store, 'byN', keysMax)).toBe('ok')
    await fd.createObject('A', { n: 3 })
    for (const keysMax of [100, 7, 1]) expect(await inPasses(store, 'byN', keysMax)).toBe('UniqueViolation')
  }))
