/** The values of a record in memory. */

import type { Bytes } from '../store/store.ts'

/** The values of an object in the order of its class's attributes; undefined for link attributes. */
export interface RecordValues {
  readonly values: unknown[]
  /** The positions of to-one references in their partners' lists, in the same order. */
  readonly positions: (Bytes | undefined)[]
}
