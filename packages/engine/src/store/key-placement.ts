/** Lets a driver distribute keys over nodes without interpreting them. */
import type { Bytes, KeyRange } from './store.ts'

/** A part of a range in which placements ascend with keys. */
export interface Segment {
  readonly firstPlacement: number
  readonly lastPlacement: number
  readonly from: Bytes
  /** Absent: unbounded. */
  readonly to: Bytes | undefined
}

/** Pure functions of keys. They are part of the storage format, since rows are located by them. */
export interface KeyPlacement {
  /** Keys with the same placement are stored together: 31 bits; every request reads placement 0. */
  placementOf(key: Bytes): number
  /** The segments of a range in key order; none if the range is empty. */
  segmentsOf(range: KeyRange): Segment[]
  /** Whether the segment may contain large values. */
  mayBeLarge(segment: Segment): boolean
  /**
   * The key that a value may refer to: `prefix` followed by the first `bytes` bytes of the value. `placementOf` returns a PostgreSQL expression for
   * the placement of that key, given one for the value.
   */
  readonly named: {
    readonly prefix: Bytes
    readonly bytes: number
    placementOf(value: string): string
  }
  /** Placement of all keys under which commits append, and of few more. */
  readonly appendPlacement: number
  /** In placement 0. Nearly every commit requires its value and hardly any changes it; a commit that does is exclusive. */
  readonly versionKey: Bytes
}
