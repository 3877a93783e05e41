/** Rows that a source pushes one by one, in borrowed memory, instead of making batches of rows that could be kept. */

export interface RowConsumer<R> {
  /**
   * The row is borrowed until this returns: false where it takes so long that the event loop is due, or something else has to be read,
   * which is impossible while bytes are borrowed; nothing of it was consumed then.
   */
  consume(row: R): boolean
  /** Rows that may be kept, the first of which was refused, before any further one is pushed. */
  consumeCopies(rows: readonly R[]): Promise<void>
}

/** All rows, in their order, with turns for others in between. */
export type PushRows<R> = (consumer: RowConsumer<R>) => Promise<void>
