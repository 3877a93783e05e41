/** Limits on the size of one commit. */
import { AshlarError } from '../errors.ts'
import type { EngineLimits } from '../limits.ts'

/** Limits on the writes of a transaction: other requests wait while it is committed. */
export interface CommitSize extends Pick<EngineLimits, 'commitEntriesMax' | 'commitBytesMax'> {
  readonly isLoad?: boolean
}

/** For changes of the schema, which are bounded by the limits of classes and cannot be divided. */
export const anySize: CommitSize = {
  commitEntriesMax: Number.POSITIVE_INFINITY,
  commitBytesMax: Number.POSITIVE_INFINITY,
}

/** Throws LimitExceeded. */
export function checkSize(
  entries: number,
  bytes: number,
  { commitEntriesMax, commitBytesMax, isLoad = false }: CommitSize,
): void {
  if (entries > commitEntriesMax)
    throw tooLarge(`${commitEntriesMax} entries`, isLoad ? 'atomicLoadEntriesMax' : 'commitEntriesMax', isLoad)
  if (bytes > commitBytesMax)
    throw tooLarge(`${commitBytesMax} bytes`, isLoad ? 'atomicLoadBytesMax' : 'commitBytesMax', isLoad)
}

function tooLarge(most: string, limit: string, isLoad: boolean): AshlarError {
  const subject = isLoad ? 'A load with atomic=true' : 'One change'
  const advice = isLoad
    ? 'Load the lines without atomic, by upsertOn so that they can be sent again, or in several loads.'
    : 'Divide it: a statement by conditions in its WHERE, each part a request of its own; the rows of a file by IMPORT … COMMIT EVERY.'
  return new AshlarError(
    'LimitExceeded',
    `${subject} writes ${most} at most (${limit}), objects, index entries and links together, since others wait while it is written. ${advice}`,
  )
}
