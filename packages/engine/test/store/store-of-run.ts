/** The store on which a run has the tests of the engine: all of them in memory, and many once more on PostgreSQL. */
import { openMemoryStore } from '../../src/store/memory/memory-store.ts'
import type { Store } from '../../src/store/store.ts'
import { openKeptPostgres } from './kept-postgres.ts'

export const isOnPostgres = process.env.ASHLAR_TEST_STORE === 'postgres'

export function openStoreOfRun(): Promise<Store> {
  return isOnPostgres ? openKeptPostgres() : openMemoryStore()
}
