/** Entries of stores, and ranges of their keys. */

export type Bytes = Uint8Array
export type Awaitable<T> = T | Promise<T>

/** from ≤ key < to, bytewise; an absent bound is open. */
export interface KeyRange {
  readonly from?: Bytes
  readonly to?: Bytes
}

export interface RangeRead extends KeyRange {
  readonly reverse?: boolean
  readonly limit?: number
}

export interface Entry {
  readonly key: Bytes
  readonly value: Bytes
}
