/** Rows that a source lends one by one, instead of making batches of rows that could be kept. */

export interface RowTaker<R> {
  /** The row is lent until this returns: false where it takes so long that others are to have their turn, and nothing of it was taken then. */
  take(row: R): boolean
  /** A row that was refused, and which may be kept, before any further one is lent. */
  takeLater(row: R): Promise<void>
}

/** All rows, in their order, with turns for others in between. */
export type LendRows<R> = (taker: RowTaker<R>) => Promise<void>
