/** The store on LMDB: embedded, durable, shared between processes of one machine. */
import { resolve } from 'node:path'
import { assert, fatalFailure } from '../../errors.ts'
import { newCommitCounts } from '../commit-counts.ts'
import { trackOpenSnapshots } from '../open-snapshots.ts'
import type { SnapshotOptions, StoreCapabilities, StoreOptions, StoreStats, StoreWithBackup } from '../store.ts'
import { tailKey } from './appended-tail.ts'
import { EntryChecks } from './entry-checks.ts'
import { lmdbKeyBytesMax, lmdbValueBytesMax } from './environment.ts'
import { type GroupCommit, openGroupCommit } from './group-commit.ts'
import type { Environment } from './lmdb-js.ts'
import { makeBackup } from './make-backup.ts'
import { type OpenEnvironment, openEnvironment } from './open-environment.ts'
import { wideRightsOf } from './owned-files.ts'
import { ReplacementWatch } from './replacement-watch.ts'
import type { LmdbSnapshot } from './snapshot.ts'
import { ReadsRefused } from './storage-failure.ts'
import type { StorageLayout } from './storage-layout.ts'
import { StoreSnapshot } from './store-snapshot.ts'
import { threadAddress } from './thread-address.ts'

/** The location in commit errors, which clients see: it must not reveal where the files are. */
const nameForClients = 'the database'

export interface LmdbStoreOptions extends StoreOptions {
  /** The store is only read, as by a copy. Stores of an earlier version, without checksums, must be opened like this. */
  readonly isReadOnly?: boolean
}

/**
 * Opens the store in a directory, and creates both if needed. Throws an `Error` for the operator on failure. A read of an entry whose checksum does
 * not match, or which is out of order, throws DataCorruption; so does a commit whose preconditions read one, without changing anything.
 */
export async function openLmdbStore(directory: string, options: LmdbStoreOptions = {}): Promise<StoreWithBackup> {
  const location = resolve(directory)
  const opened = await openEnvironment(location, options.isReadOnly === true)
  if (options.warn !== undefined) wideRightsOf(location).forEach(options.warn)
  const checks = new EntryChecks(opened.layout)
  const snapshots = trackOpenSnapshots<LmdbSnapshot>()
  const backups = new Map<Promise<void>, Environment>()
  let closing: Promise<void> | undefined
  const isRead = (former: Environment): boolean => snapshots.some(({ environment }) => environment === former)
  const isInUse = (former: Environment): boolean => isRead(former) || [...backups.values()].includes(former)
  const replacement = new ReplacementWatch(location, opened, isInUse, options.warn ?? process.emitWarning)
  const group = options.isReadOnly === true ? readOnly(location) : openGroup(opened, checks, replacement, options)

  /** LMDB's count includes the changes of a write transaction in progress, so wait for its end. */
  async function countedSnapshot(how: SnapshotOptions): Promise<LmdbSnapshot> {
    for (let sliced = group.sliced(); sliced !== undefined; sliced = group.sliced()) await sliced
    assert(closing === undefined, 'a snapshot is made before the store is closed')
    return snapshots.add(new StoreSnapshot(opened.environment, checks, snapshots.remove, how))
  }

  async function closeAll(): Promise<void> {
    try {
      await group.close()
    } catch (error) {
      snapshots.releaseAll()
      // No caller is waiting for it any more.
      void group.idle().then(closeRest).catch(process.emitWarning)
      throw error
    }
    await closeRest()
  }
  async function closeRest(): Promise<void> {
    await Promise.allSettled(backups.keys())
    snapshots.releaseAll()
    await replacement.close()
    await opened.close()
  }

  return {
    capabilities: lmdbCapabilities(location, opened.layout),
    snapshot(how) {
      assert(closing === undefined, 'a snapshot is asked for before the store is closed')
      if (how?.isCounted === true) return countedSnapshot(how)
      return snapshots.add(openSnapshot(opened.environment, checks, snapshots.remove, options, how))
    },
    threadAddress: () => threadAddress(location, opened.environment),
    commit: group.commit,
    lockCommits: group.lockCommits,
    counts: group.counts,
    stats: async () => statsWhileOpen(opened.environment, closing),
    ...snapshots.storeMethods,
    fileBytes: () => environmentStats(opened.environment).bytes,
    async backup(to) {
      assert(closing === undefined, 'a backup is asked for before the store is closed')
      const { environment } = opened
      const backup = makeBackup(resolve(to), (into) => backUp(environment, into))
      backups.set(backup, environment)
      await backup.finally(() => backups.delete(backup))
    },
    problem: () => problemOf(opened, group),
    nameEntriesBy(nameOf) {
      checks.nameOf = nameOf
    },
    close() {
      closing ??= closeAll()
      return closing
    },
  }
}

