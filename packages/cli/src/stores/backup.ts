/** `ashlar backup` and `ashlar restore`: backups of stores that servers may be using, verified, and restored into empty stores. */

import type { BackupsCheck, Manifest, RestoreReport } from '@ashlar/engine'
import { readDuration } from '@ashlar/server/shared'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { addJsonOption } from '../declaration/client-command.ts'
import { interruptedError, invalidInput, usageError } from '../errors/command-error.ts'
import { printResult } from '../output/print-result.ts'
import { withProgress } from '../output/progress.ts'
import { countText, numberText } from '../output/texts.ts'
import { inChild } from './in-child.ts'
import { resumable } from './resumable.ts'
import { refuseAddresses } from './store-failure.ts'
import { isDirectoryOf, refuseForeignFiles } from './target-directory.ts'

interface BackupOptions {
  readonly incremental?: true
  /** Milliseconds. */
  readonly keep?: number
  readonly json?: true
  readonly quiet?: true
}

interface RestoreOptions {
  readonly until?: string
  readonly check?: true
  readonly json?: true
  readonly quiet?: true
}

export function addBackupCommand(program: Command): void {
  const command = program
    .command('backup <store> <path>')
    .summary('Back up a store, even while it is being served.')
    .description(
      'Back up a store, lmdb:<dir> or postgres://<host>/<database>, even while it is being served. A backup is a consistent snapshot, and is read back and verified. ' +
        'The path is a directory of backups, or a file ending in .entries for a single backup.',
    )
    .option('--incremental', 'back up only changes since the latest backup in the directory, from the change log')
    .option(
      '--keep <time>',
      'then remove backups older than this, such as 7d, unless backups that are kept depend on them',
      durationOf,
    )
    .addOption(new Option('-q, --quiet', 'print nothing unless there is a problem'))
  addJsonOption(command).action(async (store: string, path: string, options: BackupOptions) => {
    if (!store.includes(':'))
      command.error(
        `error: '${store}' is not a store address (lmdb:<dir> or postgres://<host>/<database>); to back up through a running server: ashlar tool run Backup --fd ${store}`,
      )
    if (options.incremental === true && path.endsWith('.entries'))
      command.error(
        'error: --incremental is for a directory of backups, and a path that ends in .entries is a single full backup',
      )
    await refuseAddresses([store], throughServer)
    if (isDirectoryOf(path, store))
      throw usageError('A store cannot be backed up into its own directory; name another.')
    return inChild('backup', [store], (signal) => backUp(store, path, options, signal))
  })
}

export function addRestoreCommand(program: Command): void {
  const command = program
    .command('restore <backup> [store]')
    .summary('Restore a backup into an empty store.')
    .description(
      'Restore a backup (a directory of backups, or a single file) into an empty store, lmdb:<dir> or postgres://<host>/<database>. ' +
        'If interrupted, run the same command again to resume. The store cannot be opened until the restore is complete.',
    )
    .option(
      '--until <moment>',
      'point-in-time restore: up to a time with its zone, or a position of the change log',
      momentOf,
    )
    .option(
      '--check',
      'restore nothing: read all backups of the directory, and tell which are damaged and what can be restored',
    )
    .addOption(new Option('-q, --quiet', 'print nothing unless there is a problem'))
  addJsonOption(command).action(async (path: string, store: string | undefined, options: RestoreOptions) => {
    if (options.check === true) return inChild('restore', [], (signal) => check(path, options, signal))
    if (store === undefined) command.error("error: missing required argument 'store' (not needed with --check)")
    const address = store as string
    await refuseAddresses([address])
    if (isDirectoryOf(path, address))
      throw usageError('A backup cannot be restored into the directory of the backups; name a new or empty directory.')
    refuseForeignFiles(address)
    return inChild('restore', [address], (signal) => restore(path, address, options, signal))
  })
}

const throughServer = ' What a server keeps in memory it backs up itself: ashlar tool run Backup --fd <alias>.'

