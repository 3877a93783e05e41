/** Dialects of DO: Ashlar's, or that of Objectivity/DB (docs/query-language.md, The original's dialect). */

/** `objectivity`: MATCH without a mode is WALK, and rows of projections, aggregates and MATCH begin with `"__class__":"_Projection"`. */
export type Dialect = 'ashlar' | 'objectivity'

export const dialectDefault: Dialect = 'ashlar'

/** The class written first in rows that are not objects, in the objectivity dialect. */
export const rowClassName = '_Projection'