function openSnapshot(
  environment: Environment,
  checks: EntryChecks,
  ended: (snapshot: LmdbSnapshot) => void,
  { onUnusable }: LmdbStoreOptions,
  how: SnapshotOptions | undefined,
): StoreSnapshot {
  try {
    return new StoreSnapshot(environment, checks, ended, how)
  } catch (error) {
    if (error instanceof ReadsRefused) onUnusable?.(error)
    throw error
  }
}

function problemOf({ files }: OpenEnvironment, group: GroupCommit): Error | undefined {
  const fileProblem = files.problem()
  return fileProblem === undefined ? group.problem() : fatalFailure(fileProblem)
}

function backUp(environment: Environment, to: string): Promise<void> {
  environment.visibleCommit?.ensure()
  return environment.backup(to, false)
}

/** Commits use the current environment. */
function openGroup(
  opened: OpenEnvironment,
  checks: EntryChecks,
  replacement: ReplacementWatch,
  { onUnusable }: LmdbStoreOptions,
): GroupCommit {
  return openGroupCommit({
    get environment() {
      return opened.environment
    },
    get files() {
      return opened.files
    },
    gate: opened.gate,
    note: opened.note,
    followReplacement: () => replacement.follow(),
    onUnusable,
    checks,
    location: nameForClients,
  })
}

function readOnly(location: string): GroupCommit {
  return {
    async commit() {
      throw new Error(`The LMDB store in ${location} is open for reading only.`)
    },
    async lockCommits() {
      throw new Error(`The LMDB store in ${location} is open for reading only.`)
    },
    counts: newCommitCounts(),
    sliced: () => undefined,
    problem: () => undefined,
    async close() {},
    async idle() {},
  }
}

export function lmdbCapabilities(location: string, layout: StorageLayout): StoreCapabilities {
  return {
    kind: 'lmdb',
    location,
    isDurable: true,
    hasSynchronousReads: true,
    hasConsistentSnapshots: true,
    isDistributed: false,
    canAppend: true,
    ...(layout === 'checked' ? {} : { lacksChecksums: true }),
    keyBytesMax: lmdbKeyBytesMax,
    valueBytesMax: lmdbValueBytesMax,
  }
}

function statsWhileOpen(environment: Environment, closing: unknown): StoreStats {
  assert(closing === undefined, 'statistics are asked for before the store is closed')
  return environmentStats(environment)
}

function environmentStats(environment: Environment): StoreStats {
  environment.visibleCommit?.ensure()
  environment.resetReadTxn()
  const stats = environment.getStats()
  const isTailThere = environment.list.getBinaryFast(tailKey) !== undefined
  const { pageSize, treeBranchPageCount, treeLeafPageCount, overflowPages } = stats
  return {
    entries: stats.entryCount + (isTailThere ? 1 : 0),
    bytes: (stats.lastPageNumber + 1) * pageSize,
    usedBytes: (treeBranchPageCount + treeLeafPageCount + overflowPages) * pageSize,
  }
}
