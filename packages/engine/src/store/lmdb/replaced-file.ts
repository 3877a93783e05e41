/**
 * The protocol by which a compacted file replaces the data file of a store while processes have it open: the names of the files in the directory
 * meanwhile, and their meaning. See docs/decisions/0024-compaction.md.
 */
import { lstatSync, renameSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { syncDirectorySync } from './environment.ts'
import { type LockFile, openLockFileThere, openLockFileToRead } from './file-lock.ts'
import { processDirectory } from './live-processes.ts'
import { systemErrorCode } from './owned-files.ts'

export interface ReplacementPaths {
  readonly data: string
  readonly lock: string
  /** Links to the replaced file and its lock table, from just before the replacement until no process serves reads from it. */
  readonly dataBefore: string
  readonly lockBefore: string
  /** The directory in which the compacted file is written: a separate store. */
  readonly compacted: string
  /** Locked by the compacting process; while it exists, all other processes poll often. */
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

/** Device and inode, which survive renaming; undefined if there is no file. */
export function identityOf(path: string): string | undefined {
  const stats = statSync(path, { throwIfNoEntry: false })
  return stats === undefined ? undefined : `${stats.dev}:${stats.ino}`
}

/**
 * Locks the data file in shared mode; each handle of a store holds this lock on the file that it reads: a replaced file without locks is in use by no
 * process. Undefined if replacement is impossible: on Windows, where such a lock would also exclude LMDB, and if the file is a link.
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
 * Must be called with the gate held exclusively, before anything is opened. Completes the replacement of a killed process: the data file is replaced
 * or not, but the lock table may still be that of the replaced file.
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
  syncDirectorySync(directory)
}

/** Moves the prepared lock table, whose disk space is allocated, into place; if it is missing, LMDB creates one. */
export function replaceLockTable(prepared: string, lock: string): void {
  try {
    renameSync(prepared, lock)
  } catch (error) {
    if (systemErrorCode(error) !== 'ENOENT') throw error
    rmSync(lock, { force: true })
  }
}

/**
 * Must be called with the store open. Whether no process serves reads from a replaced file any more. Until then commits to the new file are
 * forbidden, since those reads would miss them. Removes the links to the replaced file afterwards.
 */
export function haveAllMoved(directory: string): boolean {
  const { data, dataBefore, lockBefore } = replacementPaths(directory)
  // Linked but not replaced: the compacting process was killed in between.
  if (identityOf(dataBefore) === identityOf(data)) return true
  let before: LockFile
  try {
    before = openLockFileThere(dataBefore)
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return true
    throw error
  }
  if (!before.tryLock('exclusive')) {
    before.close()
    return false
  }
  try {
    // In this order, since the next compaction begins when the data file is gone.
    rmSync(lockBefore, { force: true })
    rmSync(dataBefore, { force: true })
    return true
  } finally {
    // All other processes may have closed it already.
    before.closeAsync()
  }
}
