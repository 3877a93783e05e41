/**
 * Keeps the files of a store to the owner of its directory, and to its group where that may write to it; files created by root are given to them, so that
 * they do not lock out the server.
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
const ofGroup = 0o070
const toWriteForGroup = 0o020
// Windows knows none of these.
const noLink = constants.O_NOFOLLOW ?? 0
const directoryOnly = constants.O_DIRECTORY ?? 0

/**
 * Makes an empty file, unless there is one. It gets the owner (where this process is root's) and the group of the directory that
 * it is in; the group may write to it where it may write to the directory.
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

/** Makes a directory, unless there is one: as `makeFile`. */
export function makeDirectoryLikeParent(path: string): void {
  if (unlessThere(() => mkdirSync(path, directoryPermissions) ?? true) === undefined || process.platform === 'win32')
    return
  const descriptor = openSync(path, constants.O_RDONLY | directoryOnly | noLink)
  try {
    handOver(descriptor, statSync(dirname(path)), ofGroup)
  } finally {
    closeSync(descriptor)
  }
}

/**
 * Makes a directory, and those above it that are not there; answers the first that it has made, if any. Node's own recursive form never ends where a
 * file system refuses a directory as if the one above it were not there, which /proc does.
 */
export function makeDirectories(directory: string): string | undefined {
  const missing: string[] = []
  for (let path = resolve(directory); !isThere(path); path = dirname(path)) missing.unshift(path)
  for (const path of missing) makeDirectory(path)
  return missing[0]
}

/** Unless somebody else makes it meanwhile. */
function makeDirectory(path: string): void {
  try {
    mkdirSync(path, directoryPermissions)
  } catch (error) {
    if (codeOf(error) === 'ENOENT' && isThere(dirname(path)))
      throw new Error(`no directory can be made in ${dirname(path)}; name another place`, { cause: error })
    if (codeOf(error) !== 'EEXIST' || !statSync(path).isDirectory()) throw error
  }
}

function isThere(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined
}

/** Root works in directories of others here: so no link is followed, and nothing changes hands that root has not just made. */
export function openWithoutLinks(path: string, access: 'read' | 'write'): number {
  return openSync(path, (access === 'write' ? constants.O_RDWR : constants.O_RDONLY) | noLink)
}

function unlessThere<T>(make: () => T): T | undefined {
  try {
    return make()
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return undefined
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
  const shared = (like.mode & toWriteForGroup) === 0 ? mode : mode | groupBits
  try {
    if (uid !== made.uid || like.gid !== made.gid) fchownSync(descriptor, uid, like.gid)
    if (shared !== mode) fchmodSync(descriptor, shared)
  } catch {
    // Not in that group, root of a container that does not have that user, a file system without owners: the file can be used by
    // this process all the same, and whoever cannot use it is told so.
  }
}

/** No file can take another byte: the disk is full, or a limit is reached. */
export function isOutOfRoom(error: unknown): boolean {
  return ['ENOSPC', 'EDQUOT', 'EFBIG'].includes(String(codeOf(error)))
}

/** A file that a library has made, by its own lights. */
export function closeFile(path: string): void {
  chmodSync(path, permissions)
}

/**
 * At most one sentence, for the operator, where others can read the store in the directory, as it is with those that earlier versions have made: other users, and the group
 * where that may not write to the directory, so that the store is not meant to be shared with it.
 */
export function wideRightsOf(directory: string): string[] {
  const data = statSync(join(directory, 'data.mdb'), { throwIfNoEntry: false })
  if (data === undefined || process.platform === 'win32') return []
  const { mode } = statSync(directory)
  const isShared = (mode & toWriteForGroup) !== 0
  if ((data.mode & (isShared ? 0o006 : 0o066)) === 0 || (mode & (isShared ? 0o001 : 0o011)) === 0) return []
  for (let path = dirname(resolve(directory)); ; path = dirname(path)) {
    if ((statSync(path).mode & 0o011) === 0) return []
    if (path === dirname(path)) break
  }
  return [
    `Other users of this machine can read the store in ${directory}; to close it to them, run: chmod -R ${isShared ? 'o=' : 'go='} ${directory}`,
  ]
}

/** The code of an error of the operating system. */
export function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined
}
