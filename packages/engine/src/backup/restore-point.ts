/** Which backups lead to a moment, and how exactly that is known: the end of a restore. */
import { parsePosition } from '../changes/log-position.ts'
import { commitSettlingMs } from '../limits.ts'
import { PlaceRefused } from '../store/place-refused.ts'
import { chainOf } from './backup-directory.ts'
import { DamagedBackup } from './entry-file.ts'
import type { Manifest } from './manifest.ts'
import type { RestoreEnd } from './replay-log.ts'

/** Of a restore with `until`. `epoch`: of the position. */
export type RestoreMoment = RestoreEnd & { readonly epoch?: number }

/** None that could be restored. */
export function noBackup(message: string): PlaceRefused {
  return new PlaceRefused('wrongPlace', message)
}

/** Throws where it is neither a time nor a position. */
export function momentOf(until: string | undefined): RestoreMoment {
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

/** The latest backup of the chain from the latest full one that holds nothing later; without a moment, of all. */
export function latestFor(all: readonly Manifest[], moment: RestoreMoment): Manifest | undefined {
  if (moment.at === undefined && moment.number === undefined) return all.at(-1)
  const holdsNothingLater = (one: Manifest): boolean => {
    if (one.kind !== 'full') return false
    if (moment.at !== undefined) return newestIn(one) <= moment.at
    const { changeLog } = one
    return changeLog !== undefined && changeLog.epoch === moment.epoch && changeLog.to <= (moment.number ?? 0)
  }
  const full = all.findLast(holdsNothingLater)
  if (full === undefined) return undefined
  return all.findLast((one) => one === full || goesOnFrom(one, full, all))
}

/** The latest time of a commit that the backup holds; of a backup of an earlier version, about that. Milliseconds since 1970. */
function newestIn({ newestCommitAt, at }: Manifest): number {
  return Date.parse(newestCommitAt ?? at)
}

/** False where one in between is missing. */
function goesOnFrom(backup: Manifest, full: Manifest, all: readonly Manifest[]): boolean {
  try {
    return chainOf(backup, all)[0] === full
  } catch (error) {
    if (error instanceof DamagedBackup) return false
    throw error
  }
}

/** Of the incremental ones: it holds the end of what is restored, so that later ones are not needed. */
function holdsEnd(one: Manifest, { at, number }: RestoreEnd): boolean {
  if (at !== undefined) return one.counts.commits !== 0 && newestIn(one) > at
  return number !== undefined && (one.changeLog?.to ?? 0) >= number
}

/** What of the chain leads to the end. */
export function neededOf(chain: readonly Manifest[], end: RestoreEnd): readonly Manifest[] {
  const reaching = chain.findIndex((one, nth) => nth > 0 && holdsEnd(one, end))
  return reaching < 0 ? chain : chain.slice(0, reaching + 1)
}

export interface RestorableTimes {
  /** ISO 8601, in UTC. */
  readonly from: string
  readonly to: string
}

/** Any of these can be restored exactly; undefined where the chain can only be restored as a whole. */
export function restorableTimes(chain: readonly Manifest[]): RestorableTimes | undefined {
  const [full] = chain as [Manifest]
  const from = newestIn(full)
  const to = exactUpTo(chain)
  return to < from ? undefined : { from: new Date(from).toISOString(), to: new Date(to).toISOString() }
}

/** Up to the last commit of an incremental backup, less a moment, or up to where no commit was under way any more. */
function exactUpTo(chain: readonly Manifest[]): number {
  const last = chain.at(-1) as Manifest
  if (last.changeLog === undefined) return Date.parse(last.at)
  const logged = chain.slice(1).filter(({ counts }) => counts.commits !== 0)
  return Math.max(Date.parse(last.at) - commitSettlingMs, ...logged.map((one) => newestIn(one) - 1))
}

/** Throws where the chain does not lead to the end exactly. */
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
