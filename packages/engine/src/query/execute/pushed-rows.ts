/** Push-based row sources: rows are passed one by one in borrowed memory instead of in batches of copies. */

export interface RowConsumer<R> {
  /** The row is borrowed until this returns. False, with nothing consumed, where the slice is over or a read is needed (impossible meanwhile). */
  consume(row: R): boolean
  /** Rows that may be retained, the first of which was refused; called before any further row is pushed. */
  consumeCopies(rows: readonly R[]): Promise<void>
}

/** Pushes all rows in order, yielding to the event loop in between. */
export type PushRows<R> = (consumer: RowConsumer<R>) => Promise<void>
