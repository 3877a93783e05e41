/**
 * The gate: mutual exclusion, over all processes, of opening an LMDB environment with commits and closing.
 * Opening writes into LMDB's shared lock table without a lock: a transaction number read from the file a moment before, and mutexes if no other
 * process seems to exist. It would undo a commit that ended in between, and destroy an environment that was being closed. Therefore openers are
 * exclusive, and commits and closings exclude openers. Reads need no gate.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type LockFile, openLockFile, openLockFileToRead } from './file-lock.ts'
import { makeDirectoryLikeParent } from './owned-files.ts'

const pollMs = 1
const pollMsMax = 5
/** Number of polls at `pollMs` before the interval grows. */
const polls = 100
/** How long an opener first blocks new commits while it waits for those in progress; doubled per attempt. */
const patienceMs = 100
const patienceMsMax = 5_000

export interface Gate {
  /** False on a file system that this process cannot write to: it then blocks openers, but is not registered. */
  readonly isWritable: boolean
  /** Blocks openers, without waiting; false if one is active. */
  tryEnter(): boolean
  /** Blocks openers; false if that fails within `msMax`. */
  enter(msMax: number): Promise<boolean>
  /** Like `enter`, but blocks the event loop: for a process that is about to end. */
  enterBlocking(msMax: number): boolean
  /** Blocks openers, commits and closings; false if that fails within `msMax`. */
  enterAlone(msMax: number): Promise<boolean>
  /** Like `enterAlone`, without waiting. */
  tryEnterAlone(): boolean
  /** Whether the gate is held by `enterAlone` or `tryEnterAlone`. */
  readonly isAlone: boolean
  leave(): void
  /** False if its file was deleted or replaced, so that later openers use another gate. */
  isInPlace(): boolean
  close(): void
}

/** For a store on a read-only file system without a gate: every process may enter. */
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

/** Creates the directory if needed. Each handle of a store has a separate gate. */
export function openGate(directory: string): Gate {
  // The turnstile is held briefly on entry, and by an opener until the room is empty: otherwise overlapping commits could starve it.
  let { room, turnstile } = openFiles(directory)
  let isAlone = false

  function reopen(): void {
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
        // Locks on files deleted since they were opened block no process.
        if (!room.isInPlace() || !turnstile.isInPlace()) {
          reopen()
          continue
        }
        isAlone = isEntered
        if (isEntered) return true
        // Backs off so that a process that is busy while it holds the gate does not delay all other commits through this opener.
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

/** For a store that only other processes can write to: blocks openers until it is closed, since LMDB cannot register readers there. */
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

/** Enters as many gates as possible within `msMax` in total. */
export function enterAllBlocking(gates: Iterable<Pick<Gate, 'enterBlocking'>>, msMax: number): void {
  const end = performance.now() + msMax
  for (const gate of gates) gate.enterBlocking(Math.max(0, end - performance.now()))
}

/** Blocks the event loop. */
export function pollBlocking(isDone: () => boolean, msMax: number): boolean {
  const end = performance.now() + msMax
  while (!isDone()) {
    if (performance.now() >= end) return false
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pollMs)
  }
  return true
}

/** Polls, since waiting for a lock would need a thread that cannot be interrupted. */
async function pollUntil(isDone: () => boolean, msMax: number): Promise<boolean> {
  const end = performance.now() + msMax
  for (let count = 0; !isDone(); count += 1) {
    if (performance.now() >= end) return false
    await delay(count < polls ? pollMs : pollMsMax)
  }
  return true
}
