/** Makes errors of the storage into ones that tell what happened and whether the store can go on. */
import type { Environment } from './environment.ts'

const inputOutputError = 5

export interface StorageFailure {
  readonly error: Error
  /** The environment is unusable from now on: only closing and opening it again can help. */
  readonly isLasting: boolean
}

export async function storageFailure(error: unknown, environment: Environment): Promise<StorageFailure> {
  const cause = await deepestCause(error)
  return {
    error: new Error(`The storage failed to commit: ${reasonOf(cause)}`, { cause }),
    isLasting: !isUsable(environment),
  }
}

function reasonOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause)
  // LMDB calls it so when less was written than asked for.
  return 'code' in cause && cause.code === inputOutputError ? `${cause.message} (is the disk full?)` : cause.message
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
    environment.resetReadTxn()
    environment._commitReadTxn()
    environment.useReadTransaction().done()
    return true
  } catch {
    return false
  }
}
