/** Writes a backup of a store in use: a full one from a snapshot, or an incremental one from the change log. */
import { randomUUID } from 'node:crypto'
import { open, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { isCopied } from '../bytes/key-layout.ts'
import { keySpace } from '../bytes/key-space.ts'
import type { CancelSignal } from '../cancel-signal.ts'
import { countersKey } from '../catalog/catalog-keys.ts'
import { readLogHeader } from '../change-log/log-entry.ts'
import { epochPrefix, logPrefix } from '../change-log/log-keys.ts'
import { lastNumberIn, truncatedNumberIn } from '../changes/read-log.ts'
import { backupSettlingMsMax, settlingPollMs } from '../limits.ts'
import { decodeCounters } from '../schema/catalog-codec.ts'
import { refuseUnfinishedIn } from '../storage/copy-claim.ts'
import { decodeFormatVersion, formatVersionKey, storageFormat } from '../storage/storage-format.ts'
import { appendedKey } from '../store/append.ts'
import { appendedValues, scanAppended } from '../store/append-blocks.ts'
import { describeFileFailure } from '../store/lmdb/file-failure.ts'
import { PlaceRefused } from '../store/place-refused.ts'
import type { SettledNumbers, Snapshot, Store } from '../store/store.ts'
import {
  type BackupPlace,
  backupPlace,
  chainOf,
  expiredBackups,
  listBackups,
  lockBackups,
  removeBackup,
  removeLeftovers,
  syncDirectory,
} from './backup-directory.ts'
import { checkEntryFile, EntryFileWriter } from './entry-file.ts'
import {
  type BackupCounts,
  entriesSuffix,
  type LogRange,
  type Manifest,
  manifestSuffix,
  manifestText,
  newManifest,
  unfinishedSuffix,
} from './manifest.ts'

export interface BackupOptions {
  /** Back up only the changes since the latest backup of the directory, according to the change log. */
  readonly isIncremental?: boolean | undefined
  /** Remove older backups from the directory afterwards; see `expiredBackups`. */
  readonly keepMs?: number | undefined
  readonly signal?: CancelSignal | undefined
  /** `total` is an estimate, if present. */
  readonly onProgress?: (step: 'writing' | 'verifying', done: number, total?: number) => void
}

export interface BackupReport {
  readonly backup: Manifest
  readonly removed: readonly string[]
}

/** An incremental backup is impossible; the message is a sentence for the operator. */
export class NoIncremental extends PlaceRefused {
  constructor(message: string) {
    super('conflict', message)
  }
}

/**
 * `path` names a directory of backups, or, ending in `.entries`, the file of a single full one. The backup is read back and verified before it is
 * published. Throws an `Error` for the operator and the signal's reason; then no backup is added and the existing ones are unchanged.
 */
export async function backUpStore(store: Store, path: string, options: BackupOptions = {}): Promise<BackupReport> {
  return withBackupsLocked(store, path, options, (place) => new BackupWriter(store, place, options).write())
}

/** Runs `write` under the exclusive lock of the directory. Throws an `Error` that names the store. */
export async function withBackupsLocked<T>(
  store: Store,
  path: string,
  { signal }: Pick<BackupOptions, 'signal'>,
  write: (place: BackupPlace) => Promise<T>,
): Promise<T> {
  const place = await backupPlace(path)
  try {
    const lock = lockBackups(place.directory)
    try {
      return await write(place)
    } finally {
      lock.close()
    }
  } catch (cause) {
    if (signal?.aborted === true) throw cause
    const reason = describeFileFailure(cause, place.directory).replace(/\.$/, '')
    throw new Error(`There is no backup of ${store.capabilities.location}: ${reason}.`, { cause })
  }
}

interface Contents {
  readonly changeLog?: LogRange
  readonly storageFormat: number
}

export class BackupWriter {
  private readonly store: Store
  private readonly place: BackupPlace
  private readonly options: BackupOptions
  private readonly counts = { objects: 0, links: 0, indexEntries: 0, commits: 0 }
  private lastCommit = 0
  /** Time of the latest commit in the backup: milliseconds since 1970. */
  private newestCommitAt = 0

  constructor(store: Store, place: BackupPlace, options: BackupOptions) {
    this.store = store
    this.place = place
    this.options = options
  }

  async write(): Promise<BackupReport> {
    const { directory } = this.place
    const { all, damaged } = await listBackups(directory)
    await removeLeftovers(directory, all)
    const { isIncremental = false } = this.options
    const base = isIncremental ? this.baseOf(all, damaged) : undefined
    const latest = all.at(-1)
    const at = new Date(Math.max(Date.now(), latest === undefined ? 0 : 1 + Date.parse(latest.at))).toISOString()
    const kind = isIncremental ? 'incremental' : 'full'
    const name = this.place.name ?? `${at.replaceAll(':', '-')}-${kind}`
    if (all.some((one) => one.name === name))
      throw new PlaceRefused('conflict', `there is a backup ${name} in ${directory} already`)
    const backup = await this.writeFiles(name, async (writer) => {
      // Must be read before the snapshot is opened, so that the snapshot includes all settled commits.
      const numbers = await this.settledNumbers(isIncremental)
      const { hasConsistentSnapshots, location } = this.store.capabilities
      const isolation = hasConsistentSnapshots ? 'readOnly' : 'consistent'
      const snapshot = await this.store.snapshot({ isolation, isCounted: !isIncremental, isLong: true })
      try {
        const contents = await this.contentsOf(snapshot, numbers, base)
        const { changeLog } = contents
        if (isIncremental && changeLog !== undefined) await this.copyLog(snapshot, changeLog, writer)
        else await this.copy(snapshot, writer)
        const baseFields = base === undefined ? {} : { base: { name: base.name, id: base.id } }
        const { newestCommitAt } = this
        const newest = newestCommitAt === 0 ? {} : { newestCommitAt: new Date(newestCommitAt).toISOString() }
        return { name, id: randomUUID(), kind, store: location, at, ...newest, ...contents, ...baseFields } as const
      } finally {
        snapshot.release()
      }
    })
    return { backup, removed: await this.removeExpired([...all, backup]) }
  }

  private baseOf(all: readonly Manifest[], damaged: readonly string[]): Manifest {
    const { directory, name } = this.place
    if (name !== undefined)
      throw new NoIncremental('an incremental backup goes into a directory of backups, not a file')
    const base = all.at(-1)
    const [problem] = damaged
    if (problem !== undefined)
      throw new NoIncremental(`${problem.replace(/\.$/, '')}; make a full backup in another directory`)
    if (base === undefined) throw new NoIncremental(`${directory} holds no full backup to go on from; make one first`)
    chainOf(base, all)
    if (base.store !== this.store.capabilities.location)
      throw new NoIncremental(`the latest backup in ${directory} is of ${base.store}; ${fullFirst}`)
    if (base.changeLog === undefined)
      throw new NoIncremental(`the store had no change log when the latest backup was made; ${fullFirst}`)
    return base
  }

  private async contentsOf(
    snapshot: Snapshot,
    numbers: SettledNumbers | undefined,
    base: Manifest | undefined,
  ): Promise<Contents> {
    await refuseUnfinishedIn(snapshot, this.store.capabilities.location)
    const format = await snapshot.view(formatVersionKey, decodeFormatVersion)
    if (format !== storageFormat.version)
      throw new Error(
        `it has storage format ${format ?? 0}, and this program backs up format ${storageFormat.version}; open it with a server once, or copy it with ashlar copy`,
      )
    const epoch = (await snapshot.view(countersKey, (value) => decodeCounters(value).changeLog)) ?? 0
    const stored = epoch === 0 ? 0 : await lastNumberIn(snapshot, epoch)
    const from = numbers?.settled ?? stored
    if (base?.changeLog === undefined) {
      const changeLog = { epoch, from, to: Math.max(from, stored) }
      return { storageFormat: format, ...(epoch === 0 ? {} : { changeLog }) }
    }
    if (epoch === 0)
      throw new NoIncremental('the store keeps no change log; turn it on (changeLog), and make a full backup')
    // A full backup may have some later commits, but not all of them.
    const since = base.kind === 'full' ? base.changeLog.from : base.changeLog.to
    if (epoch !== base.changeLog.epoch)
      throw new NoIncremental(`the change log was turned off since the latest backup; ${fullFirst}`)
    if ((await truncatedNumberIn(snapshot, epoch)) > since)
      throw new NoIncremental(`the change log no longer reaches back to the latest backup (changeLogMs); ${fullFirst}`)
    return { storageFormat: format, changeLog: { epoch, from: since, to: Math.max(from, since) } }
  }

  /** An incremental backup includes everything acknowledged before it began, so it waits for earlier commits in progress. */
  private async settledNumbers(isIncremental: boolean): Promise<SettledNumbers | undefined> {
    const first = await this.store.settledNumbers?.()
    const end = performance.now() + backupSettlingMsMax
    for (let now = first; ; now = await this.store.settledNumbers?.()) {
      if (first === undefined || now === undefined || !isIncremental || now.settled >= first.assigned) return now
      this.options.signal?.throwIfAborted()
      if (performance.now() > end)
        throw new Error(
          `a commit has been under way for ${backupSettlingMsMax / 1_000} seconds; try again once it has ended`,
        )
      await delay(settlingPollMs)
    }
  }

  private async copy(snapshot: Snapshot, writer: EntryFileWriter): Promise<void> {
    const { signal, onProgress } = this.options
    const total = snapshot.entryCount
    let done = 0
    const add = (key: Uint8Array, value: Uint8Array): undefined => {
      // A full backup takes only the commit times from the log: a restored store starts a new log.
      if (key[0] === keySpace.log && key[1] === logPrefix[1]) {
        for (const logged of appendedValues(key, value)) this.noteCommit(logged.value)
      }
      if (!isCopied(key) || key[0] === keySpace.log) return
      this.count(key)
      writer.add(key, value)
    }
    for await (const batch of snapshot.scan({}, add)) {
      signal?.throwIfAborted()
      done += batch.length
      await writer.flushIfDue()
      onProgress?.('writing', done, total)
    }
  }

  /** Writes one entry per log part, independent of how the store blocks them. */
  private async copyLog(snapshot: Snapshot, { epoch, from, to }: LogRange, writer: EntryFileWriter): Promise<void> {
    const { signal, onProgress } = this.options
    const prefix = epochPrefix(epoch)
    let done = 0
    for await (const batch of scanAppended(snapshot, prefix, from + 1, to)) {
      for (const { number, part, value } of batch) {
        signal?.throwIfAborted()
        if (number !== this.lastCommit) this.counts.commits++
        this.lastCommit = number
        this.noteCommit(value)
        writer.add(appendedKey(prefix, number, part, value.length), value)
        await writer.flushIfDue()
      }
      done += batch.length
      onProgress?.('writing', done, undefined)
    }
  }

  private noteCommit(logged: Uint8Array): void {
    this.newestCommitAt = Math.max(this.newestCommitAt, readLogHeader(logged).at)
  }

  private count(key: Uint8Array): void {
    const { counts } = this
    if (key[0] === keySpace.object) counts.objects++
    else if (key[0] === keySpace.link) counts.links++
    else if (key[0] === keySpace.index) counts.indexEntries++
  }

  private async writeFiles(
    name: string,
    fill: (writer: EntryFileWriter) => Promise<Omit<Manifest, 'ashlarBackup' | 'file' | 'counts'>>,
  ): Promise<Manifest> {
    const { directory } = this.place
    const [entries, manifest] = [entriesSuffix, manifestSuffix].map((suffix) =>
      join(directory, `${name}${suffix}`),
    ) as [string, string]
    const unfinished = [entries, manifest].map((path) => `${path}${unfinishedSuffix}`) as [string, string]
    try {
      const writer = await EntryFileWriter.create(unfinished[0])
      let backup: Manifest
      try {
        const fields = await fill(writer)
        const file = await writer.end()
        const { commits, ...counts } = this.counts
        const counted: BackupCounts = fields.kind === 'full' ? counts : { ...counts, commits }
        backup = newManifest({ ...fields, file, counts: counted })
      } catch (error) {
        await writer.abandon()
        throw error
      }
      const { signal, onProgress } = this.options
      await checkEntryFile(unfinished[0], backup.file, {
        signal,
        onProgress: (bytes) => onProgress?.('verifying', bytes, backup.file.bytes),
      })
      await writeDurably(unfinished[1], manifestText(backup))
      await rename(unfinished[0], entries)
      await rename(unfinished[1], manifest)
      await syncDirectory(directory)
      return backup
    } catch (error) {
      for (const path of unfinished) await rm(path, { force: true }).catch(() => undefined)
      throw error
    }
  }

  private async removeExpired(all: readonly Manifest[]): Promise<readonly string[]> {
    const { keepMs } = this.options
    if (keepMs === undefined) return []
    const expired = expiredBackups(all, new Date(Date.now() - keepMs).toISOString())
    for (const backup of expired) await removeBackup(this.place.directory, backup)
    return expired.map(({ name }) => name)
  }
}

const fullFirst = 'make a full backup first'

async function writeDurably(path: string, text: string): Promise<void> {
  await writeFile(path, text, { mode: 0o600 })
  const file = await open(path, 'r+')
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}
