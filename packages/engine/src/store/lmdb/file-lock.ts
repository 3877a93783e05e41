/** Advisory locks on whole files: between processes, and between two openings of a file in one process. */
import { closeSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

/** The part of fs-native-extensions that is used: OFD locks on Linux, flock on macOS, LockFileEx on Windows. */
interface LockBinding {
  /** A length of 0 is the whole file, the only length that macOS knows. Throws EAGAIN where another holds the lock. */
  tryLock(descriptor: number, offset: 0, length: 0, isExclusive: boolean): void
  unlock(descriptor: number, offset: 0, length: 0): void
}

/** A file that is open to be locked. The operating system releases its lock when the process ends, however it ends. */
export interface LockFile {
  /** False where another opening of the file holds a lock that excludes this one. Throws where the file system has no locks. */
  tryLock(mode: 'shared' | 'exclusive'): boolean
  unlock(): void
  /** The content is for other processes to read; on Windows only while the file is not locked. */
  read(): string
  write(content: string): void
  /** Releases the lock too. */
  close(): void
}

const permissions = 0o664
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

/** Opens the file, and makes it if need be. */
export function openLockFile(path: string): LockFile {
  const binding = lockBinding()
  const descriptor = openSync(path, 'a+', permissions)
  return {
    tryLock(mode) {
      try {
        binding.tryLock(descriptor, 0, 0, mode === 'exclusive')
        return true
      } catch (error) {
        if (isHeldByAnother(error)) return false
        throw error
      }
    },
    unlock: () => binding.unlock(descriptor, 0, 0),
    read: () => readFileSync(path, 'utf8'),
    write: (content) => writeFileSync(path, content),
    close: () => closeSync(descriptor),
  }
}

function isHeldByAnother(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EAGAIN'
}
