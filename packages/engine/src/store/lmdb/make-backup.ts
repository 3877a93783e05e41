/** Makes a backup in a directory. Until it is complete, it cannot be opened as a store, and its directory cannot be used for a new store. */
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { syncDirectorySync, syncFile } from './environment.ts'
import { describeFileFailure } from './file-failure.ts'
import { closeFile, makeDirectories, systemErrorCode } from './owned-files.ts'

/** Exists in the directory of a backup from before anything else until the backup is complete and durable. */
const unfinishedName = 'backup.unfinished'

/**
 * `write` creates a `data.mdb` in the directory it receives, and possibly other files, which are removed. The directory of the backup is created if
 * needed. Throws an `Error` for the operator if it is not empty, if another backup into it is in progress or unfinished, and if this one fails: the
 * written files are removed then, and the directory stays marked as unfinished.
 */
export async function makeBackup(directory: string, write: (into: string) => Promise<void>): Promise<void> {
  const unfinished = claimDirectory(directory)
  try {
    await write(unfinished)
    const written = join(unfinished, 'data.mdb')
    closeFile(written)
    syncFile(written)
    renameSync(written, join(directory, 'data.mdb'))
    syncDirectorySync(directory)
  } catch (cause) {
    for (const name of readdirSync(unfinished)) rmSync(join(unfinished, name), { recursive: true, force: true })
    throw new Error(`The backup into ${directory} is not finished: ${describeFileFailure(cause, directory)}`, { cause })
  }
  rmSync(unfinished, { recursive: true, force: true })
  syncDirectorySync(directory)
}

/** Throws an `Error` with one sentence if a backup into the directory is not finished. */
export function refuseUnfinishedBackup(directory: string): void {
  if (!existsSync(join(directory, unfinishedName))) return
  throw new Error('a backup into it is not finished; delete that directory, and make the backup again')
}

/** Two backups cannot claim the same directory, nor can one begin while a store is being opened: see `checkDataFile`. */
function claimDirectory(directory: string): string {
  const firstMade = makeDirectories(directory)
  const unfinished = join(directory, unfinishedName)
  try {
    mkdirSync(unfinished)
  } catch (cause) {
    if (systemErrorCode(cause) !== 'EEXIST') throw cause
    throw new Error(
      `A backup into ${directory} is under way, or was not finished; where none is under way, delete that directory first.`,
      { cause },
    )
  }
  if (readdirSync(directory).length > 1) {
    rmSync(unfinished, { recursive: true, force: true })
    throw new Error(`The backup directory ${directory} is not empty.`)
  }
  syncDirectories(directory, firstMade)
  return unfinished
}

/** From `directory` up to the parent of the first directory made, or `directory` alone if none was. */
function syncDirectories(directory: string, firstMade: string | undefined): void {
  const last = firstMade === undefined ? resolve(directory) : dirname(resolve(firstMade))
  for (let path = resolve(directory); ; path = dirname(path)) {
    syncDirectorySync(path)
    if (path === last) return
  }
}
