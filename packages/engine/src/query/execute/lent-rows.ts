/** Rows that a source lends one by one, instead of making batches of rows that could be kept. */

export interface RowTaker<R> {
  /**
   * The row is lent until this returns: false where it takes so long that others are to have their turn, or something else has to be read,
   * which cannot be while rows are lent; nothing of it was taken then.
   */
  take(row: R): boolean
  /** Rows that may be kept, the first of which was refused, before any further one is lent. */
  takeLater(rows: readonly R[]): Promise<void>
}

/** All rows, in their order, with turns for others in between. */
export type LendRows<R> = (taker: RowTaker<R>) => Promise<void>
