/** Restores a full backup and its incremental backups into an empty store; resumable, and unusable until complete. */
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { storePart } from '../bytes/key-layout.ts'
import { keySpace } from '../bytes/key-space.ts'
import type { CancelSignal } from '../cancel-signal.ts'
import { countersKey } from '../catalog/catalog-keys.ts'
import { positionText } from '../changes/log-position.ts'
import { restoredSessionsSkipped } from '../limits.ts'
import { decodeCounters, encodeCounters } from '../schema/catalog-codec.ts'
import { CopyClaim } from '../storage/copy-claim.ts'
import { earliestAlike, encodeFormatVersion, storageFormat } from '../storage/storage-format.ts'
import { describeFileFailure } from '../store/lmdb/file-failure.ts'
import { PlaceRefused } from '../store/place-refused.ts'
import type { Bytes, Change, Snapshot, Store } from '../store/store.ts'
import { openTimeSlice } from '../store/time-slice.ts'
import { onSnapshot } from '../store/with-snapshot.ts'
import { raisedSession, sessionKey, sessionOfCommitId } from '../transaction/store-session.ts'
import { backupPlace, chainOf, listBackups } from './backup-directory.ts'
import { DerivedEntries } from './derived-entries.ts'
import { DamagedBackup, readEntryFile } from './entry-file.ts'
import { entriesSuffix, type Manifest, manifestSuffix } from './manifest.ts'
import { loggedParts, type RestoreEnd } from './replay-log.ts'
import { latestFor, noBackup, parseRestorePoint, refuseUntil, requiredBackups } from './restore-point.ts'
import { TargetWriter } from './target-writer.ts'

export interface RestoreOptions {
  /** A position of the change log, or a time with time zone that `Date.parse` accepts; later commits are not restored. */
  readonly until?: string | undefined
  readonly signal?: CancelSignal | undefined
  /** `total` is an estimate, if present. */
  readonly onProgress?: (step: RestoreStep, done: number, total?: number) => void
}

export type RestoreStep = 'checking' | 'restoring' | 'comparing' | 'replaying' | 'indexing'

export interface RestorePlan {
  readonly directory: string
  /** A full backup followed by incremental backups, in restore order. */
  readonly chain: readonly Manifest[]
  readonly end: RestoreEnd
}

export interface RestoreReport {
  readonly chain: readonly Manifest[]
  readonly entries: number
  /** Number of change log commits replayed. */
  readonly commits: number
  /** Position of the last replayed commit, in the log of the original. */
  readonly position?: string
  readonly isResumed: boolean
}

/**
 * `path` names a directory of backups or a file of one, which is restored with its base backups. Throws an `Error` for the operator if there is no
 * backup, one is missing, or they do not reach `until`.
 */
export async function planRestore(path: string, until?: string): Promise<RestorePlan> {
  const { directory, name } = await backupPlace(path)
  const { all, damaged } = await listBackups(directory)
  const end = parseRestorePoint(until)
  const backup = name === undefined ? latestFor(all, end) : all.find((one) => one.name === name)
  // The damaged backup may be the latest one, or a required one.
  if (name === undefined && damaged[0] !== undefined && backup !== undefined) {
    throw new DamagedBackup(
      `${damaged[0]} To restore the latest of the others: ${join(directory, `${backup.name}${manifestSuffix}`)}`,
    )
  }
  if (backup === undefined) {
    const [problem] = damaged
    const earliest = all.find(({ kind }) => kind === 'full')
    if (problem !== undefined) throw new PlaceRefused('damaged', problem)
    if (!existsSync(directory)) throw noBackup(`There is no directory ${directory}.`)
    if (name !== undefined) throw noBackup(`There is no backup ${name} in ${directory}.`)
    if (earliest === undefined) throw noBackup(`There is no backup in ${directory}.`)
    throw noBackup(`The backups in ${directory} begin at ${earliest.at}, after --until.`)
  }
  const chain = chainOf(backup, all)
  refuseFormat(chain)
  if (until !== undefined) refuseUntil(chain, end, until)
  return { directory, chain: requiredBackups(chain, end), end }
}

