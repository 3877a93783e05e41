/** The contents of a record, in memory. */

import type { Bytes } from '../store/store.ts'

/** The values of an object in the order of its class's attributes; link attributes hold undefined. */
export interface RecordValues {
  readonly values: unknown[]
  /** Where a to-one reference stands in its partner's list, by the same order. */
  readonly positions: (Bytes | undefined)[]
}
