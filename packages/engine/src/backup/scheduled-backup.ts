/** Scheduled backups: decides which backup is due, and lets one of several processes write it. */
import { positionText } from '../changes/log-position.ts'
import type { Subscription } from '../changes/subscription.ts'
import type { Store } from '../store/store.ts'
import { BackupInProgress, listBackups } from './backup-directory.ts'
import { DamagedBackup } from './entry-file.ts'
import type { Manifest } from './manifest.ts'
import {
  type BackupOptions,
  type BackupReport,
  BackupWriter,
  NoIncremental,
  withBackupsLocked,
} from './write-backup.ts'

export interface BackupIntervals {
  readonly everyMs: number
  /** Interval of incremental backups; undefined disables them. */
  readonly incrementalEveryMs?: number | undefined
}

/** Returns undefined if no backup is due. `now`: milliseconds since 1970. */
export function dueBackup(
  all: readonly Manifest[],
  intervals: BackupIntervals,
  now: number,
): Manifest['kind'] | undefined {
  const isPast = (backup: Manifest | undefined, ms: number): boolean => {
    return backup === undefined || now - Date.parse(backup.at) >= ms
  }
  if (
    isPast(
      all.findLast(({ kind }) => kind === 'full'),
      intervals.everyMs,
    )
  )
    return 'full'
  const { incrementalEveryMs } = intervals
  return incrementalEveryMs !== undefined && isPast(all.at(-1), incrementalEveryMs) ? 'incremental' : undefined
}

/**
 * Writes the backup that is due; returns undefined if none is due or another process is writing one. A full backup replaces an incremental one that
 * is impossible, and is preceded by an incremental one so that every moment in between can be restored. Throws like `backUpStore`.
 */
export async function backUpIfDue(
  store: Store,
  directory: string,
  intervals: BackupIntervals,
  options: Omit<BackupOptions, 'isIncremental'>,
): Promise<BackupReport | undefined> {
  if (dueBackup((await listBackups(directory)).all, intervals, Date.now()) === undefined) return undefined
  try {
    return await withBackupsLocked(store, directory, options, async (place) => {
      const { all } = await listBackups(place.directory)
      const due = dueBackup(all, intervals, Date.now())
      if (due === undefined) return undefined
      const write = (isIncremental: boolean): Promise<BackupReport> =>
        new BackupWriter(store, place, { ...options, isIncremental }).write()
      const makesIncremental = intervals.incrementalEveryMs !== undefined && all.length > 0
      const incremental = makesIncremental ? await ifPossible(write(true)) : undefined
      if (incremental !== undefined && due === 'incremental') return incremental
      const { backup, removed } = await write(false)
      return { backup, removed: [...(incremental?.removed ?? []), ...removed] }
    })
  } catch (error) {
    if (error instanceof Error && error.cause instanceof BackupInProgress) return undefined
    throw error
  }
}

/** Stores the start of the next incremental backup in the subscription, so that the change log is retained from there (`changeLogBytesMax`). */
export async function keepLogFor(subscription: Subscription, { kind, changeLog }: Manifest): Promise<void> {
  if (changeLog === undefined) return
  const { epoch, from, to } = changeLog
  const position = positionText({ epoch, number: kind === 'full' ? from : to, within: undefined })
  // Another process has just made a later backup.
  if ((await subscription.acquire(async () => position)) === undefined) return
  await subscription.update({ position })
  await subscription.release()
}

async function ifPossible(backup: Promise<BackupReport>): Promise<BackupReport | undefined> {
  try {
    return await backup
  } catch (error) {
    if (error instanceof NoIncremental || error instanceof DamagedBackup) return undefined
    throw error
  }
}
