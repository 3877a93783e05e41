/** Makes errors of the storage into ones that tell what happened and whether the store can go on. */

export interface StorageFailure {
  readonly error: Error
  /** The environment is unusable from now on: only closing and opening it again can help. */
  readonly isLasting: boolean
}

const errorCodes = {
  noSpace: 28,
  fileTooLarge: 27,
  quota: 122,
  noMemory: 12,
  mapFull: -30_792,
  transactionFull: -30_788,
}
const passingCodes: ReadonlySet<number> = new Set(Object.values(errorCodes))

/**
 * Full disks and too large transactions pass. After any other failure of the disk nobody knows which pages reached it,
 * and LMDB may refuse the environment without a word: then commits must fail at once instead of waiting for ever.
 */
export async function storageFailure(error: unknown): Promise<StorageFailure> {
  const cause = await deepestCause(error)
  const reason = cause instanceof Error ? cause.message : String(cause)
  const isLasting = !passingCodes.has(codeOf(cause))
  return { error: new Error(`The storage failed to commit: ${reason}`, { cause }), isLasting }
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

function codeOf(cause: unknown): number {
  return cause instanceof Error && 'code' in cause ? Number(cause.code) : Number.NaN
}
