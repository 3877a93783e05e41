/**
 * Compacts an LMDB store that any number of processes may be using: copies one snapshot, applies the changes made in
 * the meantime, and replaces the data file with the copy, which the processes then open. See
 * docs/decisions/0024-compaction.md.
 */
import { existsSync, linkSync, readdirSync, renameSync, rmSync, statfsSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { assert } from '../../errors.ts'
import {
  betweenCompactionLooksMs,
  compactionAloneMsMax,
  compactionNoticeMsMax,
  compactionRoundsMax,
  storeOpeningMsMax,
} from '../../limits.ts'
import { PlaceRefused } from '../place-refused.ts'
import { changedKeys } from './changed-keys.ts'
import { metaPages, newerMeta } from './check-data-file.ts'
import { CompactedCopy } from './compacted-copy.ts'
import { DataFile, type TreeHeader } from './data-file.ts'
import { EntryChecks } from './entry-checks.ts'
import { syncDirectory } from './environment.ts'
import { reasonOf } from './file-failure.ts'
import { type LockFile, openLockFile } from './file-lock.ts'
import type { Gate } from './gate.ts'
import { ownProcessFile, processDirectory, processesThere } from './live-processes.ts'
import { readMainTree } from './main-tree.ts'
import { checkIsStore, type OpenEnvironment, openEnvironment } from './open-environment.ts'
import { makeDirectoryLikeParent } from './owned-files.ts'
import { haveAllMoved, isReplaceable, replaceLockTable, replacementPaths, settleReplacement } from './replaced-file.ts'
import { readinessOf } from './replacement-watch.ts'
import { LmdbSnapshot } from './snapshot.ts'
import { PageOwners } from './walk-tree.ts'

export interface CompactionReport {
  readonly entries: number
  /** Of the data file. */
  readonly bytesBefore: number
  readonly bytesAfter: number
  /** For how long no process could commit while the file was replaced. */
  readonly aloneMs: number
}

/** What has just been done. */
export type CompactionStep =
  | 'announced'
  | 'copied'
  | 'compared'
  | 'caught up'
  | 'linked'
  | 'replaced'
  | 'lock table replaced'
  | 'opened by all'

export interface CompactionOptions {
  /** Stops it, as long as the file is not replaced. */
  readonly signal: AbortSignal
  /** For tests: how long it waits for each process that has the store open to notice it. */
  readonly noticeMsMax?: number
  readonly onStep?: (step: CompactionStep) => void
  readonly onProgress?: (step: 'copying' | 'comparing', entries: number) => void
}

/** A state of the store, and its tree in the data file. Its pages stay as they are until the snapshot is released. */
interface Point {
  readonly snapshot: LmdbSnapshot
  readonly tree: TreeHeader
  readonly file: DataFile
  readonly pageBytes: number
}

interface Compaction {
  readonly directory: string
  /** Its gate is the one that is entered alone: another would be in the way of this process when it exits. */
  readonly opened: OpenEnvironment
  readonly copy: CompactedCopy
  readonly options: CompactionOptions
  /** Those that are not released. */
  readonly points: Set<Point>
}

const roomToSpareBytes = 16_777_216

/**
 * Throws an `Error` for the operator, and the reason of the signal; the store is then as it was, and whole whenever the process is killed.
 */
export async function compactLmdbStore(directory: string, options: CompactionOptions): Promise<CompactionReport> {
  const location = resolve(directory)
  try {
    refuseFiles(location)
    const announced = await announce(location, options.noticeMsMax)
    try {
      options.onStep?.('announced')
      return await compactAnnounced(location, options)
    } finally {
      rmSync(replacementPaths(location).announcement, { force: true })
      announced.close()
    }
  } catch (cause) {
    if (options.signal.aborted) throw cause
    throw new Error(`The LMDB store in ${location} is not compacted: ${reasonOf(cause, location)}`, { cause })
  }
}

function refuseFiles(directory: string): void {
  checkIsStore(directory)
  if (process.platform === 'win32')
    throw new Error('on Windows a file in use cannot be replaced; stop the server and use ashlar copy')
  const { data, lock } = replacementPaths(directory)
  for (const path of [data, lock])
    if (existsSync(path) && !isReplaceable(path))
      throw new Error(`${path} is a symbolic link; name the directory in which the file is`)
  // The new file has to belong to the same user, or the server could not open it.
  const { uid } = statSync(data)
  if (![0, uid, undefined].includes(process.geteuid?.()))
    throw new Error(`the user who owns ${data}, or root, has to do it`)
}

/** One compaction at a time; what one that was killed has left is cleared away. */
async function announce(directory: string, msMax = compactionNoticeMsMax): Promise<LockFile> {
  const { announcement, compacted } = replacementPaths(directory)
  makeDirectoryLikeParent(processDirectory(directory))
  const end = performance.now() + msMax
  for (;;) {
    const file = openLockFile(announcement)
    if (file.tryLock('exclusive') && file.isInPlace()) {
      rmSync(compacted, { recursive: true, force: true })
      const processes = processDirectory(directory)
      for (const name of readdirSync(processes))
        if (name.endsWith(readinessOf(''))) rmSync(join(processes, name), { force: true })
      return file
    }
    file.close()
    // A process that looks whether a compaction is under way holds it for an instant.
    if (performance.now() > end) throw new PlaceRefused('conflict', 'another process is compacting it')
    await delay(betweenCompactionLooksMs)
  }
}

async function compactAnnounced(directory: string, options: CompactionOptions): Promise<CompactionReport> {
  const opened = await openEnvironment(directory, true)
  let isOpen = true
  const close = async (): Promise<void> => {
    if (isOpen) await opened.close()
    isOpen = false
  }
  try {
    if (opened.layout === 'plain')
      throw new Error('it was written by an earlier version; bring it over with ashlar copy')
    await awaitAllMoved(directory)
    await awaitReadiness(directory, options.noticeMsMax)
    await aloneIn(opened.gate, () => refuseFullDisk(directory))
    const report = await replaceByCopy({ directory, opened, options })
    // Nothing is committed until this process has left the former file, too.
    await close()
    await awaitAllMoved(directory)
    options.onStep?.('opened by all')
    return report
  } finally {
    await close()
  }
}

/** The one before has to be over, and so has this one in the end. */
async function awaitAllMoved(directory: string): Promise<void> {
  const end = performance.now() + storeOpeningMsMax
  while (!haveAllMoved(directory)) {
    if (performance.now() > end)
      throw new Error(
        'a process that is suspended still has the file open that was compacted before; resume or kill it',
      )
    await delay(betweenCompactionLooksMs)
  }
}

async function awaitReadiness(directory: string, msMax = compactionNoticeMsMax): Promise<void> {
  const end = performance.now() + msMax
  for (let pid = unready(directory); pid !== undefined; pid = unready(directory)) {
    if (performance.now() > end)
      throw new Error(
        `process ${pid} has it open and does not notice that it is to be compacted: it is suspended, or of an earlier version of Ashlar. Resume it, or stop it`,
      )
    await delay(betweenCompactionLooksMs)
  }
}

/** The number of another process that would not follow now; undefined where all would. */
function unready(directory: string): number | undefined {
  const processes = processDirectory(directory)
  const own = ownProcessFile(processes)
  return processesThere(processes).find(({ path }) => path !== own && !existsSync(readinessOf(path)))?.pid
}

/** A compaction must not be what fills the disk. */
function refuseFullDisk(directory: string): void {
  const file = new DataFile(replacementPaths(directory).data)
  const { tree, pageBytes } = treeOf(file)
  file.close()
  const needed = (tree.branchPages + tree.leafPages + tree.overflowPages) * pageBytes + roomToSpareBytes
  const { bavail, bsize } = statfsSync(directory)
  const free = bavail * bsize
  if (free >= needed) return
  const [neededMiB, freeMiB] = [needed, free].map((bytes) => Math.ceil(bytes / 1_048_576).toLocaleString('en'))
  throw new Error(`the disk has ${freeMiB} MiB left, and the compacted file may take ${neededMiB} MiB; free some space`)
}

async function replaceByCopy(begun: Omit<Compaction, 'copy' | 'points'>): Promise<CompactionReport> {
  const { directory, opened, options } = begun
  const { compacted, lock } = replacementPaths(directory)
  const copy = await begunCopy(compacted, statSync(lock).size, options.signal)
  const compaction = { ...begun, copy, points: new Set<Point>() }
  try {
    let point = await aloneIn(opened.gate, () => pointNow(compaction))
    await copy.copy(point.snapshot, (entries) => options.onProgress?.('copying', entries))
    options.onStep?.('copied')
    point = await caughtUp(compaction, point)
    await copy.compare(point.snapshot, (entries) => options.onProgress?.('comparing', entries))
    options.onStep?.('compared')
    for (let round = 0; round < compactionRoundsMax; round++) {
      point = await caughtUp(compaction, point)
      await awaitReadiness(directory, options.noticeMsMax)
      const attempt = await tryToReplace(compaction, point)
      point = attempt.point
      if (attempt.report !== undefined) return attempt.report
    }
    throw new Error(tooManyChanges)
  } finally {
    for (const point of [...compaction.points]) release(compaction, point)
    await copy.discard()
  }
}

async function begunCopy(directory: string, lockBytes: number, signal: AbortSignal): Promise<CompactedCopy> {
  try {
    return await CompactedCopy.begin(directory, lockBytes, signal)
  } catch (error) {
    rmSync(directory, { recursive: true, force: true })
    throw error
  }
}

const tooManyChanges = 'changes come faster than they can be followed; do it at a time when there are fewer'

/** Follows what was changed since the point, until that takes a moment only. */
async function caughtUp(compaction: Compaction, from: Point): Promise<Point> {
  let point = from
  for (let round = 0; round < compactionRoundsMax; round++) {
    const begin = performance.now()
    const next = await aloneIn(compaction.opened.gate, () => pointNow(compaction))
    await compaction.copy.follow(keysBetween(point, next), next.snapshot)
    release(compaction, point)
    point = next
    if (performance.now() - begin < compactionAloneMsMax) return point
  }
  throw new Error(tooManyChanges)
}

interface Attempt {
  readonly point: Point
  /** Absent where the file is not replaced yet. */
  readonly report?: CompactionReport
}

async function tryToReplace(compaction: Compaction, point: Point): Promise<Attempt> {
  const { copy, directory } = compaction
  const { gate } = compaction.opened
  await enterAlone(gate)
  const begin = performance.now()
  let next: Point
  let keys: Iterator<Buffer>
  try {
    // One that was opened since may not look yet.
    if (unready(directory) !== undefined) return { point }
    next = pointNow(compaction)
    keys = keysBetween(point, next)
    if (await copy.follow(keys, next.snapshot, compactionAloneMsMax)) {
      release(compaction, point)
      return { point: next, report: await replaceFile(compaction, next, begin) }
    }
  } finally {
    gate.leave()
  }
  await copy.follow(keys, next.snapshot)
  release(compaction, point)
  return { point: next }
}

/** Alone in the gate, while the copy holds what the store holds. */
async function replaceFile(compaction: Compaction, point: Point, begin: number): Promise<CompactionReport> {
  const { copy, directory, opened, options } = compaction
  const { data, lock, dataBefore, lockBefore, compacted } = replacementPaths(directory)
  const { entries } = point.tree
  assert(copy.entryCount() === entries, 'a compacted file has as many entries as the store')
  await copy.putTail(point.snapshot.tail())
  const problem = opened.files.problem()
  if (problem !== undefined) throw new Error(problem)
  await copy.finish(statSync(data))
  options.signal.throwIfAborted()
  const bytesBefore = statSync(data).size
  options.onStep?.('caught up')
  try {
    linkSync(lock, lockBefore)
    linkSync(data, dataBefore)
    options.onStep?.('linked')
    renameSync(join(compacted, 'data.mdb'), data)
    options.onStep?.('replaced')
    replaceLockTable(join(compacted, 'lock.mdb'), lock)
    options.onStep?.('lock table replaced')
    syncDirectory(directory)
  } catch (error) {
    settleReplacement(directory)
    throw error
  }
  return { entries, bytesBefore, bytesAfter: statSync(data).size, aloneMs: performance.now() - begin }
}

/** Call it alone in the gate: then the snapshot is of the last commit, and so are the pages that the file leads to. */
function pointNow({ directory, opened, points }: Compaction): Point {
  const how = { isCounted: true }
  const snapshot = new LmdbSnapshot(opened.environment, new EntryChecks(opened.layout), () => undefined, how)
  const file = new DataFile(replacementPaths(directory).data)
  const point = { snapshot, file, ...treeOf(file) }
  points.add(point)
  assert(
    snapshot.entryCount === point.tree.entries,
    'alone in the gate, a snapshot is of the state that the file leads to',
  )
  return point
}

function release({ points }: Compaction, point: Point): void {
  points.delete(point)
  point.snapshot.release()
  point.file.close()
}

function keysBetween(before: Point, after: Point): Iterator<Buffer> {
  return changedKeys(after, before.tree, after.tree)
}

function treeOf(file: DataFile): { readonly tree: TreeHeader; readonly pageBytes: number } {
  const metas = metaPages(file)
  const problems = [...metas.problems]
  const meta = newerMeta(metas)
  if (meta === undefined) throw new Error(problems[0] ?? 'its data file cannot be read')
  const { pageBytes, lastPage, transaction } = meta
  const problem = (text: string): unknown => problems.push(text)
  const main = readMainTree({ file, pageBytes, lastPage, transaction, owners: new PageOwners(0), problem }, meta)
  if (main === undefined || problems.length > 0) throw new Error(problems[0] ?? 'its data file has no entries')
  return { tree: main.tree, pageBytes }
}

async function enterAlone(gate: Gate): Promise<void> {
  if (await gate.enterAlone(storeOpeningMsMax)) return
  throw new Error(
    `other processes have been opening it, or committing to it, for ${storeOpeningMsMax / 1_000} seconds without an end`,
  )
}

async function aloneIn<T>(gate: Gate, action: () => T): Promise<T> {
  await enterAlone(gate)
  try {
    return action()
  } finally {
    gate.leave()
  }
}
