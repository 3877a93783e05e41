/** Types of the parts of lmdb-js in use. */
import type { Awaitable, Bytes } from '../store.ts'
import type { VerifiedPages } from './verified-pages.ts'

export interface ReadTransaction {
  /** Native address. */
  readonly address: number
  /** Increments the reference count. */
  use(): void
  done(): void
  /** The remaining fields are missing in the types of lmdb-js. */
  readonly refCount: number
  /** A newer transaction exists and is used from now on. */
  readonly notCurrent?: boolean
  readonly isDone?: boolean
  readonly isCommitted?: boolean
}

/** The data file of an environment, open for reading without LMDB. */
export interface OpenDataFile {
  readonly descriptor: number
  /** See `identityOfFile`. */
  readonly identity: string
  readonly pageBytes: number
  /** Created by the first read of many entries. */
  verifiedPages: VerifiedPages | undefined
}

export interface PutOptions {
  /** The key is greater than all others: pages are filled instead of split in the middle. */
  readonly append: boolean
}

/**
 * One named database of an environment. lmdb-js declares some of these functions without their options. Inside the callback of `childTransaction`,
 * reads see the transaction's writes.
 */
export interface Environment {
  /** Returns a buffer that the next read overwrites. Only its property `length` is the size of the value: see `borrowedBytes`. */
  getBinaryFast(key: Bytes, options?: { transaction: ReadTransaction }): Buffer | undefined
  /** Native address. */
  readonly dbAddress: number
  /** Only inside the callback of `childTransaction`. Both throw FailedWrite. */
  put(key: Bytes, value: Bytes, how?: PutOptions): unknown
  remove(key: Bytes): unknown
  childTransaction<T>(action: () => Awaitable<T>): Promise<T>
  useReadTransaction(): ReadTransaction
  resetReadTxn(): void
  /** The list of the databases of the environment. */
  readonly list: RootDatabase
  /** Undefined if it is not open. */
  dataFile?: OpenDataFile | undefined
  /** Undefined if no other process can write. */
  visibleCommit?: { ensure(): number } | undefined
  readonly db: { stat(): { entryCount: number } }
  /** Inside `childTransaction`: the number of the pending commit. */
  getWriteTxnId(): number
  readonly env: {
    /** `lastTxnId`: number of the last commit in the file. */
    info(): { lastTxnId: number }
  }
  /** `lastPageNumber` is of the file, the rest of this database. */
  getStats(): {
    entryCount: number
    pageSize: number
    lastPageNumber: number
    treeBranchPageCount: number
    treeLeafPageCount: number
    overflowPages: number
  }
  /** Clears the reader slots of ended processes; returns how many. */
  readerCheck(): number
  backup(directory: string, compact: boolean): Promise<void>
  close(): Promise<void>
}

/** The unnamed database of an environment, which lists the named ones. */
export interface RootDatabase extends Pick<Environment, 'getBinaryFast' | 'put' | 'remove'> {
  putSync(key: Uint8Array, value: Uint8Array): boolean
  transactionSync<T>(action: () => T): T
  openDB(name: string, options: object): Environment | undefined
  close(): Promise<void>
}
