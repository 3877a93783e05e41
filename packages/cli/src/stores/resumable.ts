/** Errors of a store that becomes unwritable during a command, as on a full disk, with advice for the operator. */

/** Returns the error for the operator. `location`: the store, which keeps the copied data, but is not served until the copy is complete. */
export function resumable(error: unknown, location: string): unknown {
  if (!isUnavailable(error)) return error
  const advice = 'The data copied so far is kept, but cannot be served: run the same command again to resume.'
  return new Error(`${location} cannot be written: ${error.message} ${advice}`, { cause: error })
}

/** Returns the error for a temporary directory, which has been removed. `nothing`: a sentence about the target. */
export function removedScratch(error: unknown, directory: string, nothing: string): unknown {
  if (!isUnavailable(error)) return error
  return new Error(`${directory} could not be written: ${error.message} It was removed. ${nothing}`, { cause: error })
}

/** The error of a restore has it as its cause. */
function isUnavailable(error: unknown): error is Error {
  if (!(error instanceof Error)) return false
  return ('type' in error && error.type === 'StoreUnavailable') || isUnavailable(error.cause)
}