/** Accepts the forms that the engine reads. */
function momentOf(text: string): string {
  if (/^\d+-\d+$/.test(text) || (/(Z|[+-]\d\d:\d\d)$/.test(text) && !Number.isNaN(Date.parse(text)))) return text
  throw new InvalidArgumentError(
    `It is a time with its zone, such as 2026-11-23T08:30:00Z, or a position of the change log, not '${text.slice(0, 100)}'.`,
  )
}

function durationOf(text: string): number {
  try {
    return readDuration(text, 'It')
  } catch (error) {
    throw new InvalidArgumentError((error as Error).message)
  }
}

async function backUp(address: string, path: string, options: BackupOptions, signal: AbortSignal): Promise<void> {
  const { backUpStore, openStore } = await import('@ashlar/engine')
  const store = await openStore(address, { isReadOnly: true })
  const { incremental, keep } = options
  try {
    const report = await withProgress(options, (onProgress) =>
      backUpStore(store, path, { isIncremental: incremental, keepMs: keep, signal, onProgress }),
    )
    const { backup, removed } = report
    printResult(report, options, () => [
      `Backup ${backupLine(backup)}, verified.`,
      ...removed.map((name) => `Removed ${name}.`),
    ])
  } catch (error) {
    if (signal.aborted) throw interruptedError('The backup was stopped; nothing of it was kept.')
    throw error
  } finally {
    await store.close()
  }
}

async function restore(path: string, address: string, options: RestoreOptions, signal: AbortSignal): Promise<void> {
  const { openStore, planRestore, restoreBackup } = await import('@ashlar/engine')
  // First, since opening the target makes its directory: a mistyped backup leaves nothing behind.
  await planRestore(path, options.until)
  const target = await openStore(address)
  try {
    const report = await withProgress(options, (onProgress) =>
      restoreBackup(path, target, { until: options.until, signal, onProgress }),
    )
    printResult(report, options, () => restoreLines(report, target.capabilities.location))
  } catch (error) {
    if (signal.aborted) throw interruptedError('The restore was stopped; run the same command again to resume it.')
    throw resumable(error, target.capabilities.location)
  } finally {
    await target.close()
  }
}

async function check(path: string, options: RestoreOptions, signal: AbortSignal): Promise<void> {
  const { checkBackups } = await import('@ashlar/engine')
  const checked = await withProgress(options, (onProgress) =>
    checkBackups(path, { until: options.until, signal, onProgress }),
  )
  printResult(checked, options, () => checkLines(checked))
  const { problems, directory } = checked
  if (problems.length > 0) throw invalidInput(`Not all backups in ${directory} are intact:\n${problems.join('\n')}`)
}

function checkLines({ backups, problems, withoutManifest, restorable }: BackupsCheck): string[] {
  return [
    ...backups.map(backupLine),
    ...withoutManifest.map(
      (name) => `${name} has no manifest, and does not count: its backup was interrupted, or the manifest was lost.`,
    ),
    ...restorable.map(({ chain, times }) => {
      const last = chain.length === 1 ? chain[0] : `${chain[0]} to ${chain.at(-1)}`
      return `Can be restored: ${last}${times === undefined ? '' : `, and any time from ${times.from} to ${times.to}`}.`
    }),
    ...(problems.length === 0 ? ['All backups are intact.'] : []),
  ]
}

function backupLine({ name, counts, file }: Manifest): string {
  const { objects, links, indexEntries, commits } = counts
  const content =
    commits === undefined
      ? `${numberText(objects)} objects, ${numberText(links)} links, ${numberText(indexEntries)} index entries`
      : countText(commits, 'commit')
  return `${name}: ${content}, ${numberText(file.bytes)} bytes`
}

function restoreLines({ chain, entries, commits, position, isResumed }: RestoreReport, location: string): string[] {
  const replayed = position === undefined ? '' : `, then ${countText(commits, 'commit')}, up to ${position}`
  const names = chain.map(({ name }) => name).join(', ')
  return [
    `Restored ${names} into ${location}: ${numberText(entries)} entries${replayed}${isResumed ? ' (resumed)' : ''}.`,
  ]
}
