/**
 * How a compacted file replaces the data file of a store while processes have it open: the names of the files in the
 * directory in the meantime, and what they mean to a process that finds them. See docs/decisions/0024-compaction.md.
 */
import { lstatSync, renameSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { syncDirectory } from './environment.ts'
import { type LockFile, openLockFileThere, openLockFileToRead } from './file-lock.ts'
import { processDirectory } from './live-processes.ts'
import { codeOf } from './owned-files.ts'

export interface ReplacementPaths {
  readonly data: string
  readonly lock: string
  /** The file that was replaced, and its lock table: links, from just before it happens until no process serves reads of it. */
  readonly dataBefore: string
  readonly lockBefore: string
  /** Where the compacted file is written: a store of its own. */
  readonly compacted: string
  /** Held locked by the process that compacts the store; its presence asks all others to look often. */
  readonly announcement: string
}

export function replacementPaths(directory: string): ReplacementPaths {
  return {
    data: join(directory, 'data.mdb'),
    lock: join(directory, 'lock.mdb'),
    dataBefore: join(directory, 'data.before.mdb'),
    lockBefore: join(directory, 'lock.before.mdb'),
    compacted: join(directory, 'compacted'),
    announcement: join(processDirectory(directory), 'compaction'),
  }
}

/** By device and inode, which a file keeps under any name; undefined where there is none. */
export function identityOf(path: string): string | undefined {
  const stats = statSync(path, { throwIfNoEntry: false })
  return stats === undefined ? undefined : `${stats.dev}:${stats.ino}`
}

/**
 * Held, shared, by each handle of a store on the data file that its reads go to: a replaced file that nobody holds any more is
 * nobody's present. Undefined where a file in use is not replaced: on Windows, on which such a lock would also keep LMDB from the file,
 * and where it is a link.
 */
export function holdDataFile(path: string): LockFile | undefined {
  if (!isReplaceable(path)) return undefined
  const file = openLockFileToRead(path)
  if (file.tryLock('shared')) return file
  file.close()
  throw new Error(`${path} is locked by another program; end it`)
}

export function isReplaceable(path: string): boolean {
  return process.platform !== 'win32' && lstatSync(path, { throwIfNoEntry: false })?.isFile() === true
}

/**
 * Call it alone in the gate, before anything is opened. A process that was killed while it replaced the file has done so or not: in
 * between, only the lock table may still be that of the file before, and is then replaced too.
 */
export function settleReplacement(directory: string): void {
  const { data, lock, dataBefore, lockBefore, compacted } = replacementPaths(directory)
  const before = identityOf(dataBefore)
  if (before === undefined || before === identityOf(data)) {
    rmSync(dataBefore, { force: true })
    rmSync(lockBefore, { force: true })
    return
  }
  const lockInPlace = identityOf(lock)
  if (lockInPlace === undefined || lockInPlace !== identityOf(lockBefore)) return
  replaceLockTable(join(compacted, 'lock.mdb'), lock)
  syncDirectory(directory)
}

/** By one that has its place on the disk already; else by none, and LMDB makes one. */
export function replaceLockTable(prepared: string, lock: string): void {
  try {
    renameSync(prepared, lock)
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error
    rmSync(lock, { force: true })
  }
}

/**
 * Call it with the store open. Whether no process serves reads of a replaced file any more. Until then nobody may commit to the one in its place: the others
 * would not see it. What it is told by is cleared away then.
 */
export function haveAllMoved(directory: string): boolean {
  const { data, dataBefore, lockBefore } = replacementPaths(directory)
  // Linked, but not replaced: who compacted the store was killed in between.
  if (identityOf(dataBefore) === identityOf(data)) return true
  let before: LockFile
  try {
    before = openLockFileThere(dataBefore)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return true
    throw error
  }
  if (!before.tryLock('exclusive')) {
    before.close()
    return false
  }
  try {
    // In this order: the next compaction begins when the last is gone.
    rmSync(lockBefore, { force: true })
    rmSync(dataBefore, { force: true })
    return true
  } finally {
    // Whoever else had it open may have closed it already.
    before.closeAside()
  }
}
