/** What a part of the benchmark has measured, as it is written to JSON. */
import type { Footprint } from './footprint.ts'
import type { RowFigures } from './run-rows.ts'

export interface Report {
  readonly part: string
  /** The day. */
  readonly date: string
  readonly commit: string
  readonly machine: string
  readonly generator: string
  readonly conditions: string
  /** By name: what is counted, and what each contender has reached. */
  readonly rows: Readonly<Record<string, RowFigures>>
  readonly footprints: Readonly<Record<string, Partial<Footprint>>>
  /** By name: why a yardstick is missing. */
  readonly skipped: Readonly<Record<string, string>>
}
