/** Opens and closes LMDB environments without interference between processes. */
import { existsSync, lstatSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { lockLossMsMax, storeClosingMsMax, storeOpeningMsMax } from '../../limits.ts'
import { PlaceRefused } from '../place-refused.ts'
import { checkDataFile, noStore } from './check-data-file.ts'
import { openLmdb, openLmdbToRead } from './environment.ts'
import { describeFileFailure } from './file-failure.ts'
import type { LockFile } from './file-lock.ts'
import { enterAllBlocking, type Gate, openGate, openGateToRead } from './gate.ts'
import { joinProcesses, type Membership, processDirectory, processesThere } from './live-processes.ts'
import type { Environment } from './lmdb-js.ts'
import { lockHolders } from './lock-holders.ts'
import { type LockTable, openLockTable } from './lock-table.ts'
import { refuseUnfinishedBackup } from './make-backup.ts'
import { OpenedFiles } from './opened-files.ts'
import { makeDirectories, makeFile, systemErrorCode } from './owned-files.ts'
import { endSharedRead } from './read-pins.ts'
import { holdDataFile, settleReplacement } from './replaced-file.ts'
import type { LaidOut } from './storage-layout.ts'
import { identityOfFile } from './thread-address.ts'
import { VisibleCommit } from './visible-commit.ts'
import { killIfWriting } from './write-under-way.ts'
import { WriterNote } from './writer-note.ts'

export interface OpenEnvironment extends LaidOut {
  /** The current environment: see `openReplacement`. */
  environment: Environment
  readonly gate: Gate
  /** Undefined if no process can write to the store. */
  readonly note: WriterNote | undefined
  files: OpenedFiles
  /**
   * If a compacted file has replaced the open one, opens it and returns the former environment; otherwise undefined. Throws like `openEnvironment`.
   */
  openReplacement(): Promise<FormerEnvironment | undefined>
  /** Closes the environment, after all commits; waits a while for openers. */
  close(): Promise<void>
}

/** The environment of a replaced file with the same content, to be closed after the last read from it. */
export interface FormerEnvironment {
  readonly environment: Environment
  close(): Promise<void>
}

const gatesInUse = new Set<Gate>()
let isExitWatched = false

/**
 * `isReadOnly`: opens an existing environment, of the current or the earlier layout, without ever writing its data. On failure, throws an `Error`
 * with one sentence for the operator and leaves nothing open.
 */
export async function openEnvironment(directory: string, isReadOnly: boolean): Promise<OpenEnvironment> {
  try {
    if (isReadOnly) checkIsStore(directory)
    else makeDirectory(directory)
    const gate = gateOf(directory, isReadOnly)
    return await openThroughGate(directory, gate, isReadOnly)
  } catch (cause) {
    throw new Error(`The LMDB store in ${directory} cannot be opened: ${describeFileFailure(cause, directory)}`, {
      cause,
    })
  }
}

function makeDirectory(directory: string): void {
  refuseFile(directory)
  refuseUnfinishedBackup(directory)
  makeDirectories(directory)
}

/** Throws an `Error` with one sentence if the directory holds no store: a reader creates nothing there. */
export function checkIsStore(directory: string): void {
  refuseUnfinishedBackup(directory)
  if (!refuseFile(directory)) throw new PlaceRefused('wrongPlace', 'there is no such directory; check the address')
  const isThere = (name: string): boolean => lstatSync(join(directory, name), { throwIfNoEntry: false }) !== undefined
  if (!['data.mdb', 'lock.mdb', 'processes'].some(isThere)) throw new PlaceRefused('wrongPlace', noStore)
}

/** False if nothing exists. */
function refuseFile(directory: string): boolean {
  const stats = statSync(directory, { throwIfNoEntry: false })
  if (stats !== undefined && !stats.isDirectory())
    throw new PlaceRefused('wrongPlace', 'it is a file, and a store is a directory; name a directory')
  return stats !== undefined
}

/** Throws if the directory is not writable, unless it is only read and its file system is read-only here. */
export function gateOf(directory: string, isReadOnly: boolean): Gate {
  try {
    return openGate(processDirectory(directory))
  } catch (error) {
    if (isReadOnly && systemErrorCode(error) === 'EROFS') return openGateToRead(processDirectory(directory))
    throw error
  }
}

/**
 * Must be called with the gate held exclusively. Throws an `Error` with a sentence for the operator if another process has the store open in an
 * incompatible way. Undefined if this process can only read.
 */
export async function joinOthers(directory: string, gate: Gate): Promise<Membership | undefined> {
  const processes = processDirectory(directory)
  if (!gate.isWritable) {
    const [pid] = [...processesThere(processes).map((one) => one.pid), ...lockHolders(join(directory, 'lock.mdb'))]
    if (pid === undefined) return undefined
    throw new Error(
      `process ${pid} has it open, and LMDB cannot tell it what is being read, since the file system is read-only here; mount it writable, or read a copy`,
    )
  }
  const membership = joinProcesses(processes)
  try {
    await refuseUnregistered(directory, membership)
    return membership
  } catch (error) {
    membership.leave()
    throw error
  }
}

/** Such processes bypass the gate, and their commits could be undone. A process that is ending may lose its locks one by one. */
async function refuseUnregistered(directory: string, { otherPids }: Membership): Promise<void> {
  const end = performance.now() + lockLossMsMax
  for (;;) {
    const pid = lockHolders(join(directory, 'lock.mdb')).find((one) => one !== process.pid && !otherPids.includes(one))
    if (pid === undefined) return
    if (performance.now() > end)
      throw new Error(
        `process ${pid} has it open, but has no file in ${processDirectory(directory)}: it is of an earlier version of Ashlar or another program, or that directory was deleted while it ran. Stop it first`,
      )
    await delay(10)
  }
}

async function openThroughGate(directory: string, gate: Gate, isReadOnly: boolean): Promise<OpenEnvironment> {
  let note: WriterNote | undefined
  try {
    if (!(await gate.enterAlone(storeOpeningMsMax)))
      throw new Error(
        `other processes have been opening it, committing to it, or reading it through a read-only mount, for ${storeOpeningMsMax / 1_000} seconds without an end`,
      )
    const membership = await joinOthers(directory, gate)
    if (gate.isWritable) settleReplacement(directory)
    note = gate.isWritable ? new WriterNote(directory) : undefined
    const laidOut = await openAsMember(directory, membership, note, isReadOnly)
    const place = { directory, gate, note, isReadOnly }
    const resources = openResources(place, laidOut.environment, gate.isWritable ? holdData(directory) : undefined)
    gate.leave()
    keepUntilExit(gate)
    return openedEnvironment(place, { ...laidOut, ...resources }, membership)
  } catch (error) {
    note?.close()
    gate.close()
    throw error
  }
}

/**
 * Must be called with the gate held exclusively: no process opens, commits or closes meanwhile, so it must be fast if there are other processes
 * (`membership.otherPids`). The files are checked before LMDB opens them, unless this process already has them open: the check may read `lock.mdb`,
 * and closing that releases LMDB's locks on it.
 */
async function openAsMember(
  directory: string,
  membership: Membership | undefined,
  note: WriterNote | undefined,
  isReadOnly: boolean,
): Promise<LaidOut> {
  try {
    if (membership?.isShared !== true) checkDataFile(directory, isReadOnly)
    else if (!existsSync(join(directory, 'data.mdb'))) throw new Error('its data.mdb was deleted while it was open')
    const isOpen = membership !== undefined && (membership.isShared || membership.otherPids.length > 0)
    if (isOpen) note?.refuseOtherFiles(directory)
    if (membership !== undefined) makeFile(join(directory, 'lock.mdb'))
    if (isReadOnly) return await openLmdbToRead(directory)
    // LMDB treats empty files as new ones, and would create them for the user of this process.
    makeFile(join(directory, 'data.mdb'))
    return await openLmdb(directory)
  } catch (error) {
    membership?.leave()
    throw error
  }
}

/** The location of a store's handle, whichever file it has open. */
interface Place {
  readonly directory: string
  readonly gate: Gate
  /** Undefined if no process can write to the store. */
  readonly note: WriterNote | undefined
  readonly isReadOnly: boolean
}

/** Resources opened along with LMDB. */
interface Resources {
  readonly files: OpenedFiles
  readonly lockedData: LockFile | undefined
  readonly lockTable: LockTable | undefined
}

/** Must be called with the gate held exclusively, once LMDB has the files open. */
function openResources(
  { directory, gate, note, isReadOnly }: Place,
  environment: Environment,
  lockedData: LockFile | undefined,
): Resources {
  const { pageSize: pageBytes } = environment.getStats()
  environment.dataFile = lockedData && {
    descriptor: lockedData.descriptor,
    identity: identityOfFile(lockedData.descriptor),
    pageBytes,
    verifiedPages: undefined,
  }
  const files = new OpenedFiles(directory, gate)
  note?.noteFiles(directory)
  // A read-only handle shows the state at its opening.
  if (note === undefined || isReadOnly) return { files, lockedData, lockTable: undefined }
  const lockTable = openLockTable(join(directory, 'lock.mdb'))
  const openAnother = (): Gate => openGate(processDirectory(directory))
  environment.visibleCommit = new VisibleCommit({ environment, lockTable, note, files, gate, openGate: openAnother })
  return { files, lockedData, lockTable }
}

function holdData(directory: string): LockFile | undefined {
  return holdDataFile(join(directory, 'data.mdb'))
}

function openedEnvironment(
  place: Place,
  opened: LaidOut & Resources,
  membership: Membership | undefined,
): OpenEnvironment {
  const { directory, gate, note, isReadOnly } = place
  let resources: Resources = opened

  async function openInPlace(): Promise<FormerEnvironment | undefined> {
    settleReplacement(directory)
    if (!open.files.isReplaced()) return undefined
    makeFile(join(directory, 'lock.mdb'))
    const lockedData = holdData(directory)
    const { environment } = isReadOnly ? await openLmdbToRead(directory) : await openLmdb(directory)
    const former = { environment: open.environment, ...resources }
    resources = openResources(place, environment, lockedData)
    open.environment = environment
    open.files = resources.files
    // Not earlier: a process that finds the former file unlocked may commit to this one.
    former.lockedData?.unlock()
    return {
      environment: former.environment,
      async close() {
        await former.environment.close()
        former.lockTable?.close()
        // Last, so that LMDB does not release the file, which all other processes wait for.
        former.lockedData?.closeAsync()
      },
    }
  }

  const open: OpenEnvironment = {
    environment: opened.environment,
    layout: opened.layout,
    gate,
    note,
    files: opened.files,
    async openReplacement() {
      // A separate gate, since this handle's commits may hold its own, and a descriptor's second lock on a file has no effect.
      const alone = openGate(processDirectory(directory))
      try {
        if (await alone.enterAlone(storeOpeningMsMax)) return await openInPlace()
      } catch (cause) {
        throw new Error(`its compacted file cannot be opened: ${describeFileFailure(cause, directory)}`, { cause })
      } finally {
        alone.close()
      }
      throw new Error(
        `other processes have been opening it, or committing to it, for ${storeOpeningMsMax / 1_000} seconds`,
      )
    },
    async close() {
      try {
        await closeThroughGate(open.environment, gate, membership)
      } finally {
        resources.lockTable?.close()
        resources.lockedData?.close()
        note?.close()
      }
    },
  }
  return open
}

async function closeThroughGate(
  environment: Environment,
  gate: Gate,
  membership: Membership | undefined,
): Promise<void> {
  // If an opener is stuck, closing can at worst make its opening fail; waiting forever would be worse.
  const isInside = await gate.enter(storeClosingMsMax)
  try {
    endSharedRead(environment)
    await environment.close()
  } finally {
    membership?.leave({ keepFile: !isInside })
    gatesInUse.delete(gate)
    gate.close()
  }
}

/** lmdb-js closes open environments on exit, which must not happen during an opening; a commit in progress must not block the exit. */
function keepUntilExit(gate: Gate): void {
  if (!isExitWatched) process.once('exit', enterGatesForGood)
  isExitWatched = true
  gatesInUse.add(gate)
}

function enterGatesForGood(): void {
  killIfWriting()
  enterAllBlocking(gatesInUse, storeClosingMsMax)
}
