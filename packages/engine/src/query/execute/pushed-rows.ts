/** Push-based row sources: rows are passed one by one in borrowed memory instead of in batches of copies. */

export interface RowConsumer<R> {
  /** Whether `consume` may read other objects. */
  readonly readsOthers: boolean
  /**
   * The row is borrowed until this returns. 'refused', with nothing consumed, where a read is needed, which is impossible while it is borrowed, or
   * where the consumer must wait; 'full' where it wants no further row for now.
   */
  consume(row: R): 'taken' | 'full' | 'refused'
  /** Rows that may be retained, the first of which was refused; called before any further row is passed. */
  consumeCopies(rows: readonly R[]): Promise<void>
  /** Skips up to `rows` rows without reading them; returns the number skipped. */
  skip?(rows: number): number
}

/** Pushes all rows in order, yielding to the event loop in between. */
export type PushRows<R> = (consumer: RowConsumer<R>) => Promise<void>
