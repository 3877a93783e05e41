/** The backup of stores that have no files of their own: what a snapshot shows is copied into a new LMDB store. */
import { resolve } from 'node:path'
import type { Snapshot, Store, StoreWithBackup } from '../store/store.ts'
import { onSnapshot } from '../store/with-snapshot.ts'
import { copySnapshot } from './copy-store.ts'

/** The store itself where it makes backups. One that is closed waits for those under way. */
export function withBackup(store: Store): StoreWithBackup {
  if (hasBackup(store)) return store
  const underWay = new Set<Promise<void>>()
  return {
    ...store,
    backup(directory) {
      const copying = onSnapshot(store, (snapshot) =>
        copyToLmdb(snapshot, store.capabilities.location, directory),
      ).finally(() => underWay.delete(copying))
      underWay.add(copying)
      return copying
    },
    async close() {
      await Promise.allSettled(underWay)
      return store.close()
    },
  }
}

function hasBackup(store: Store): store is StoreWithBackup {
  return store.backup !== undefined
}

/**
 * Killed in between, it leaves a directory that no server opens. `location`: of the store that the snapshot is of. Throws an `Error` for the
 * operator when the directory holds something.
 */
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
