/** Stores on the PostgreSQL of this run, each in a schema of its own. */
import { randomBytes } from 'node:crypto'
import { postgresOfRun } from '../../../../tools/postgres-of-run.ts'
import { openStore } from '../../src/storage/open-store.ts'
import type { Store } from '../../src/store/store.ts'
import type { Driver } from './conformance.ts'

const addresses = new WeakMap<Store, string>()

export function freshAddress(): string {
  return `${postgresOfRun()}?schema=test_${randomBytes(8).toString('hex')}`
}

async function openAt(address: string): Promise<Store> {
  const store = await openStore(address)
  addresses.set(store, address)
  return store
}

export const temporaryPostgres: Driver = {
  open: () => openAt(freshAddress()),
  async reopen(store: Store) {
    await store.close()
    return openAt(addresses.get(store)!)
  },
}
