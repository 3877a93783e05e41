/** A second handle on an LMDB store that this process has open, for a worker thread: it reads, and forwards commits. */
import { openSync } from 'node:fs'
import { join } from 'node:path'
import { open } from 'lmdb'
import { newCommitCounts } from '../commit-counts.ts'
import { onlyInMainThread } from '../only-in-main-thread.ts'
import { trackOpenSnapshots } from '../open-snapshots.ts'
import type { Store } from '../store.ts'
import { EntryChecks } from './entry-checks.ts'
import { environmentSettings } from './environment.ts'
import type { RootDatabase } from './lmdb-js.ts'
import { lmdbCapabilities } from './lmdb-store.ts'
import type { LmdbSnapshot } from './snapshot.ts'
import { ReadsRefused } from './storage-failure.ts'
import { openEntriesToRead } from './storage-layout.ts'
import { StoreSnapshot } from './store-snapshot.ts'
import { identityOfFile, readThreadAddress } from './thread-address.ts'

/**
 * The main thread keeps the directory open and locked while this handle exists: lmdb-js shares one environment between the threads of a process.
 * `commit` forwards commits to the main thread, so that all commits of the process use one queue.
 */
export function openLmdbThreadStore(address: string, commit: Store['commit']): Store {
  const { directory, file } = readThreadAddress(address)
  // Never closed, since closing a file would release the POSIX locks that the process has on it.
  const descriptor = openSync(join(directory, 'data.mdb'), 'r')
  const identity = identityOfFile(descriptor)
  if (file !== '' && identity !== file) throw new Error('The data file was replaced meanwhile.')
  const root = open(directory, environmentSettings) as unknown as RootDatabase
  const { environment, layout } = openEntriesToRead(root)
  const { pageSize: pageBytes } = environment.getStats()
  environment.dataFile = { descriptor, identity, pageBytes, verifiedPages: undefined }
  const checks = new EntryChecks(layout)
  const snapshots = trackOpenSnapshots<LmdbSnapshot>()
  return {
    capabilities: lmdbCapabilities(directory, layout),
    snapshot(how) {
      try {
        return snapshots.add(new StoreSnapshot(environment, checks, snapshots.remove, how))
      } catch (error) {
        // The next thread opens the environment again.
        if (error instanceof ReadsRefused) setImmediate(throwAgain, error)
        throw error
      }
    },
    commit,
    counts: newCommitCounts(),
    async stats() {
      throw onlyInMainThread
    },
    ...snapshots.storeMethods,
    async close() {
      snapshots.releaseAll()
      await root.close()
    },
  }
}

/** As an uncaught exception, it ends the thread. */
function throwAgain(error: Error): never {
  throw error
}
