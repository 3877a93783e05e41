/** Checks whether a directory may become the store that a command fills: a mistyped name must not put a store among other files. */
import { existsSync, readdirSync, realpathSync } from 'node:fs'
import { storeDirectory } from '@ashlar/engine/store-address'
import { conflictError } from '../errors/command-error.ts'

/** Each of these files indicates a store, whose content the command itself checks. */
const filesOfStores = ['data.mdb', 'lock.mdb', 'processes', 'backup.unfinished']
/** Created by the operating system in the root of a volume. */
const volumeEntries = ['lost+found']

/** Throws CommandError if the store at `address` would be created in a directory with foreign files. */
export function refuseForeignFiles(address: string): void {
  const directory = storeDirectory(address)
  if (directory === undefined) return
  const names = namesIn(directory)
  if (filesOfStores.some((name) => names.includes(name))) return
  const [foreign] = names.filter((name) => !volumeEntries.includes(name)).sort()
  if (foreign === undefined) return
  throw conflictError(
    `The directory ${directory} holds files that are not those of a store, such as ${foreign}; name a new or empty directory.`,
  )
}

/** Returns true if the path and the address of a store lead to the same existing directory. */
export function isDirectoryOf(path: string, address: string): boolean {
  const directory = storeDirectory(address)
  return (
    directory !== undefined &&
    existsSync(path) &&
    existsSync(directory) &&
    realpathSync(path) === realpathSync(directory)
  )
}

/** Returns no names if the directory cannot be read: opening the store reports that. */
function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory)
  } catch {
    return []
  }
}
