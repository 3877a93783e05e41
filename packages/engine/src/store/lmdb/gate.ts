/**
 * The gate between those who open an LMDB environment and those who commit or close it, over all processes.
 *
 * Opening writes into LMDB's shared lock table without a lock: a transaction number that was read from the file a moment
 * before, and mutexes when nobody else seems to be there. A commit that ended in between would be undone, an environment
 * that was being closed would be left half destroyed. So whoever opens is alone; whoever commits or closes keeps openers
 * out. Reading takes no part.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type LockFile, openLockFile, openLockFileToRead } from './file-lock.ts'
import { makeDirectoryLikeParent } from './owned-files.ts'

const pollMs = 1
const pollMsLater = 5
/** So many polls of `pollMs` before they become rarer. */
const polls = 100
/** How long an opener keeps new commits out at first while it waits for those under way; doubled with each attempt. */
const patienceMs = 100
const patienceMsMax = 5_000

export interface Gate {
  /** False on a file system that this process cannot write to: then it keeps openers out itself, but is in no registry. */
  readonly isWritable: boolean
  /** Keeps openers out, without waiting; false where one is at work. */
  tryEnter(): boolean
  /** Keeps openers out; false where that was not possible within `msMax`. */
  enter(msMax: number): Promise<boolean>
  /** As `enter`, while nothing else happens in this process: for one that is about to end. */
  enterBlocking(msMax: number): boolean
  /** Keeps openers, commits and closings out; false where that was not possible within `msMax`. */
  enterAlone(msMax: number): Promise<boolean>
  /** The same, without waiting. */
  tryEnterAlone(): boolean
  /** Whether it was entered so, and not left. */
  readonly isAlone: boolean
  /** The way out, whichever the way in was. */
  leave(): void
  /** False where its file was deleted or replaced: then whoever opens the store next does so by another gate. */
  isInPlace(): boolean
  close(): void
}

/** To a store on a file system that nothing can be written to, and where nobody ever had a gate: everybody may enter. */
export const alwaysOpenGate: Gate = {
  isWritable: false,
  tryEnter: () => true,
  enter: async () => true,
  enterBlocking: () => true,
  enterAlone: async () => true,
  tryEnterAlone: () => true,
  isAlone: true,
  leave: () => undefined,
  isInPlace: () => true,
  close: () => undefined,
}

/** The directory is made if need be. Each handle of a store has a gate of its own. */
export function openGate(directory: string): Gate {
  // The turnstile is held for an instant on the way in, and by an opener until the room is empty: else commits that overlap could
  // keep it out.
  let { room, turnstile } = openFiles(directory)
  let isAlone = false

  function openAnew(): void {
    const files = openFiles(directory)
    close()
    room = files.room
    turnstile = files.turnstile
  }

  function close(): void {
    room.close()
    turnstile.close()
  }

  function tryThrough(mode: 'shared' | 'exclusive'): boolean {
    if (!turnstile.tryLock(mode)) return false
    try {
      return room.tryLock(mode)
    } finally {
      turnstile.unlock()
    }
  }

  const tryEnter = (): boolean => tryThrough('shared')

  return {
    isWritable: true,
    get isAlone() {
      return isAlone
    },
    tryEnter,
    tryEnterAlone() {
      isAlone = tryThrough('exclusive')
      return isAlone
    },
    enter: (msMax) => pollUntil(tryEnter, msMax),
    enterBlocking: (msMax) => pollBlocking(tryEnter, msMax),
    async enterAlone(msMax) {
      const end = performance.now() + msMax
      for (let patience = patienceMs; ; patience = Math.min(patienceMsMax, patience * 2)) {
        const left = end - performance.now()
        if (left <= 0) return false
        const isEntered = await tryAlone(room, turnstile, Math.min(patience, left))
        // Files that were deleted since they were opened keep nobody out.
        if (!room.isInPlace() || !turnstile.isInPlace()) {
          openAnew()
          continue
        }
        isAlone = isEntered
        if (isEntered) return true
        // One process that is busy while it holds the gate must not hold up the commits of all others with it.
        await delay(Math.random() * Math.min(patience, left))
      }
    },
    leave() {
      isAlone = false
      room.unlock()
    },
    isInPlace: () => room.isInPlace(),
    close,
  }
}

async function tryAlone(room: LockFile, turnstile: LockFile, msMax: number): Promise<boolean> {
  if (!(await pollUntil(() => turnstile.tryLock('exclusive'), msMax))) return false
  try {
    return await pollUntil(() => room.tryLock('exclusive'), msMax)
  } finally {
    turnstile.unlock()
  }
}

function openFiles(directory: string): { room: LockFile; turnstile: LockFile } {
  makeDirectoryLikeParent(directory)
  const room = openLockFile(join(directory, 'gate'))
  try {
    return { room, turnstile: openLockFile(join(directory, 'turnstile')) }
  } catch (error) {
    room.close()
    throw error
  }
}

/**
 * To a store on a file system that this process cannot write to, though others may: whoever is in keeps openers out until it is
 * closed, since on such a file system LMDB cannot tell writers which pages are being read.
 */
export function openGateToRead(directory: string): Gate {
  const path = join(directory, 'gate')
  if (!existsSync(path)) return alwaysOpenGate
  const room = openLockFileToRead(path)
  return {
    ...alwaysOpenGate,
    enterAlone: (msMax) => pollUntil(() => room.tryLock('shared'), msMax),
    isInPlace: () => room.isInPlace(),
    close: () => room.close(),
  }
}

/** Enters all of them, as far as that is possible within `msMax` in all. */
export function enterAllBlocking(gates: Iterable<Pick<Gate, 'enterBlocking'>>, msMax: number): void {
  const end = performance.now() + msMax
  for (const gate of gates) gate.enterBlocking(Math.max(0, end - performance.now()))
}

/** Keeps this process from anything else meanwhile. */
export function pollBlocking(isDone: () => boolean, msMax: number): boolean {
  const end = performance.now() + msMax
  while (!isDone()) {
    if (performance.now() >= end) return false
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pollMs)
  }
  return true
}

/** The system could wait for a lock, but only in a thread that nothing can call back. */
async function pollUntil(isDone: () => boolean, msMax: number): Promise<boolean> {
  const end = performance.now() + msMax
  for (let count = 0; !isDone(); count += 1) {
    if (performance.now() >= end) return false
    await delay(count < polls ? pollMs : pollMsLater)
  }
  return true
}
