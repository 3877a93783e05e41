/** The store on LMDB: embedded, durable, shared between processes of one machine. */
import { mkdir, open, readdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { assert } from '../../errors.ts'
import { trackOpenSnapshots } from '../open-snapshots.ts'
import type { Store, StoreFacts, StoreStats } from '../store.ts'
import { type Environment, lmdbKeyBytesMax, lmdbValueBytesMax, openEnvironment } from './environment.ts'
import { openGroupCommit } from './group-commit.ts'
import { LmdbSnapshot } from './snapshot.ts'

/** Opens the store in a directory, and makes both if need be. Throws an `Error` for the operator when it cannot. */
export async function openLmdbStore(directory: string): Promise<Store> {
  const location = resolve(directory)
  const environment = openEnvironment(location)
  const group = openGroupCommit(environment)
  const snapshots = trackOpenSnapshots<LmdbSnapshot>()
  const backups = new Set<Promise<void>>()
  let closing: Promise<void> | undefined

  async function closeAll(): Promise<void> {
    await group.close()
    await Promise.allSettled(backups)
    snapshots.releaseAll()
    await environment.close()
  }

  return {
    facts: lmdbFacts(location),
    snapshot() {
      assert(closing === undefined, 'a snapshot is asked for before the store is closed')
      return snapshots.add(new LmdbSnapshot(environment, snapshots.remove))
    },
    commit: group.commit,
    async stats() {
      assert(closing === undefined, 'statistics are asked for before the store is closed')
      return { ...environmentStats(environment), oldestSnapshotMs: snapshots.oldestMs() }
    },
    async backup(to) {
      assert(closing === undefined, 'a backup is asked for before the store is closed')
      const backup = copyEnvironment(environment, resolve(to))
      backups.add(backup)
      await backup.finally(() => backups.delete(backup))
    },
    close() {
      closing ??= closeAll()
      return closing
    },
  }
}

function lmdbFacts(location: string): StoreFacts {
  return {
    kind: 'lmdb',
    location,
    isDurable: true,
    readsAreImmediate: true,
    snapshotsAreWhole: true,
    isSharedBetweenProcesses: true,
    keyBytesMax: lmdbKeyBytesMax,
    valueBytesMax: lmdbValueBytesMax,
  }
}

function environmentStats(environment: Environment): Omit<StoreStats, 'oldestSnapshotMs'> {
  environment.resetReadTxn()
  const stats = environment.getStats()
  return { entries: stats.entryCount, bytes: (stats.lastPageNumber + 1) * stats.pageSize }
}

/** The copy is a store of its own: opening its directory works. */
async function copyEnvironment(environment: Environment, to: string): Promise<void> {
  await mkdir(to, { recursive: true })
  if ((await readdir(to)).length > 0) throw new Error(`The backup directory ${to} is not empty.`)
  await environment.backup(to, false)
  const file = await open(join(to, 'data.mdb'), 'r+')
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}
