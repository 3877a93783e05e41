/** The values of a record in memory. */

import type { Bytes } from '../store/store.ts'
import type { Codec } from '../types/logical-type.ts'

/** The values of an object in the order of its class's attributes; undefined for link attributes. */
export interface RecordValues {
  readonly values: unknown[]
  /** The positions of to-one references in their partners' lists, in the same order. */
  readonly positions: (Bytes | undefined)[]
}

/** Takes over the reading of the value at an index in bytes[start, end). */
export type DeferRead = (index: number, codec: Codec, start: number, end: number) => void
