/** Backup directories: listing, chains of incremental backups, locking, and retention. */
import { existsSync } from 'node:fs'
import { open, readdir, rm, stat } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { type LockFile, openLockFile } from '../store/lmdb/file-lock.ts'
import { makeDirectories } from '../store/lmdb/owned-files.ts'
import { PlaceRefused } from '../store/place-refused.ts'
import { DamagedBackup } from './entry-file.ts'
import { entriesSuffix, type Manifest, manifestSuffix, readManifest, unfinishedSuffix } from './manifest.ts'

const lockName = 'backup.lock'

export interface Backups {
  /** Oldest first. */
  readonly all: readonly Manifest[]
  /** One sentence per manifest that cannot be read. */
  readonly damaged: readonly string[]
}

/** Returns an empty list for a missing directory. Throws an `Error` if it cannot be read or holds backups of a later format. */
export async function listBackups(directory: string): Promise<Backups> {
  const all: Manifest[] = []
  const damaged: string[] = []
  for (const name of existsSync(directory) ? await readdir(directory) : []) {
    if (!name.endsWith(manifestSuffix)) continue
    try {
      const manifest = await readManifest(join(directory, name))
      if (manifest !== undefined) all.push(manifest)
    } catch (error) {
      if (!(error instanceof DamagedBackup)) throw error
      damaged.push(error.message)
    }
  }
  return { all: all.sort((one, other) => (one.at < other.at ? -1 : 1)), damaged }
}

/** Returns the backups from the full one to `backup`, in restore order. Throws DamagedBackup if one is missing. */
export function chainOf(backup: Manifest, all: readonly Manifest[]): readonly Manifest[] {
  const chain = [backup]
  for (let first = backup; first.base !== undefined; chain.unshift(first)) {
    const { name, id } = first.base
    const found = all.find((one) => one.id === id && one.at < first.at)
    if (found === undefined)
      throw new DamagedBackup(`The backup ${first.name} goes on from ${name}, which is not there.`)
    first = found
  }
  return chain
}

export interface BackupPlace {
  readonly directory: string
  /** Set if the path names a single backup, undefined if it names a directory. */
  readonly name: string | undefined
}

/** Resolves a path that names a directory of backups or one file of a backup. */
export async function backupPlace(path: string): Promise<BackupPlace> {
  const absolute = resolve(path)
  const suffix = [manifestSuffix, entriesSuffix].find((one) => absolute.endsWith(one))
  const isThere = existsSync(absolute)
  const isDirectory = isThere && (await stat(absolute)).isDirectory()
  if (suffix === undefined && isThere && !isDirectory)
    throw new PlaceRefused(
      'wrongPlace',
      `${absolute} is a file; name a directory of backups, or a file of one of them (${entriesSuffix}).`,
    )
  if (suffix === undefined || isDirectory) return { directory: absolute, name: undefined }
  return { directory: dirname(absolute), name: basename(absolute, suffix) }
}

export class BackupInProgress extends PlaceRefused {
  constructor(message: string) {
    super('conflict', message)
  }
}

/** Locks the directory for this process, creating it if needed. Throws BackupUnderWay. */
export function lockBackups(directory: string): LockFile {
  makeDirectories(directory)
  const lock = openLockFile(join(directory, lockName))
  if (lock.tryLock('exclusive')) return lock
  lock.close()
  throw new BackupInProgress(`another backup into ${directory} is under way`)
}

/** Removes files left by killed backups. The caller must hold the lock. */
export async function removeLeftovers(directory: string, all: readonly Manifest[]): Promise<void> {
  const names = await readdir(directory)
  const backupNames = new Set([...all.map(({ name }) => name), ...manifestNames(names)])
  for (const name of names) {
    const isLeft = name.endsWith(entriesSuffix) && !backupNames.has(basename(name, entriesSuffix))
    if (isLeft || name.endsWith(unfinishedSuffix)) await rm(join(directory, name), { force: true })
  }
}

/** Includes damaged manifests, so that their entry files are not removed. */
function manifestNames(names: readonly string[]): string[] {
  return names.filter((name) => name.endsWith(manifestSuffix)).map((name) => basename(name, manifestSuffix))
}

/** Returns the backups older than `oldest` (ISO 8601) in removal order, except the latest one and those a retained backup depends on. */
export function expiredBackups(all: readonly Manifest[], oldest: string): readonly Manifest[] {
  const latest = all.at(-1)
  const needed = new Set<string>()
  for (const backup of all) if (backup.at >= oldest || backup === latest) markNeeded(backup, all, needed)
  return all.filter(({ id }) => !needed.has(id)).reverse()
}

/** Also marks backups of a broken chain: they may be useful once the chain is repaired. */
function markNeeded(backup: Manifest, all: readonly Manifest[], needed: Set<string>): void {
  for (let one: Manifest | undefined = backup; one !== undefined && !needed.has(one.id); ) {
    needed.add(one.id)
    const base: string | undefined = one.base?.id
    one = all.find(({ id }) => id === base)
  }
}

/** Removes the manifest first: entries without a manifest are not a backup. */
export async function removeBackup(directory: string, { name }: Manifest): Promise<void> {
  await rm(join(directory, `${name}${manifestSuffix}`), { force: true })
  await syncDirectory(directory)
  await rm(join(directory, `${name}${entriesSuffix}`), { force: true })
}

/** Makes creations, renames and removals in the directory durable. */
export async function syncDirectory(directory: string): Promise<void> {
  if (process.platform === 'win32') return
  const opened = await open(directory, 'r')
  try {
    await opened.sync()
  } finally {
    await opened.close()
  }
}