/** Throws an `Error` for the operator, and the signal's reason: the store is then marked as unfinished, and the same restore resumes it. */
export async function restoreBackup(path: string, target: Store, options: RestoreOptions = {}): Promise<RestoreReport> {
  try {
    const plan = await planRestore(path, options.until)
    return await new Restore(plan, target, options).run()
  } catch (cause) {
    if (options.signal?.aborted === true) throw cause
    throw new Error(`${describeFileFailure(cause, path).replace(/\.$/, '')}.`, { cause })
  }
}

const entriesPerClockCheck = 200

class Restore {
  private readonly plan: RestorePlan
  private readonly target: Store
  private readonly options: RestoreOptions
  private readonly slice = openTimeSlice()
  private lastSession = 0
  private position: string | undefined
  private commits = 0

  constructor(plan: RestorePlan, target: Store, options: RestoreOptions) {
    this.plan = plan
    this.target = target
    this.options = options
  }

  async run(): Promise<RestoreReport> {
    const { chain, end } = this.plan
    const [full, ...logged] = chain as [Manifest, ...Manifest[]]
    const last = chain.at(-1) as Manifest
    const until = this.options.until === undefined ? '' : ` until ${end.number ?? new Date(end.at ?? 0).toISOString()}`
    const format = encodeFormatVersion(full.storageFormat)
    const claim = await CopyClaim.take(this.target, `the backup ${last.name} (${last.id})${until}`, format, 'restore')
    const { entries, checksum } = await this.restoreFull(full, claim, logged.length > 0)
    if (logged.length > 0) await this.replay(logged, claim)
    else await this.compare(checksum, entries)
    await this.finish(claim)
    const { commits, position } = this
    return { chain, entries, commits, isResumed: claim.isResumed, ...(position === undefined ? {} : { position }) }
  }

  private pathOf({ name }: Manifest): string {
    return join(this.plan.directory, `${name}${entriesSuffix}`)
  }

  /** Skips index entries if the log is replayed: they depend on the final objects. */
  private async restoreFull(
    full: Manifest,
    claim: CopyClaim,
    isReplayed: boolean,
  ): Promise<{ readonly entries: number; readonly checksum: string }> {
    const { signal, onProgress } = this.options
    const writer = new TargetWriter(claim)
    const { resumedFrom } = claim
    const hash = new ContentHash()
    let done = 0
    for await (const block of readEntryFile(this.pathOf(full), full.file, signal)) {
      for (const { key, value } of block.entries()) {
        done++
        this.note(key, value)
        hash.add(key, value)
        if (isReplayed && key[0] === keySpace.index) continue
        if (resumedFrom !== undefined && Buffer.compare(key, resumedFrom) <= 0) continue
        const due = writer.add({ kind: 'put', key, value }, key)
        if (due !== undefined) await due
        if (done % entriesPerClockCheck === 0) await this.slice.yieldIfDue()
      }
      onProgress?.('restoring', done, full.file.entries)
    }
    await writer.flush()
    return { entries: hash.entries, checksum: hash.digest() }
  }

  private async compare(checksum: string, entries: number): Promise<void> {
    const { signal, onProgress } = this.options
    const hash = new ContentHash()
    const addAll = async (snapshot: Snapshot): Promise<void> => {
      for await (const batch of snapshot.scan({}, (key, value) => hash.add(key, value))) {
        signal?.throwIfAborted()
        if (batch.length > 0) onProgress?.('comparing', hash.entries, entries)
      }
    }
    await onSnapshot(this.target, addAll, { isLong: true })
    if (hash.digest() === checksum && hash.entries === entries) return
    const { location } = this.target.capabilities
    throw new PlaceRefused(
      'conflict',
      `The store ${location} does not hold what the backup holds; something else has written to it. Begin anew, in an empty store`,
    )
  }

