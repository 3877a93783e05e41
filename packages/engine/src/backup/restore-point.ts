/** Selects the backups that lead to a point in time, and determines whether they reach it exactly. */
import { parsePosition } from '../changes/log-position.ts'
import { commitSettlingMs } from '../limits.ts'
import { PlaceRefused } from '../store/place-refused.ts'
import { chainOf } from './backup-directory.ts'
import { DamagedBackup } from './entry-file.ts'
import type { Manifest } from './manifest.ts'
import type { RestoreEnd } from './replay-log.ts'

/** The target of a restore with `until`; `epoch` is that of the position. */
export type RestoreMoment = RestoreEnd & { readonly epoch?: number }

export function noBackup(message: string): PlaceRefused {
  return new PlaceRefused('wrongPlace', message)
}

/** Throws if `until` is neither a time nor a position. */
export function parseRestorePoint(until: string | undefined): RestoreMoment {
  if (until === undefined) return {}
  if (/^\d+-\d+$/.test(until)) {
    const { epoch, number } = parsePosition(until)
    return { epoch, number }
  }
  const at = /^\d{4}-\d\d-\d\dT\d\d:\d\d.*(Z|[+-]\d\d:\d\d)$/.test(until) ? Date.parse(until) : Number.NaN
  if (Number.isNaN(at))
    throw noBackup(
      `--until is a time with its time zone, such as 2026-11-23T08:30:00Z, or a position of the change log, not '${until.slice(0, 100)}'.`,
    )
  return { at }
}

/** Returns the latest backup based on the latest full backup without later commits; without a moment, the latest of all. */
export function latestFor(all: readonly Manifest[], moment: RestoreMoment): Manifest | undefined {
  if (moment.at === undefined && moment.number === undefined) return all.at(-1)
  const precedesMoment = (one: Manifest): boolean => {
    if (one.kind !== 'full') return false
    if (moment.at !== undefined) return newestIn(one) <= moment.at
    const { changeLog } = one
    return changeLog !== undefined && changeLog.epoch === moment.epoch && changeLog.to <= (moment.number ?? 0)
  }
  const full = all.findLast(precedesMoment)
  if (full === undefined) return undefined
  return all.findLast((one) => one === full || isBasedOn(one, full, all))
}

/** Milliseconds since 1970 of the latest commit in the backup; approximate for backups of earlier versions. */
function newestIn({ newestCommitAt, at }: Manifest): number {
  return Date.parse(newestCommitAt ?? at)
}

/** Returns false if a backup in between is missing. */
function isBasedOn(backup: Manifest, full: Manifest, all: readonly Manifest[]): boolean {
  try {
    return chainOf(backup, all)[0] === full
  } catch (error) {
    if (error instanceof DamagedBackup) return false
    throw error
  }
}

/** True if an incremental backup contains the end of the restore, so that later ones are not needed. */
function holdsEnd(one: Manifest, { at, number }: RestoreEnd): boolean {
  if (at !== undefined) return one.counts.commits !== 0 && newestIn(one) > at
  return number !== undefined && (one.changeLog?.to ?? 0) >= number
}

export function requiredBackups(chain: readonly Manifest[], end: RestoreEnd): readonly Manifest[] {
  const reaching = chain.findIndex((one, nth) => nth > 0 && holdsEnd(one, end))
  return reaching < 0 ? chain : chain.slice(0, reaching + 1)
}

export interface RestorableTimes {
  /** ISO 8601, in UTC. */
  readonly from: string
  readonly to: string
}

/** Any time in the result can be restored exactly. Returns undefined if the chain can only be restored completely. */
export function restorableTimes(chain: readonly Manifest[]): RestorableTimes | undefined {
  const [full] = chain as [Manifest]
  const from = newestIn(full)
  const to = exactUpTo(chain)
  return to < from ? undefined : { from: new Date(from).toISOString(), to: new Date(to).toISOString() }
}

/** The last commit of an incremental backup less one millisecond, or the time before which all commits had settled. */
function exactUpTo(chain: readonly Manifest[]): number {
  const last = chain.at(-1) as Manifest
  if (last.changeLog === undefined) return Date.parse(last.at)
  const logged = chain.slice(1).filter(({ counts }) => counts.commits !== 0)
  return Math.max(Date.parse(last.at) - commitSettlingMs, ...logged.map((one) => newestIn(one) - 1))
}

/** Throws if the chain does not lead to the end exactly. */
export function refuseUntil(chain: readonly Manifest[], { at, number }: RestoreEnd, until: string): void {
  const [full] = chain as [Manifest]
  const last = chain.at(-1) as Manifest
  if (number !== undefined && (last.changeLog === undefined || last.changeLog.to < number))
    throw noBackup(`The backups do not reach to the position ${until}; without --until all of it is restored.`)
  if (at === undefined) return
  if (newestIn(full) > at) throw noBackup(`The backup ${full.name} has commits that are later than ${until}.`)
  const reached = exactUpTo(chain)
  if (reached < at)
    throw noBackup(
      `The backups reach to ${new Date(reached).toISOString()}, and not to ${until}; without --until all of it is restored.`,
    )
}
