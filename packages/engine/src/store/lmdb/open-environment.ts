/** Opens and closes LMDB environments without interference between processes. */
import { existsSync, lstatSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { lockLossMsMax, storeClosingMsMax, storeOpeningMsMax } from '../../limits.ts'
import { PlaceRefused } from '../place-refused.ts'
import { checkDataFile, noStore } from './check-data-file.ts'
import { openLmdb, openLmdbToRead } from './environment.ts'
import { reasonOf } from './file-failure.ts'
import type { LockFile } from './file-lock.ts'
import { enterAllBlocking, type Gate, openGate, openGateToRead } from './gate.ts'
import { joinProcesses, type Membership, processDirectory, processesThere } from './live-processes.ts'
import type { Environment } from './lmdb-js.ts'
import { lockHolders } from './lock-holders.ts'
import { type LockTable, openLockTable } from './lock-table.ts'
import { refuseUnfinishedBackup } from './make-backup.ts'
import { OpenedFiles } from './opened-files.ts'
import { codeOf, makeDirectories, makeFile } from './owned-files.ts'
import { endSharedRead } from './read-pins.ts'
import { holdDataFile, settleReplacement } from './replaced-file.ts'
import { ShownCommit } from './shown-commit.ts'
import type { LaidOut } from './storage-layout.ts'
import { identityOfFile } from './thread-address.ts'
import { killIfWriting } from './write-under-way.ts'
import { WriterNote } from './writer-note.ts'

export interface OpenEnvironment extends LaidOut {
  /** The present one: see `openReplacement`. */
  environment: Environment
  readonly gate: Gate
  /** Undefined where nobody can write to the store. */
  readonly note: WriterNote | undefined
  files: OpenedFiles
  /**
   * Where a compacted file has taken the place of the one that is open, opens that, and answers what was open until then. Undefined where
   * that is not so. Throws as `openEnvironment`.
   */
  openReplacement(): Promise<FormerEnvironment | undefined>
  /** Ends what is open, after all commits; waits a while for others that open. */
  close(): Promise<void>
}

/** Of a file that was replaced: it shows the same, and is to be closed once nothing reads from it. */
export interface FormerEnvironment {
  readonly environment: Environment
  close(): Promise<void>
}

const gatesInUse = new Set<Gate>()
let isExitWatched = false

/**
 * `isReadOnly`: an existing environment, of this or the earlier layout, whose data is never written to. Throws an `Error` with
 * one sentence for the operator when that is not possible; then nothing is left open.
 */
export async function openEnvironment(directory: string, isReadOnly: boolean): Promise<OpenEnvironment> {
  try {
    if (isReadOnly) checkIsStore(directory)
    else makeDirectory(directory)
    const gate = gateOf(directory, isReadOnly)
    return await openThroughGate(directory, gate, isReadOnly)
  } catch (cause) {
    throw new Error(`The LMDB store in ${directory} cannot be opened: ${reasonOf(cause, directory)}`, { cause })
  }
}

function makeDirectory(directory: string): void {
  refuseFile(directory)
  refuseUnfinishedBackup(directory)
  makeDirectories(directory)
}

/** Throws an `Error` with one sentence where the directory holds nothing of a store: whoever only reads makes nothing there. */
export function checkIsStore(directory: string): void {
  refuseUnfinishedBackup(directory)
  if (!refuseFile(directory)) throw new PlaceRefused('wrongPlace', 'there is no such directory; check the address')
  const isThere = (name: string): boolean => lstatSync(join(directory, name), { throwIfNoEntry: false }) !== undefined
  if (!['data.mdb', 'lock.mdb', 'processes'].some(isThere)) throw new PlaceRefused('wrongPlace', noStore)
}

/** False where there is nothing at all. */
function refuseFile(directory: string): boolean {
  const stats = statSync(directory, { throwIfNoEntry: false })
  if (stats !== undefined && !stats.isDirectory())
    throw new PlaceRefused('wrongPlace', 'it is a file, and a store is a directory; name a directory')
  return stats !== undefined
}

/** Throws where the directory cannot be written to, unless it is only to be read and its file system is read-only here. */
export function gateOf(directory: string, isReadOnly: boolean): Gate {
  try {
    return openGate(processDirectory(directory))
  } catch (error) {
    if (isReadOnly && codeOf(error) === 'EROFS') return openGateToRead(processDirectory(directory))
    throw error
  }
}

/**
 * Call it alone in the gate. Throws an `Error` with a sentence for the operator where a process has the store open beside which
 * this one must not open it. Undefined where this one can only look.
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

/** They do not go through this gate: their commits could be undone. One that is ending may lose its locks one by one. */
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
    const beside = openBeside(place, laidOut.environment, gate.isWritable ? holdData(directory) : undefined)
    gate.leave()
    keepUntilExit(gate)
    return openedEnvironment(place, { ...laidOut, ...beside }, membership)
  } catch (error) {
    note?.close()
    gate.close()
    throw error
  }
}

