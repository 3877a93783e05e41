/** How much one commit may write. */
import { AshlarError } from '../errors.ts'
import type { EngineLimits } from '../limits.ts'

/** What a transaction may write: others wait while it is committed. */
export interface CommitSize extends Pick<EngineLimits, 'commitEntriesMax' | 'commitBytesMax'> {
  /** They are the bounds of a bulk load that is one commit. */
  readonly isOfLoad?: boolean
}

/** Of changes of the schema, which are bounded by the limits of classes and cannot be divided. */
export const anySize: CommitSize = {
  commitEntriesMax: Number.POSITIVE_INFINITY,
  commitBytesMax: Number.POSITIVE_INFINITY,
}

/** Throws LimitExceeded. */
export function checkSize(
  entries: number,
  bytes: number,
  { commitEntriesMax, commitBytesMax, isOfLoad = false }: CommitSize,
): void {
  if (entries > commitEntriesMax)
    throw tooLarge(`${commitEntriesMax} entries`, isOfLoad ? 'atomicLoadEntriesMax' : 'commitEntriesMax', isOfLoad)
  if (bytes > commitBytesMax)
    throw tooLarge(`${commitBytesMax} bytes`, isOfLoad ? 'atomicLoadBytesMax' : 'commitBytesMax', isOfLoad)
}

function tooLarge(most: string, limit: string, isOfLoad: boolean): AshlarError {
  const whoever = isOfLoad ? 'A load with atomic=true' : 'One change'
  const advice = isOfLoad
    ? 'Load the lines without atomic, by upsertOn so that they can be sent again, or in several loads.'
    : 'Divide it: a statement by conditions in its WHERE, each part a request of its own; the rows of a file by IMPORT … COMMIT EVERY.'
  return new AshlarError(
    'LimitExceeded',
    `${whoever} writes ${most} at most (${limit}), objects, index entries and links together, since others wait while it is written. ${advice}`,
  )
}
