/** A table that is split by placement on one node: what holds for every store, by the statements that Citus gets. */
import { randomBytes } from 'node:crypto'
import { inject } from 'vitest'
import { openPostgresStore } from '../../src/store/postgres/postgres-store.ts'
import type { Store } from '../../src/store/store.ts'
import { storeConformance } from './conformance.ts'
import { oneNodeDatabase } from './one-node.ts'

const addresses = new WeakMap<Store, string>()
let database: Promise<string> | undefined

async function openAt(address: string): Promise<Store> {
  const store = await openPostgresStore(address)
  addresses.set(store, address)
  return store
}

storeConformance('one node', {
  async open() {
    database ??= oneNodeDatabase(inject('postgres'))
    return openAt(`${await database}?schema=test_${randomBytes(6).toString('hex')}&distribute=citus`)
  },
  async reopen(store) {
    await store.close()
    return openAt(addresses.get(store) ?? '')
  },
})
