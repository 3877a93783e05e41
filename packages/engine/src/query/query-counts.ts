/** Counters of objects examined and rows replied, per text or in total. */
export interface QueryCounts {
  /** Rows replied so far. */
  rows: number
  /** Objects examined to find rows, without those reached by following references in expressions. */
  touched: number
}

export function newQueryCounts(): QueryCounts {
  return { rows: 0, touched: 0 }
}
