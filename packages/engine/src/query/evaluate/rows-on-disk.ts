/** The rows of a statement that a variable stands for and that memory does not hold: a source of other statements, and not a value. */
import { AshlarError } from '../../errors.ts'

export abstract class RowsOnDisk {
  abstract readonly count: number
}

/** Throws LimitExceeded where the value is rows on disk. */
export function valueInMemory(value: unknown, name: string): unknown {
  if (!(value instanceof RowsOnDisk)) return value
  throw new AshlarError(
    'LimitExceeded',
    `$${name} has ${value.count} rows, which are on disk since memory may not hold them (sortedRowsMax, statementBytesMax): they can be a source, as in FROM $${name} AS x, but no value. Let such a statement count, aggregate or join them.`,
  )
}
