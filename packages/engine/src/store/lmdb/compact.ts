/**
 * Compacts an LMDB store that other processes may be using: copies one snapshot, applies the changes made meanwhile, and replaces the data file by
 * the copy, which the processes then open. See docs/decisions/0024-compaction.md.
 */
import { existsSync, linkSync, readdirSync, renameSync, rmSync, statfsSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { assert } from '../../errors.ts'
import {
  compactionAloneMsMax,
  compactionNoticeMsMax,
  compactionRoundsMax,
  compactionStepPollMs,
  storeOpeningMsMax,
} from '../../limits.ts'
import { PlaceRefused } from '../place-refused.ts'
import { changedKeys } from './changed-keys.ts'
import { metaPages, newerMeta } from './check-data-file.ts'
import { CompactedCopy } from './compacted-copy.ts'
import { DataFile, type TreeHeader } from './data-file.ts'
import { EntryChecks } from './entry-checks.ts'
import { syncDirectorySync } from './environment.ts'
import { describeFileFailure } from './file-failure.ts'
import { type LockFile, openLockFile } from './file-lock.ts'
import type { Gate } from './gate.ts'
import { processDirectory, processesThere, processFile } from './live-processes.ts'
import { readMainTree } from './main-tree.ts'
import { checkIsStore, type OpenEnvironment, openEnvironment } from './open-environment.ts'
import { makeDirectoryLikeParent } from './owned-files.ts'
import { haveAllMoved, isReplaceable, replaceLockTable, replacementPaths, settleReplacement } from './replaced-file.ts'
import { readinessOf } from './replacement-watch.ts'
import { LmdbSnapshot } from './snapshot.ts'
import { PageOwners } from './walk-tree.ts'

export interface CompactionReport {
  readonly entries: number
  /** Size of the data file. */
  readonly bytesBefore: number
  readonly bytesAfter: number
  /** How long commits of all processes were blocked while the file was replaced. */
  readonly aloneMs: number
}

/** The step that has just been completed. */
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
  /** Aborts the compaction, until the file is replaced. */
  readonly signal: AbortSignal
  /** For tests: how long to wait for each process that has the store open to notice the compaction. */
  readonly noticeMsMax?: number
  readonly onStep?: (step: CompactionStep) => void
  readonly onProgress?: (step: 'copying' | 'comparing', entries: number) => void
}

/** A state of the store and its tree in the data file. Its pages stay unchanged until the snapshot is released. */
interface Point {
  readonly snapshot: LmdbSnapshot
  readonly tree: TreeHeader
  readonly file: DataFile
  readonly pageBytes: number
}

interface Compaction {
  readonly directory: string
  /** Its gate is the one entered exclusively: a second one would block this process when it exits. */
  readonly opened: OpenEnvironment
  readonly copy: CompactedCopy
  readonly options: CompactionOptions
  /** Points not released yet. */
  readonly points: Set<Point>
}

const roomToSpareBytes = 16_777_216

/** Throws an `Error` for the operator, or the reason of the signal; the store is then unchanged. It is intact whenever the process is killed. */
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
    throw new Error(`The LMDB store in ${location} is not compacted: ${describeFileFailure(cause, location)}`, {
      cause,
    })
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
  // The new file must belong to the same user, or the server could not open it.
  const { uid } = statSync(data)
  if (![0, uid, undefined].includes(process.geteuid?.()))
    throw new Error(`the user who owns ${data}, or root, has to do it`)
}

/** Allows one compaction at a time, and removes what a killed one left behind. */
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
    // A process that checks for a compaction holds the lock for an instant.
    if (performance.now() > end) throw new PlaceRefused('conflict', 'another process is compacting it')
    await delay(compactionStepPollMs)
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
    // Nothing is committed until this process has left the old file too.
    await close()
    await awaitAllMoved(directory)
    options.onStep?.('opened by all')
    return report
  } finally {
    await close()
  }
}

/** Both the previous compaction and this one must be complete. */
async function awaitAllMoved(directory: string): Promise<void> {
  const end = performance.now() + storeOpeningMsMax
  while (!haveAllMoved(directory)) {
    if (performance.now() > end)
      throw new Error(
        'a process that is suspended still has the file open that was compacted before; resume or kill it',
      )
    await delay(compactionStepPollMs)
  }
}

async function awaitReadiness(directory: string, msMax = compactionNoticeMsMax): Promise<void> {
  const end = performance.now() + msMax
  for (let pid = unready(directory); pid !== undefined; pid = unready(directory)) {
    if (performance.now() > end)
      throw new Error(
        `process ${pid} has it open and does not notice that it is to be compacted: it is suspended, or of an earlier version of Ashlar. Resume it, or stop it`,
      )
    await delay(compactionStepPollMs)
  }
}

/** The process ID of another process that would not follow a replacement now; undefined if all would. */
function unready(directory: string): number | undefined {
  const processes = processDirectory(directory)
  const thisProcess = processFile(processes)
  return processesThere(processes).find(({ path }) => path !== thisProcess && !existsSync(readinessOf(path)))?.pid
}

/** A compaction must not fill the disk. */
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

async function replaceByCopy(base: Omit<Compaction, 'copy' | 'points'>): Promise<CompactionReport> {
  const { directory, opened, options } = base
  const { compacted, lock } = replacementPaths(directory)
  const copy = await beginCopy(compacted, statSync(lock).size, options.signal)
  const compaction = { ...base, copy, points: new Set<Point>() }
  try {
    let point = await aloneIn(opened.gate, () => pointNow(compaction))
    await copy.copy(point.snapshot, (entries) => options.onProgress?.('copying', entries))
    options.onStep?.('copied')
    point = await catchUp(compaction, point)
    await copy.compare(point.snapshot, (entries) => options.onProgress?.('comparing', entries))
    options.onStep?.('compared')
    for (let round = 0; round < compactionRoundsMax; round++) {
      point = await catchUp(compaction, point)
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

async function beginCopy(directory: string, lockBytes: number, signal: AbortSignal): Promise<CompactedCopy> {
  try {
    return await CompactedCopy.begin(directory, lockBytes, signal)
  } catch (error) {
    rmSync(directory, { recursive: true, force: true })
    throw error
  }
}

const tooManyChanges = 'changes come faster than they can be followed; do it at a time when there are fewer'

/** Copies the changes made since the point, until a round takes only a moment. */
async function catchUp(compaction: Compaction, from: Point): Promise<Point> {
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
  /** Absent if the file is not replaced yet. */
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
    // A process that opened the store since then may not be ready.
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

/** Must be called with the gate held exclusively, when the copy equals the store. */
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
    syncDirectorySync(directory)
  } catch (error) {
    settleReplacement(directory)
    throw error
  }
  return { entries, bytesBefore, bytesAfter: statSync(data).size, aloneMs: performance.now() - begin }
}

/** Must be called with the gate held exclusively: then the snapshot, and the pages that the file refers to, are of the last commit. */
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
