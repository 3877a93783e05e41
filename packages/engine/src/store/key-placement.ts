/** What a driver must know about keys to distribute them over nodes. It does not know the meaning of any key. */
import type { Bytes, KeyRange } from './store.ts'

/** A part of a range in which placements ascend with keys. */
export interface Segment {
  readonly firstPlacement: number
  readonly lastPlacement: number
  readonly from: Bytes
  /** Absent: to the end of all keys. */
  readonly to: Bytes | undefined
}

/** Pure functions of keys; part of what is stored, since rows are found by them. */
export interface KeyPlacement {
  /** Keys of one placement lie together: 31 bits, of which 0 is read by every request. */
  placementOf(key: Bytes): number
  /** The segments of a range in key order; none where it is empty. */
  segmentsOf(range: KeyRange): Segment[]
  /** Whether values in the segment may be. */
  mayBeLarge(segment: Segment): boolean
  /**
   * The key that a value may name: `prefix`, then so many of its first bytes. `placementOf`: an expression of PostgreSQL for the placement of that
   * key, of one for the value.
   */
  readonly named: {
    readonly prefix: Bytes
    readonly bytes: number
    placementOf(value: string): string
  }
  /** Of all keys under which commits append, and of few others. */
  readonly appendPlacement: number
  /** In placement 0. Nearly every commit expects its value, and hardly any changes it: a commit that does keeps all others out. */
  readonly versionKey: Bytes
}
