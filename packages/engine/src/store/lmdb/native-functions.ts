/** The functions of the library of LMDB that lmdb-js calls itself. */
import * as lmdb from 'lmdb'

/** What lmdb-js uses of its own library; its types do not have it. A cursor that is not closed is never freed. */
interface NativeFunctions {
  readonly Cursor: new (database: object, transaction: number) => NativeCursor
  /** Where values are copied to; see `LmdbCursor.value`. */
  readonly globalBuffer: Buffer
  /** Both return the length of the key, 0 behind the last entry, or the number of an error. */
  position(cursor: number, flags: number, offset: number, keyLength: number, end: number): number
  iterate(cursor: number): number
  /** Copies the value to the buffer of values, where it fits in. Returns its length, or the number of an error; the key is in the buffer of keys. */
  getByBinary(database: number, keyLength: number, notOfTransaction: number, transaction: number): number
  /** Throws it. */
  lmdbError(number: number): never
  /** The next read through the transaction begins it anew. */
  resetTxn(transaction: number): void
}

export interface NativeCursor {
  readonly address: number
  close(): void
}

const native = (lmdb as unknown as { readonly nativeAddon: NativeFunctions }).nativeAddon

// Each by itself: V8 calls a function directly where it is always the same, as that of a constant is, and not that of an object of the library.
export const { Cursor, globalBuffer, getByBinary, position, iterate, lmdbError, resetTxn } = native
