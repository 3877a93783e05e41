/** The part of lmdb-js that is used. */
import type { Awaitable, Bytes } from '../store.ts'
import type { VerifiedPages } from './verified-pages.ts'

export interface ReadTransaction {
  /** For the library. */
  readonly address: number
  /** Holds it once more. */
  use(): void
  done(): void
  /** The other fields are not in the types of lmdb-js: by how many it is held at present. */
  readonly refCount: number
  /** Another one is given out from now on. */
  readonly notCurrent?: boolean
  readonly isDone?: boolean
  readonly isCommitted?: boolean
}

/** The data file of an environment, open for reading beside LMDB. */
export interface DataFileBeside {
  readonly descriptor: number
  /** See `identityOfFile`. */
  readonly identity: string
  readonly pageBytes: number
  /** Made by the first who reads many entries. */
  verifiedPages: VerifiedPages | undefined
}

export interface PutOptions {
  /** The key is behind all others: pages are filled, instead of split in the middle. */
  readonly append: boolean
}

/**
 * One named database of an environment. lmdb-js declares some of these functions without the options they take.
 * Inside the callback of `childTransaction` every read sees the transaction's own writes.
 */
export interface Environment {
  /** One buffer, overwritten by the next read. Only its property `length` tells the size of the value: see `borrowedBytes`. */
  getBinaryFast(key: Bytes, options?: { transaction: ReadTransaction }): Buffer | undefined
  /** For the library. */
  readonly dbAddress: number
  /** Both only inside the callback of `childTransaction`. They throw FailedWrite. */
  put(key: Bytes, value: Bytes, how?: PutOptions): unknown
  remove(key: Bytes): unknown
  childTransaction<T>(action: () => Awaitable<T>): Promise<T>
  useReadTransaction(): ReadTransaction
  resetReadTxn(): void
  /** The list of the databases of the environment. */
  readonly list: RootDatabase
  /** Undefined where it is not open. */
  dataFile?: DataFileBeside | undefined
  /** Undefined where nobody else can write to it. */
  shownCommit?: { ensure(): number } | undefined
  readonly db: { stat(): { entryCount: number } }
  /** Inside `childTransaction`: the number that the commit will have. */
  getWriteTxnId(): number
  readonly env: {
    /** `lastTxnId`: the number of the last commit, as the file has it. */
    info(): { lastTxnId: number }
  }
  /** `lastPageNumber` is of the file, the others are of this database. */
  getStats(): {
    entryCount: number
    pageSize: number
    lastPageNumber: number
    treeBranchPageCount: number
    treeLeafPageCount: number
    overflowPages: number
  }
  /** Clears the reader slots of processes that are no more; answers how many. */
  readerCheck(): number
  backup(directory: string, compact: boolean): Promise<void>
  close(): Promise<void>
}

/** The nameless database of an environment, which lists the named ones. */
export interface RootDatabase extends Pick<Environment, 'getBinaryFast' | 'put' | 'remove'> {
  putSync(key: Uint8Array, value: Uint8Array): boolean
  transactionSync<T>(action: () => T): T
  openDB(name: string, options: object): Environment | undefined
  close(): Promise<void>
}
