/** Rows of a variable that are too many for memory: other statements can use them as a source, but not as a value. */
import { AshlarError } from '../../errors.ts'

export abstract class RowsOnDisk {
  abstract readonly count: number
}

export function valueInMemory(value: unknown, name: string): unknown {
  if (!(value instanceof RowsOnDisk)) return value
  throw new AshlarError(
    'LimitExceeded',
    `$${name} has ${value.count} rows, which are on disk since memory may not hold them (sortedRowsMax, statementBytesMax): they can be a source, as in FROM $${name} AS x, but no value. Let such a statement count, aggregate or join them.`,
  )
}
