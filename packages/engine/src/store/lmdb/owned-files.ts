/**
 * Restricts the files of a store to the owner of its directory, and to its group if that may write to it. Files created by root are given to them, so
 * that they do not lock out the server.
 */
import {
  chmodSync,
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  mkdirSync,
  openSync,
  type Stats,
  statSync,
} from 'node:fs'
import { dirname, join, resolve } from 'node:path'

const permissions = 0o600
const directoryPermissions = 0o700
const groupWriteBit = 0o020
// Undefined on Windows.
const noLink = constants.O_NOFOLLOW ?? 0
const directoryOnly = constants.O_DIRECTORY ?? 0

/**
 * Creates an empty file unless it exists. It gets the owner (if this process runs as root) and the group of its directory; the group may write to it
 * if it may write to the directory.
 */
export function makeFile(path: string): void {
  const flags = constants.O_RDWR | constants.O_CREAT | constants.O_EXCL
  const descriptor = unlessThere(() => openSync(path, flags, permissions))
  if (descriptor === undefined) return
  try {
    handOver(descriptor, statSync(dirname(path)), 0o060)
  } finally {
    closeSync(descriptor)
  }
}

/** Creates a directory unless it exists, with owner and group as in `makeFile`. */
export function makeDirectoryLikeParent(path: string): void {
  if (unlessThere(() => mkdirSync(path, directoryPermissions) ?? true) === undefined || process.platform === 'win32')
    return
  const descriptor = openSync(path, constants.O_RDONLY | directoryOnly | noLink)
  try {
    handOver(descriptor, statSync(dirname(path)), 0o070)
  } finally {
    closeSync(descriptor)
  }
}

/**
 * Creates a directory and its missing parents; returns the first one created, if any. Node's own recursive form loops forever if a file system
 * refuses a directory as if its parent were missing, as /proc does.
 */
export function makeDirectories(directory: string): string | undefined {
  const missing: string[] = []
  for (let path = resolve(directory); !isThere(path); path = dirname(path)) missing.unshift(path)
  for (const path of missing) makeDirectory(path)
  return missing[0]
}

/** Accepts a directory that is created concurrently. */
function makeDirectory(path: string): void {
  try {
    mkdirSync(path, directoryPermissions)
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT' && isThere(dirname(path)))
      throw new Error(`no directory can be made in ${dirname(path)}; name another place`, { cause: error })
    if (systemErrorCode(error) !== 'EEXIST' || !statSync(path).isDirectory()) throw error
  }
}

function isThere(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined
}

/** Root works in directories of other users here: so links are not followed, and ownership changes only for files that root has just created. */
export function openWithoutLinks(path: string, access: 'read' | 'write'): number {
  return openSync(path, (access === 'write' ? constants.O_RDWR : constants.O_RDONLY) | noLink)
}

function unlessThere<T>(make: () => T): T | undefined {
  try {
    return make()
  } catch (error) {
    if (systemErrorCode(error) === 'EEXIST') return undefined
    throw error
  }
}

function handOver(descriptor: number, like: Stats, groupBits: number): void {
  const self = process.geteuid?.()
  if (self === undefined) return
  const made = fstatSync(descriptor)
  if (made.uid !== self) return
  const uid = self === 0 ? like.uid : self
  const mode = made.mode & 0o7777
  const shared = (like.mode & groupWriteBit) === 0 ? mode : mode | groupBits
  try {
    if (uid !== made.uid || like.gid !== made.gid) fchownSync(descriptor, uid, like.gid)
    if (shared !== mode) fchmodSync(descriptor, shared)
  } catch {
    // Not a member of that group, root of a container without that user, or a file system without owners: this process can still use the file, and
    // processes that cannot will report it.
  }
}

/** Whether no file can grow: the disk is full, or a limit is reached. */
export function isOutOfRoom(error: unknown): boolean {
  return ['ENOSPC', 'EDQUOT', 'EFBIG'].includes(String(systemErrorCode(error)))
}

/** Restricts a file that a library has created. */
export function closeFile(path: string): void {
  chmodSync(path, permissions)
}

/**
 * At most one warning for the operator, if the store is readable by other users, as those created by earlier versions are, or by the group although
 * that may not write to the directory, so that the store is not meant to be shared with it.
 */
export function wideRightsOf(directory: string): string[] {
  const data = statSync(join(directory, 'data.mdb'), { throwIfNoEntry: false })
  if (data === undefined || process.platform === 'win32') return []
  const { mode } = statSync(directory)
  const isShared = (mode & groupWriteBit) !== 0
  if ((data.mode & (isShared ? 0o006 : 0o066)) === 0 || (mode & (isShared ? 0o001 : 0o011)) === 0) return []
  for (let path = dirname(resolve(directory)); ; path = dirname(path)) {
    if ((statSync(path).mode & 0o011) === 0) return []
    if (path === dirname(path)) break
  }
  return [
    `Other users of this machine can read the store in ${directory}; to close it to them, run: chmod -R ${isShared ? 'o=' : 'go='} ${directory}`,
  ]
}

/** The error code of the operating system. */
export function systemErrorCode(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined
}
