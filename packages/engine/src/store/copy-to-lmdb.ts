/** Copies what a snapshot shows into a new LMDB store: the backup of stores that have no files of their own. */
import { readdir } from 'node:fs/promises'
import { copySnapshot } from './copy-store.ts'
import { openLmdbStore } from './lmdb/lmdb-store.ts'
import type { Snapshot } from './store.ts'

/**
 * Killed in between, it leaves a store that no server opens. `location`: of the store that the snapshot is of. Throws an `Error` for the
 * operator when the directory holds something.
 */
export async function copyToLmdb(snapshot: Snapshot, location: string, directory: string): Promise<void> {
  const existing = await readdir(directory).catch(() => [])
  if (existing.length > 0) throw new Error(`The backup directory ${directory} is not empty.`)
  const store = await openLmdbStore(directory)
  try {
    await copySnapshot(snapshot, location, store)
  } finally {
    await store.close()
  }
}
