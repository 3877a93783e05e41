/** Converts errors of the storage to errors that state what happened and whether the store can continue. */
import { getSystemErrorMap } from 'node:util'
import { AshlarError, fatalFailure } from '../../errors.ts'
import { pageDamage } from './entry-checks.ts'
import { FailedWrite } from './failed-writes.ts'
import { tryReadTransaction } from './lmdb-internals.ts'
import type { Environment } from './lmdb-js.ts'

const noSpaceError = 28
const inputOutputError = 5
const panicError = -30_795
/** The reader slot of the read transaction was cleared: another process took this one for ended, or opened the lock table without regard for it. */
const badReaderSlotError = -30_783

export interface StorageFailure {
  /** For commits that were definitely not made: those waiting behind the failed transaction, or all of them. */
  readonly undone: Error
  /**
   * For commits of the failed transaction. A fatal failure happened while the meta page was written, which alone makes a transaction valid: whether
   * it reached the disk is unknown. After any other failure it was definitely not written.
   */
  readonly failed: Error
  /** No further commit can succeed. */
  readonly isFatal: boolean
  /** LMDB refuses everything, including reads, until the environment is closed and opened again. */
  readonly isUnusable: boolean
  /** A page of the file is invalid; other commits may not read it. */
  readonly isDamage: boolean
}

/** The lock table of LMDB contradicts the data file. */
export class StoreRewound extends Error {}

export async function storageFailure(
  error: unknown,
  environment: Environment,
  location: string,
): Promise<StorageFailure> {
  if (error instanceof StoreRewound) return rewound(location)
  const cause = error instanceof FailedWrite ? error.reason(environment) : await deepestCause(error)
  const damage = pageDamage(cause)
  if (damage !== undefined) return { undone: damage, failed: damage, isFatal: false, isUnusable: false, isDamage: true }
  if (cause === error) return actionFailure(error)
  const isUnusable = !isUsable(environment)
  const what = `The storage of ${location} failed to commit: ${reasonOf(cause)}.`
  const undone = new AshlarError('StoreUnavailable', isUnusable ? `${what} ${reopening}` : what)
  const unknown = `${what} ${reopening} It is not known whether the change was made: look before you send it again.`
  const failed = isUnusable ? new AshlarError('OutcomeUnknown', unknown) : undone
  return { undone, failed, isFatal: isUnusable, isUnusable, isDamage: false }
}

const reopening = 'It can be used again once it is closed and opened anew, which a server does by itself.'

/** LMDB refuses every read until the environment is closed and opened again. */
export class ReadsRefused extends AshlarError {
  constructor(reason: string) {
    super('StoreUnavailable', `The storage of the database ${reason}. ${reopening}`)
  }
}

/** The error of a read that LMDB refuses because the environment is unusable; other errors are returned unchanged. */
export function failureOfRead(error: unknown): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (code === panicError) return new ReadsRefused('has failed to commit')
  if (code === badReaderSlotError) return new ReadsRefused('has lost its place among the readers of the data file')
  return error
}

/** The next opener corrects the number; processes that have the environment open read an old state until then. */
function rewound(location: string): StorageFailure {
  const error = fatalFailure(
    `The storage of ${location} failed to commit: its transaction number was set back, by another program that has opened it ` +
      'without regard for this one, or by an older copy that was written over data.mdb. Nothing more is written. End that program, ' +
      'and start every process that uses it again; where data.mdb was written over, restore a backup first.',
  )
  return { undone: error, failed: error, isFatal: true, isUnusable: false, isDamage: false }
}

/** An error thrown by an action within the transaction, which was never to be written. */
function actionFailure(cause: unknown): StorageFailure {
  const error =
    cause instanceof AshlarError ? cause : new Error(`The storage failed to commit: ${reasonOf(cause)}`, { cause })
  return { undone: error, failed: error, isFatal: false, isUnusable: false, isDamage: false }
}

function reasonOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause)
  const code = 'code' in cause ? cause.code : undefined
  if (code === noSpaceError) return 'no space is left (disk full)'
  const [name, text] = (typeof code === 'number' ? getSystemErrorMap().get(-code) : undefined) ?? []
  // LMDB's messages for system errors contain numbers that it never set.
  if (name === undefined) return cause.message
  // LMDB reports an incomplete write as this error too.
  return `${text} (${name}${code === inputOutputError ? '; is the disk full, or does it fail?' : ''})`
}

/** lmdb-js rejects with a generic error; its property `commitError` rejects with the cause. */
async function deepestCause(error: unknown): Promise<unknown> {
  if (!(error instanceof Error) || !('commitError' in error)) return error
  try {
    await error.commitError
    return error
  } catch (cause) {
    return cause
  }
}

/**
 * A transaction that could not be written (the disk is full) leaves LMDB unchanged. If its very last step fails, LMDB refuses all further
 * transactions, and the writer of lmdb-js waits forever. A new read transaction is refused too, but immediately: so one is tried, and never a reused
 * one.
 */
function isUsable(environment: Environment): boolean {
  try {
    tryReadTransaction(environment)
    return true
  } catch {
    return false
  }
}
