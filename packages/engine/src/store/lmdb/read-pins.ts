/** The read transactions that snapshots hold; those of one turn of the event loop share one. */
import { type SharedTurn, sharedTurn } from '../reads-of-turn.ts'
import { EntryCursor } from './entry-cursor.ts'
import type { LeafReader } from './leaf-reader.ts'
import { resetTxn } from './lmdb-internals.ts'
import type { Environment, ReadTransaction } from './lmdb-js.ts'
import { failureOfRead } from './storage-failure.ts'

/** A read transaction that a snapshot holds; its cursor is kept for the next range. */
export interface Pin {
  readonly transaction: ReadTransaction
  /** As `performance.now` tells it; of a shared one, that of the first. */
  readonly begunAtMs: number
  /** The number of a commit that it shows: of the last one before it began, or an earlier one. Undefined if that is not known: the file may have a commit that is not shown yet. */
  readonly lastCommit: number | undefined
  cursor: EntryCursor | undefined
  /** For ranges of many entries; null where these cannot be read from the file. */
  leaves?: LeafReader | null | undefined
  /** Pins that have the same show the same; undefined where it has a transaction of its own. */
  readonly sharedRead?: SharedRead
}

/** What the snapshots of an environment share. One object for each environment: an entry of a `WeakMap` for each turn costs as much as the turn's first read. */
interface EnvironmentReads {
  transaction: ReadTransaction | undefined
  ofTurn: SharedRead | undefined
}

const readsOfEnvironments = new WeakMap<Environment, EnvironmentReads>()

function readsOf(environment: Environment): EnvironmentReads {
  let reads = readsOfEnvironments.get(environment)
  if (reads === undefined) {
    reads = { transaction: undefined, ofTurn: undefined }
    readsOfEnvironments.set(environment, reads)
  }
  return reads
}

/**
 * Pins what the store holds now. lmdb-js shares one read transaction in the process and renews it by a timer only: it is reset first, else
 * the snapshot could be older than the call. While nobody else holds it, the library's own function does that, since lmdb-js would set another timer
 * for each snapshot.
 */
export function beginRead(environment: Environment): Pin {
  return beginReadOf(environment, readsOf(environment))
}

function beginReadOf(environment: Environment, reads: EnvironmentReads): Pin {
  endSharedReadOf(reads)
  const lastCommit = environment.shownCommit?.ensure()
  const shared = reads.transaction
  if (shared !== undefined && isFree(shared)) resetTxn(shared.address)
  else environment.resetReadTxn()
  const transaction = usedTransaction(environment)
  reads.transaction = transaction
  return { transaction, begunAtMs: performance.now(), lastCommit, cursor: undefined }
}

function usedTransaction(environment: Environment): ReadTransaction {
  try {
    return environment.useReadTransaction()
  } catch (error) {
    throw failureOfRead(error)
  }
}

/** What the snapshots of one turn of the event loop read through; held until the turn is over. */
interface SharedRead {
  readonly turn: SharedTurn
  readonly transaction: ReadTransaction
  readonly begunAtMs: number
  readonly lastCommit: number | undefined
  /** Of a pin that has ended, for the next one. */
  cursor: EntryCursor | undefined
  isOver: boolean
}

/** The same for a read that may show what an earlier one of the turn does, where `shareReads` allows it. */
export function beginSharedRead(environment: Environment): Pin {
  const turn = sharedTurn()
  if (turn === undefined) return beginRead(environment)
  const reads = readsOf(environment)
  let read = reads.ofTurn
  if (read?.turn !== turn) {
    const { transaction, begunAtMs, lastCommit } = beginReadOf(environment, reads)
    read = { turn, transaction, begunAtMs, lastCommit, cursor: undefined, isOver: false }
    reads.ofTurn = read
    setImmediate(endIfStill, reads, read)
  }
  const { transaction, begunAtMs, lastCommit, cursor } = read
  transaction.use()
  read.cursor = undefined
  return { transaction, begunAtMs, lastCommit, cursor, sharedRead: read }
}

/** To be called when nobody reads through the pin any more. */
export function endRead({ transaction, cursor, sharedRead }: Pin): void {
  if (sharedRead === undefined || sharedRead.isOver || sharedRead.cursor !== undefined) cursor?.close()
  else sharedRead.cursor = cursor
  transaction.done()
}

function endIfStill(reads: EnvironmentReads, read: SharedRead): void {
  if (reads.ofTurn === read) endSharedReadOf(reads)
}

/** To be called before the environment is closed, too. */
export function endSharedRead(environment: Environment): void {
  endSharedReadOf(readsOf(environment))
}

function endSharedReadOf(reads: EnvironmentReads): void {
  const read = reads.ofTurn
  if (read === undefined) return
  reads.ofTurn = undefined
  read.isOver = true
  read.cursor?.close()
  read.cursor = undefined
  read.transaction.done()
}

/** lmdb-js gives it out again, and nobody reads through it. */
function isFree({ refCount, notCurrent, isDone, isCommitted }: ReadTransaction): boolean {
  return refCount === 0 && notCurrent !== true && isDone !== true && isCommitted !== true
}

/** Without a pin, with a cursor of the write transaction under way. */
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
