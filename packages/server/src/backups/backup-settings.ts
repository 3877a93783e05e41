/** The setting `backups`: the directory of backups, and the schedule. */
import { lstat, realpath } from 'node:fs/promises'
import { dirname, isAbsolute, join, relative, sep } from 'node:path'
import { AshlarError } from '@ashlar/engine'

export interface BackupSettings {
  /** An absolute path; each federated database has a directory in it, named after its alias. */
  readonly directory: string
  /** Interval between full backups; without it, none are scheduled. */
  readonly everyMs?: number | undefined
  /** Interval between backups of any kind. */
  readonly incrementalEveryMs?: number | undefined
  /** Age at which backups are removed. */
  readonly keepMs?: number | undefined
}

export function backupsOf({ directory }: BackupSettings, alias: string): string {
  return join(directory, alias)
}

/** Resolves a relative path below the backup directory. Throws MalformedValue for a path that leads out of it, also by a symbolic link. */
export async function pathBelow({ directory }: BackupSettings, path: string, flag: string): Promise<string> {
  const joined = join(directory, path)
  const isBelow = (found: string, root: string): boolean => {
    const way = relative(root, found)
    return way !== '' && way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way)
  }
  if (isAbsolute(path) || path.includes('\0') || !isBelow(joined, directory)) throw outside(flag)
  const [found, root] = await Promise.all([realpathOfExisting(joined), realpathOfExisting(directory)])
  if (found !== root && !isBelow(found, root)) throw outside(flag)
  return joined
}

/** Resolves the path, or the first existing directory above it. */
async function realpathOfExisting(path: string): Promise<string> {
  for (let there = path; ; there = dirname(there)) {
    const exists = await lstat(there).then(
      () => true,
      () => false,
    )
    // A dangling link exists, but its target is unknown.
    if (exists) return realpath(there).catch(() => sep)
    if (there === dirname(there)) return there
  }
}

function outside(flag: string): AshlarError {
  const message = `The flag ${flag} is a path below the directory of backups, without symbolic links out of it.`
  return new AshlarError('MalformedValue', message, [{ place: ['flags', flag], message }])
}
