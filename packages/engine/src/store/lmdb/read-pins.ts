/** Read transactions of snapshots. Snapshots of the same event loop iteration share one. */
import { type SharedIteration, sharedIteration } from '../reads-of-turn.ts'
import { EntryCursor } from './entry-cursor.ts'
import type { LeafReader } from './leaf-reader.ts'
import { resetTxn } from './lmdb-internals.ts'
import type { Environment, ReadTransaction } from './lmdb-js.ts'
import { failureOfRead } from './storage-failure.ts'

/** A read transaction held by a snapshot, with its cursor for the next range. */
export interface Pin {
  readonly transaction: ReadTransaction
  /** By `performance.now`; if shared, when the first one began. */
  readonly startedAtMs: number
  /**
   * The last commit before the transaction began, or an earlier one, which it shows. Undefined if unknown: the file may have a commit that is not
   * visible yet.
   */
  readonly lastCommit: number | undefined
  cursor: EntryCursor | undefined
  /** For ranges of many entries; null if these cannot be read from the file. */
  leaves?: LeafReader | null | undefined
  /** Equal for pins that show the same state; undefined if the transaction is not shared. */
  readonly sharedRead?: SharedRead
}

/**
 * State shared by the snapshots of an environment. One object per environment, since a `WeakMap` entry per iteration would cost as much as its
 * first read.
 */
interface EnvironmentReads {
  transaction: ReadTransaction | undefined
  sharedRead: SharedRead | undefined
}

const readsOfEnvironments = new WeakMap<Environment, EnvironmentReads>()

function readsOf(environment: Environment): EnvironmentReads {
  let reads = readsOfEnvironments.get(environment)
  if (reads === undefined) {
    reads = { transaction: undefined, sharedRead: undefined }
    readsOfEnvironments.set(environment, reads)
  }
  return reads
}

/**
 * Pins the current state. lmdb-js shares one read transaction per process and renews it only by a timer: it is reset first, or else the snapshot
 * could be older than the call. If it is unused, the native function resets it, since lmdb-js would set another timer for each snapshot.
 */
export function beginRead(environment: Environment): Pin {
  return beginReadOf(environment, readsOf(environment))
}

function beginReadOf(environment: Environment, reads: EnvironmentReads): Pin {
  endSharedReadOf(reads)
  const lastCommit = environment.visibleCommit?.ensure()
  const shared = reads.transaction
  if (shared !== undefined && isFree(shared)) resetTxn(shared.address)
  else environment.resetReadTxn()
  const transaction = usedTransaction(environment)
  reads.transaction = transaction
  return { transaction, startedAtMs: performance.now(), lastCommit, cursor: undefined }
}

function usedTransaction(environment: Environment): ReadTransaction {
  try {
    return environment.useReadTransaction()
  } catch (error) {
    throw failureOfRead(error)
  }
}

/** The read transaction that snapshots of one event loop iteration share; held until the iteration ends. */
interface SharedRead {
  readonly iteration: SharedIteration
  readonly transaction: ReadTransaction
  readonly startedAtMs: number
  readonly lastCommit: number | undefined
  /** Left by an ended pin for the next one. */
  cursor: EntryCursor | undefined
  isOver: boolean
}

/** Like `beginRead`, but may show the state of an earlier read of the same iteration, if `shareReads` allows it. */
export function beginSharedRead(environment: Environment): Pin {
  const iteration = sharedIteration()
  if (iteration === undefined) return beginRead(environment)
  const reads = readsOf(environment)
  let read = reads.sharedRead
  if (read?.iteration !== iteration) {
    const { transaction, startedAtMs, lastCommit } = beginReadOf(environment, reads)
    read = { iteration, transaction, startedAtMs, lastCommit, cursor: undefined, isOver: false }
    reads.sharedRead = read
    setImmediate(endIfStill, reads, read)
  }
  const { transaction, startedAtMs, lastCommit, cursor } = read
  transaction.use()
  read.cursor = undefined
  return { transaction, startedAtMs, lastCommit, cursor, sharedRead: read }
}

/** Must be called after the last read through the pin. */
export function endRead({ transaction, cursor, sharedRead }: Pin): void {
  if (sharedRead === undefined || sharedRead.isOver || sharedRead.cursor !== undefined) cursor?.close()
  else sharedRead.cursor = cursor
  transaction.done()
}

function endIfStill(reads: EnvironmentReads, read: SharedRead): void {
  if (reads.sharedRead === read) endSharedReadOf(reads)
}

/** Must also be called before the environment is closed. */
export function endSharedRead(environment: Environment): void {
  endSharedReadOf(readsOf(environment))
}

function endSharedReadOf(reads: EnvironmentReads): void {
  const read = reads.sharedRead
  if (read === undefined) return
  reads.sharedRead = undefined
  read.isOver = true
  read.cursor?.close()
  read.cursor = undefined
  read.transaction.done()
}

/** Whether lmdb-js would reuse it, and no snapshot reads through it. */
function isFree({ refCount, notCurrent, isDone, isCommitted }: ReadTransaction): boolean {
  return refCount === 0 && notCurrent !== true && isDone !== true && isCommitted !== true
}

/** Without a pin, uses a cursor of the current write transaction. */
export function withCursor<T>(environment: Environment, pin: Pin | undefined, use: (cursor: EntryCursor) => T): T {
  const cursor = pin?.cursor ?? new EntryCursor(environment, pin?.transaction)
  if (pin === undefined) {
    try {
      return use(cursor)
    } finally {
      cursor.close()
    }
  }
  pin.cursor = undefined
  try {
    return use(cursor)
  } finally {
    pin.cursor = cursor
  }
}