  private async replay(logged: readonly Manifest[], claim: CopyClaim): Promise<void> {
    const { signal, onProgress } = this.options
    const backups = logged.map((one) => ({ path: this.pathOf(one), file: one.file }))
    const total = logged.reduce((sum, { counts }) => sum + (counts.commits ?? 0), 0)
    const epoch = logged[0]?.changeLog?.epoch ?? 0
    const writer = new TargetWriter(claim)
    const derived = new DerivedEntries(this.target)
    let last = 0
    for await (const { number, changes } of loggedParts(backups, this.plan.end, signal)) {
      if (number !== last) this.commits++
      last = number
      for (const { key, after } of changes()) {
        if (after !== undefined) this.note(key, after)
        derived.note(key, after)
        const change: Change = after === undefined ? { kind: 'delete', key } : { kind: 'put', key, value: after }
        const due = writer.add(change)
        if (due !== undefined) await due
      }
      onProgress?.('replaying', this.commits, total)
      await this.slice.yieldIfDue()
    }
    await writer.flush()
    if (last > 0) this.position = positionText({ epoch, number: last, within: undefined })
    await derived.write(writer, { signal, onProgress: (done, objects) => onProgress?.('indexing', done, objects) })
  }

  /** Notes the session that wrote the record: the store must not reuse its commit IDs. */
  private note(key: Bytes, value: Bytes): void {
    if (key[0] === keySpace.object) this.lastSession = Math.max(this.lastSession, sessionOfCommitId(value, 4))
  }

  /** Commit IDs and log positions that clients of the original know must not be reused with another meaning. */
  private async finish(claim: CopyClaim): Promise<void> {
    const changes = await onSnapshot(this.target, async (snapshot): Promise<Change[]> => {
      const stored = await snapshot.view(sessionKey, (value) => Buffer.from(value))
      const value = raisedSession(stored, this.lastSession, restoredSessionsSkipped)
      const counters = await nextEpoch(snapshot)
      return [{ kind: 'put', key: sessionKey, value }, ...(counters === undefined ? [] : [counters])]
    })
    await claim.finish(changes)
  }
}

/** The restored store starts a new log epoch, so that followers of the original have to start over. */
async function nextEpoch(snapshot: Snapshot): Promise<Change | undefined> {
  const counters = await snapshot.view(countersKey, decodeCounters)
  if (counters?.changeLog === undefined || counters.changeLog === 0) return undefined
  const changeLog = Math.max((counters.lastChangeLog ?? 0) + 1, Math.floor(Date.now() / 1_000))
  return { kind: 'put', key: countersKey, value: encodeCounters({ ...counters, changeLog, lastChangeLog: changeLog }) }
}

/** Hash over the entries that a backup and the restored store have in common, which excludes the state of the store itself. */
class ContentHash {
  entries = 0
  private readonly hash = createHash('sha256')
  private readonly lengths = Buffer.alloc(8)

  add(key: Bytes, value: Bytes): void {
    if (key[0] === keySpace.store && key[1] !== storePart.formatVersion) return
    this.lengths.writeUInt32BE(key.length, 0)
    this.lengths.writeUInt32BE(value.length, 4)
    this.hash.update(this.lengths).update(key).update(value)
    this.entries++
  }

  digest(): string {
    return this.hash.digest('hex')
  }
}

export function refuseFormat(chain: readonly Manifest[]): void {
  const latest = chain.find((one) => one.storageFormat > storageFormat.version)
  if (latest !== undefined)
    throw new PlaceRefused(
      'damaged',
      `The backup ${latest.name} is of a later version of Ashlar; use that one, or a later one.`,
    )
  const earliest = Math.min(...chain.map((one) => one.storageFormat))
  // All formats from `earliestAlike` on give the entries in backups the same meaning.
  if (earliest < earliestAlike && chain.some((one) => one.storageFormat !== earliest))
    throw new PlaceRefused('damaged', 'The backups are of different storage formats; restore one by its file.')
}
