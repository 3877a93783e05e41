/** What queries have looked at and replied, of one text or of all. */
export interface QueryCounts {
  /** Of replies, written so far. */
  rows: number
  /** Objects that were looked at to find rows; those that expressions follow references to are not counted. */
  touched: number
}

export function newQueryCounts(): QueryCounts {
  return { rows: 0, touched: 0 }
}
