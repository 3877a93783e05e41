/** Advisory locks on whole files: between processes, and between two openings of a file in one process. */
import { close, closeSync, fstatSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { codeOf, makeFile, openWithoutLinks } from './owned-files.ts'

/** The part of fs-native-extensions that is used: OFD locks on Linux, flock on macOS, LockFileEx on Windows. */
interface LockBinding {
  /** A length of 0 is the whole file, the only length that macOS knows. Throws EAGAIN where another holds the lock. */
  tryLock(descriptor: number, offset: 0, length: 0, isExclusive: boolean): void
  unlock(descriptor: number, offset: 0, length: 0): void
}

/** A file that is open to be locked. The operating system releases its lock when the process ends, however it ends. */
export interface LockFile {
  readonly descriptor: number
  /** False where another opening of the file holds a lock that excludes this one. Throws where the file system has no locks. */
  tryLock(mode: 'shared' | 'exclusive'): boolean
  unlock(): void
  /** False where the file was deleted or replaced since it was opened: others then lock another. */
  isInPlace(): boolean
  /** Releases the lock too. */
  close(): void
  /**
   * The same, but the lock is released soon, and nobody waits for it: the last who closes a deleted file of gigabytes takes seconds, since the
   * operating system then gives back its pages in memory and its room on the disk.
   */
  closeAside(): void
}

const attemptsMax = 10
let loaded: LockBinding | undefined

/**
 * The prebuilt binary itself, by its place in the package: the package's own loader looks on Alpine Linux for a variant that
 * it does not have, though the one for Linux needs nothing there that musl lacks.
 */
function lockBinding(): LockBinding {
  if (loaded !== undefined) return loaded
  const platform = `${process.platform}-${process.arch}`
  try {
    const require = createRequire(import.meta.url)
    const folder = dirname(require.resolve('fs-native-extensions/package.json'))
    loaded = require(join(folder, 'prebuilds', platform, 'fs-native-extensions.node')) as LockBinding
    return loaded
  } catch (cause) {
    throw new Error(`file locks are not available on this platform (${platform})`, { cause })
  }
}

/** Opens the file, and makes it if need be: empty, so that a full disk does not matter. */
export function openLockFile(path: string): LockFile {
  const binding = lockBinding()
  for (let attempt = 1; ; attempt += 1) {
    makeFile(path)
    try {
      return lockFile(binding, path, openWithoutLinks(path, 'write'))
    } catch (error) {
      // Deleted in between.
      if (codeOf(error) !== 'ENOENT' || attempt >= attemptsMax) throw error
    }
  }
}

/** Whether another opening of the file holds it exclusively. Throws where the file cannot be read, with the code of the failure. */
export function isLocked(path: string): boolean {
  const file = openLockFileToRead(path)
  try {
    return !file.tryLock('shared')
  } finally {
    file.close()
  }
}

/** Opens a file that is there. */
export function openLockFileThere(path: string): LockFile {
  return lockFile(lockBinding(), path, openWithoutLinks(path, 'write'))
}

/** Opens a file that is there, also one that may not be written to: for shared locks only. */
export function openLockFileToRead(path: string): LockFile {
  return lockFile(lockBinding(), path, openWithoutLinks(path, 'read'))
}

function lockFile(binding: LockBinding, path: string, descriptor: number): LockFile {
  const opened = fstatSync(descriptor)
  return {
    descriptor,
    tryLock(mode) {
      try {
        binding.tryLock(descriptor, 0, 0, mode === 'exclusive')
        return true
      } catch (error) {
        if (codeOf(error) === 'EAGAIN') return false
        throw error
      }
    },
    unlock: () => binding.unlock(descriptor, 0, 0),
    isInPlace() {
      const found = statSync(path, { throwIfNoEntry: false })
      return found !== undefined && found.ino === opened.ino && found.dev === opened.dev
    },
    close: () => closeSync(descriptor),
    closeAside: () => close(descriptor),
  }
}
