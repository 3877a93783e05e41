/** Verifies backups without restoring them, and determines which points in time can be restored. */
import { existsSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { describeFileFailure } from '../store/lmdb/file-failure.ts'
import { backupPlace, chainOf, listBackups } from './backup-directory.ts'
import { checkEntryFile } from './entry-file.ts'
import { entriesSuffix, type Manifest, manifestSuffix } from './manifest.ts'
import { planRestore, type RestoreOptions, refuseFormat } from './restore-backup.ts'
import { noBackup, type RestorableTimes, restorableTimes } from './restore-point.ts'

export interface BackupsCheck {
  readonly directory: string
  /** Oldest first. */
  readonly backups: readonly Manifest[]
  /** One sentence per file that is damaged, missing or unreadable. */
  readonly problems: readonly string[]
  /** Entry files without a manifest, left by an interrupted backup or a lost manifest; they are not backups. */
  readonly withoutManifest: readonly string[]
  /** One element per intact full backup. */
  readonly restorable: readonly Restorable[]
}

export interface Restorable {
  /** The names of a full backup and its intact incremental backups. */
  readonly chain: readonly string[]
  /** Set if a restore with `until` is exact. */
  readonly times?: RestorableTimes
}

/** Checks all backups of a directory, or those to be restored with `until` or from one file. Throws if there is none, and the signal's reason. */
export async function checkBackups(path: string, options: RestoreOptions = {}): Promise<BackupsCheck> {
  const { directory, name } = await backupPlace(path)
  if (options.until !== undefined || name !== undefined) {
    const { chain } = await planRestore(path, options.until)
    return checkAll(directory, chain, [], [], options)
  }
  if (!existsSync(directory)) throw noBackup(`There is no directory ${directory}.`)
  const { all, damaged } = await listBackups(directory)
  if (all.length + damaged.length === 0) throw noBackup(`There is no backup in ${directory}.`)
  const names = await readdir(directory)
  const isAlone = (file: string): boolean =>
    file.endsWith(entriesSuffix) && !names.includes(`${basename(file, entriesSuffix)}${manifestSuffix}`)
  return checkAll(directory, all, damaged, names.filter(isAlone), options)
}

async function checkAll(
  directory: string,
  all: readonly Manifest[],
  damaged: readonly string[],
  withoutManifest: readonly string[],
  options: RestoreOptions,
): Promise<BackupsCheck> {
  const total = all.reduce((sum, { file }) => sum + file.bytes, 0)
  const problems = [...damaged]
  const backups: Manifest[] = []
  const intact: Manifest[] = []
  let before = 0
  for (const one of all) {
    const onProgress = (bytes: number): void => options.onProgress?.('checking', before + bytes, total)
    const found = await problemsOf(one, directory, all, { ...options, onProgress })
    before += one.file.bytes
    // It has expired and was removed during the check.
    if (found.length > 0 && !existsSync(join(directory, `${one.name}${manifestSuffix}`))) continue
    backups.push(one)
    if (found.length === 0) intact.push(one)
    problems.push(...found)
  }
  return { directory, backups, problems, withoutManifest, restorable: restorableOf(intact) }
}

async function problemsOf(
  one: Manifest,
  directory: string,
  all: readonly Manifest[],
  { signal, onProgress }: { readonly signal?: RestoreOptions['signal']; readonly onProgress: (bytes: number) => void },
): Promise<readonly string[]> {
  const problems: string[] = []
  const path = join(directory, `${one.name}${entriesSuffix}`)
  const note = (error: unknown): void => {
    if (signal?.aborted === true) throw error
    problems.push(`${describeFileFailure(error, path).replace(/\.$/, '')}.`)
  }
  try {
    // A broken chain is reported once, for the backup whose base is missing.
    if (one.base !== undefined && !all.some(({ id }) => id === one.base?.id)) chainOf(one, all)
    refuseFormat([one])
  } catch (error) {
    note(error)
  }
  await checkEntryFile(path, one.file, { signal, onProgress }).catch(note)
  return problems
}

function restorableOf(intact: readonly Manifest[]): readonly Restorable[] {
  return intact
    .filter(({ kind }) => kind === 'full')
    .map((full) => {
      const chain = [full]
      for (const one of intact) if (one.base !== undefined && one.base.id === chain.at(-1)?.id) chain.push(one)
      const times = restorableTimes(chain)
      return { chain: chain.map(({ name }) => name), ...(times === undefined ? {} : { times }) }
    })
}