/**
 * Alone in the gate: no process opens, commits or closes meanwhile, so it must not take long when there are others
 * (`membership.otherPids`). The files are checked before LMDB touches them, but where this process has them open: the check may
 * read `lock.mdb`, and closing that ends the locks that LMDB holds on it.
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
    // LMDB takes empty files for new ones, and would make them for the user of this process.
    makeFile(join(directory, 'data.mdb'))
    return await openLmdb(directory)
  } catch (error) {
    membership?.leave()
    throw error
  }
}

/** Of a handle of a store, whatever file it has open. */
interface Place {
  readonly directory: string
  readonly gate: Gate
  /** Undefined where nobody can write to the store. */
  readonly note: WriterNote | undefined
  readonly isReadOnly: boolean
}

/** What is open beside LMDB. */
interface Beside {
  readonly files: OpenedFiles
  readonly held: LockFile | undefined
  readonly lockTable: LockTable | undefined
}

/** Alone in the gate, once LMDB has the files open. */
function openBeside(
  { directory, gate, note, isReadOnly }: Place,
  environment: Environment,
  held: LockFile | undefined,
): Beside {
  const { pageSize: pageBytes } = environment.getStats()
  environment.dataFile = held && {
    descriptor: held.descriptor,
    identity: identityOfFile(held.descriptor),
    pageBytes,
    verifiedPages: undefined,
  }
  const files = new OpenedFiles(directory, gate)
  note?.noteFiles(directory)
  // A handle that only reads shows what was there when it was opened.
  if (note === undefined || isReadOnly) return { files, held, lockTable: undefined }
  const lockTable = openLockTable(join(directory, 'lock.mdb'))
  const openAnother = (): Gate => openGate(processDirectory(directory))
  environment.shownCommit = new ShownCommit({ environment, lockTable, note, files, gate, openGate: openAnother })
  return { files, held, lockTable }
}

function holdData(directory: string): LockFile | undefined {
  return holdDataFile(join(directory, 'data.mdb'))
}

function openedEnvironment(
  place: Place,
  opened: LaidOut & Beside,
  membership: Membership | undefined,
): OpenEnvironment {
  const { directory, gate, note, isReadOnly } = place
  let beside: Beside = opened

  async function openInPlace(): Promise<FormerEnvironment | undefined> {
    settleReplacement(directory)
    if (!open.files.isReplaced()) return undefined
    makeFile(join(directory, 'lock.mdb'))
    const held = holdData(directory)
    const { environment } = isReadOnly ? await openLmdbToRead(directory) : await openLmdb(directory)
    const former = { environment: open.environment, ...beside }
    beside = openBeside(place, environment, held)
    open.environment = environment
    open.files = beside.files
    // Now, and not before: whoever finds the former file held by nobody may commit to this one.
    former.held?.unlock()
    return {
      environment: former.environment,
      async close() {
        await former.environment.close()
        former.lockTable?.close()
        // Last, so that it is not LMDB who gives back the file, and all others wait for it.
        former.held?.closeAside()
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
      // A gate of its own, since what is locked by one file descriptor twice is locked once, and commits of this handle are in the other.
      const alone = openGate(processDirectory(directory))
      try {
        if (await alone.enterAlone(storeOpeningMsMax)) return await openInPlace()
      } catch (cause) {
        throw new Error(`its compacted file cannot be opened: ${reasonOf(cause, directory)}`, { cause })
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
        beside.lockTable?.close()
        beside.held?.close()
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
  // Where an opener does not get on, closing beside it can make its opening fail, and nothing worse; never to end would be.
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

/** lmdb-js closes what is still open when a process exits: that is a closing too, unless a commit is in its way. */
function keepUntilExit(gate: Gate): void {
  if (!isExitWatched) process.once('exit', enterGatesForGood)
  isExitWatched = true
  gatesInUse.add(gate)
}

function enterGatesForGood(): void {
  killIfWriting()
  enterAllBlocking(gatesInUse, storeClosingMsMax)
}
