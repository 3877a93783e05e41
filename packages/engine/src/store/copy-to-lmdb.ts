/** Copies what a snapshot shows into a new LMDB store: the backup of stores that have no files of their own. */
import { resolve } from 'node:path'
import { copySnapshot } from './copy-store.ts'
import type { Snapshot } from './store.ts'

/**
 * Killed in between, it leaves a directory that no server opens. `location`: of the store that the snapshot is of. Throws an `Error` for the
 * operator when the directory holds something.
 */
export async function copyToLmdb(snapshot: Snapshot, location: string, directory: string): Promise<void> {
  const { makeBackup } = await import('./lmdb/make-backup.ts')
  return makeBackup(resolve(directory), async (into) => {
    const { openLmdbStore } = await import('./lmdb/lmdb-store.ts')
    const store = await openLmdbStore(into)
    try {
      await copySnapshot(snapshot, location, store)
    } finally {
      await store.close()
    }
  })
}
