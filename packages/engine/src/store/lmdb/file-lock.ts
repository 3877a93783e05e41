/** Advisory locks on entire files, between processes and between two open descriptors in one process. */
import { close, closeSync, fstatSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { makeFile, openWithoutLinks, systemErrorCode } from './owned-files.ts'

/** The part of fs-native-extensions in use: OFD locks on Linux, flock on macOS, LockFileEx on Windows. */
interface LockBinding {
  /** A length of 0 means the entire file, the only length that macOS supports. Throws EAGAIN if the lock is held elsewhere. */
  tryLock(descriptor: number, offset: 0, length: 0, isExclusive: boolean): void
  unlock(descriptor: number, offset: 0, length: 0): void
}

/** An open file to be locked. The operating system releases its lock when the process ends for any reason. */
export interface LockFile {
  readonly descriptor: number
  /** False if a conflicting lock is held through another descriptor. Throws if the file system does not support locks. */
  tryLock(mode: 'shared' | 'exclusive'): boolean
  unlock(): void
  /** False if the file was deleted or replaced since it was opened: later openers then lock another file. */
  isInPlace(): boolean
  /** Also releases the lock. */
  close(): void
  /**
   * Like `close`, but asynchronous, with the lock released soon: closing the last descriptor of a deleted file of gigabytes takes seconds, in which
   * the operating system frees its cached pages and disk space.
   */
  closeAsync(): void
}

const attemptsMax = 10
let loaded: LockBinding | undefined

/**
 * Loads the prebuilt binary by its path in the package: on Alpine Linux the package's loader looks for a variant that does not exist, although the
 * one for Linux also works with musl.
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

/** Opens the file and creates it if needed: empty, so that a full disk does not matter. */
export function openLockFile(path: string): LockFile {
  const binding = lockBinding()
  for (let attempt = 1; ; attempt += 1) {
    makeFile(path)
    try {
      return lockFile(binding, path, openWithoutLinks(path, 'write'))
    } catch (error) {
      // The file was deleted in between.
      if (systemErrorCode(error) !== 'ENOENT' || attempt >= attemptsMax) throw error
    }
  }
}

/** Whether the lock is held exclusively elsewhere. Throws the error of the file system if the file cannot be read. */
export function isLocked(path: string): boolean {
  const file = openLockFileToRead(path)
  try {
    return !file.tryLock('shared')
  } finally {
    file.close()
  }
}

/** Opens an existing file. */
export function openLockFileThere(path: string): LockFile {
  return lockFile(lockBinding(), path, openWithoutLinks(path, 'write'))
}

/** Opens an existing file, possibly read-only, for shared locks only. */
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
        if (systemErrorCode(error) === 'EAGAIN') return false
        throw error
      }
    },
    unlock: () => binding.unlock(descriptor, 0, 0),
    isInPlace() {
      const found = statSync(path, { throwIfNoEntry: false })
      return found !== undefined && found.ino === opened.ino && found.dev === opened.dev
    },
    close: () => closeSync(descriptor),
    closeAsync: () => close(descriptor),
  }
}
