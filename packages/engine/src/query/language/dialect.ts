/** As whom statements are understood and answered: as Ashlar does, or as the original (docs/query-language.md, The original's dialect). */

/**
 * `objectivity`: MATCH without a mode is WALK, and rows of projections, aggregates and MATCH begin with
 * `"__class__":"_Projection"`.
 */
export type Dialect = 'ashlar' | 'objectivity'

export const dialectDefault: Dialect = 'ashlar'

/** What rows that are no objects have first in the original's dialect, as their class. */
export const rowClassName = '_Projection'
