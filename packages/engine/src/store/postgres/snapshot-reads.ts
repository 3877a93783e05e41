/** The transaction that a snapshot reads in: on a distributed database, it may span several nodes. */
import type { Bytes, NamingEntries } from '../store.ts'
import type { RowsInBytes } from './binary-rows.ts'
import type { NamingPage } from './read-naming.ts'
import type { Page } from './read-pages.ts'

/** Rows of key and value, or of keys only. `first`: index of the key column. */
export interface PageRows {
  readonly rows: RowsInBytes
  readonly first: number
}

export interface SnapshotReads {
  join(): boolean
  /** `isBroken`: its connections cannot be reused. */
  leave(isBroken?: boolean): void
  /** The bytes belong to the caller. */
  read(keys: readonly Bytes[]): Promise<(Bytes | undefined)[]>
  readPage(page: Page): Promise<PageRows>
  /** Entries of a page and the objects they name; absent if these may be on another node. */
  readNaming?(page: NamingPage): Promise<NamingEntries>
  /**
   * Present if pages have a single placement. The first placement between two that may have rows; in reverse, the last. Later reads show no
   * placements before it.
   */
  nextPlacement?(first: number, last: number, isReverse: boolean): Promise<number | undefined>
}
