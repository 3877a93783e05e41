/** Converts errors of the storage to errors that say what happened and whether the store can continue. */
import { getSystemErrorMap } from 'node:util'
import { AshlarError, fatalFailure } from '../../errors.ts'
import { pageDamage } from './entry-checks.ts'
import { FailedWrite } from './failed-writes.ts'
import { tryReadTransaction } from './lmdb-internals.ts'
import type { Environment } from './lmdb-js.ts'

const noSpaceError = 28
const inputOutputError = 5
const panicError = -30_795

export interface StorageFailure {
  /** For commits that surely were not made: those that waited behind the transaction that failed, or all of them. */
  readonly undone: Error
  /**
   * For commits of the transaction that failed. A failure that lasts happened while the meta page was written, which alone makes
   * a transaction count: whether it has reached the disk is not known. After any other failure it surely has not been written.
   */
  readonly failed: Error
  /** No further commit can succeed. */
  readonly isFatal: boolean
  /** LMDB refuses everything, reads included, until the environment is closed and opened again. */
  readonly isUnusable: boolean
  /** A page of the file cannot be what it should be: other commits may not meet it. */
  readonly isDamage: boolean
}

/** What the lock table of LMDB holds does not fit what the file holds. */
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
  if (cause === error) return ownFault(error)
  const isUnusable = !isUsable(environment)
  const what = `The storage of ${location} failed to commit: ${reasonOf(cause)}.`
  const undone = new AshlarError('StoreUnavailable', isUnusable ? `${what} ${reopening}` : what)
  const unknown = `${what} ${reopening} It is not known whether the change was made: look before you send it again.`
  const failed = isUnusable ? new AshlarError('OutcomeUnknown', unknown) : undone
  return { undone, failed, isFatal: isUnusable, isUnusable, isDamage: false }
}

const reopening = 'It can be used again once it is closed and opened anew, which a server does by itself.'

/** The error of a read that LMDB refuses since the environment is unusable; any other as it is. */
export function failureOfRead(error: unknown): unknown {
  const isUnusable = error instanceof Error && 'code' in error && error.code === panicError
  return isUnusable
    ? new AshlarError('StoreUnavailable', `The storage of the database has failed to commit. ${reopening}`)
    : error
}

/** Whoever opens the environment next sets the number right; those who have it open read an old state until then. */
function rewound(location: string): StorageFailure {
  const error = fatalFailure(
    `The storage of ${location} failed to commit: its transaction number was set back, by another program that has opened it ` +
      'without regard for this one, or by an older copy that was written over data.mdb. Nothing more is written. End that program, ' +
      'and start every process that uses it again; where data.mdb was written over, restore a backup first.',
  )
  return { undone: error, failed: error, isFatal: true, isUnusable: false, isDamage: false }
}

/** What was thrown while the transaction was put together: it was never to be written. */
function ownFault(cause: unknown): StorageFailure {
  const error =
    cause instanceof AshlarError ? cause : new Error(`The storage failed to commit: ${reasonOf(cause)}`, { cause })
  return { undone: error, failed: error, isFatal: false, isUnusable: false, isDamage: false }
}

function reasonOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause)
  const code = 'code' in cause ? cause.code : undefined
  if (code === noSpaceError) return 'no space is left (disk full)'
  const [name, text] = (typeof code === 'number' ? getSystemErrorMap().get(-code) : undefined) ?? []
  // In what LMDB itself says of errors of the system are numbers that it never set.
  if (name === undefined) return cause.message
  // LMDB calls it so when less was written than asked for, too.
  return `${text} (${name}${code === inputOutputError ? '; is the disk full, or does it fail?' : ''})`
}

/** lmdb-js rejects with a general error; the true one comes as the rejection of its property `commitError`. */
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
 * A transaction that could not be written (the disk is full) leaves LMDB as it was. One that failed in its very last
 * step makes LMDB refuse all further transactions, and then the writer of lmdb-js waits for ever without an answer. A new
 * read transaction is refused too, and does answer: so it is tried, and never one that is merely used again.
 */
function isUsable(environment: Environment): boolean {
  try {
    tryReadTransaction(environment)
    return true
  } catch {
    return false
  }
}
