/** Backups of stores without files: a snapshot is copied into a new LMDB store. */
import { resolve } from 'node:path'
import type { Snapshot, Store, StoreWithBackup } from '../store/store.ts'
import { onSnapshot } from '../store/with-snapshot.ts'
import { copySnapshot } from './copy-store.ts'

/** Adds backups to the store, if it lacks them. Closing waits for backups in progress. */
export function withBackup(store: Store): StoreWithBackup {
  if (store.backup !== undefined) return store as StoreWithBackup
  const pending = new Set<Promise<void>>()
  return {
    ...store,
    backup(directory) {
      const copying = onSnapshot(store, (snapshot) =>
        copyToLmdb(snapshot, store.capabilities.location, directory),
      ).finally(() => pending.delete(copying))
      pending.add(copying)
      return copying
    },
    async close() {
      await Promise.allSettled(pending)
      return store.close()
    },
  }
}

/** If killed, leaves a directory that no server opens. `location`: of the source. Throws an `Error` for the operator if it is not empty. */
export async function copyToLmdb(snapshot: Snapshot, location: string, directory: string): Promise<void> {
  const { makeBackup } = await import('../store/lmdb/make-backup.ts')
  return makeBackup(resolve(directory), async (into) => {
    const { openLmdbStore } = await import('../store/lmdb/lmdb-store.ts')
    const store = await openLmdbStore(into)
    try {
      await copySnapshot(snapshot, location, store)
    } finally {
      await store.close()
    }
  })
}
