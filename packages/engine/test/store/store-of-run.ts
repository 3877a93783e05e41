/** The store on which a run has the tests of the engine: all of them in memory, many once more on PostgreSQL, and any on LMDB where one asks for it. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openLmdbStore } from '../../src/store/lmdb/lmdb-store.ts'
import { openMemoryStore } from '../../src/store/memory/memory-store.ts'
import type { Store } from '../../src/store/store.ts'
import { openKeptPostgres } from './kept-postgres.ts'

const kind = process.env.ASHLAR_TEST_STORE

export const isOnPostgres = kind === 'postgres'

export function openStoreOfRun(): Promise<Store> {
  if (isOnPostgres) return openKeptPostgres()
  return kind === 'lmdb' ? openFreshLmdb() : openMemoryStore()
}

/** Its files go once it is closed. */
async function openFreshLmdb(): Promise<Store> {
  const directory = mkdtempSync(join(tmpdir(), 'ashlar-of-run-'))
  const store = await openLmdbStore(directory)
  return {
    ...store,
    async close() {
      await store.close()
      rmSync(directory, { recursive: true, force: true })
    },
  }
}
