/** The only settings of LMDB that are safe, and the part of lmdb-js that is used. */
import { closeSync, fsyncSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import { open } from 'lmdb'
import type { Awaitable, Bytes } from '../store.ts'
import { checksumBytes } from './entry-checksum.ts'
import { throwFailedWrites } from './failed-writes.ts'
import { type LaidOut, openEntries, openEntriesToRead, type RootDatabase } from './storage-layout.ts'
import { markStore } from './store-mark.ts'

/** The longest key that LMDB takes with pages of 4 KiB. */
export const lmdbKeyBytesMax = 1_978
/** lmdb-js reads larger values through windows into its memory map; up to here they are copied into one reused buffer. */
export const lmdbValueBytesMax = 16_777_216 - checksumBytes

const readersMax = 2_048
const databasesMax = 4

export interface ReadTransaction {
  done(): void
}

/** Where a walk over entries starts; it has no end. */
export interface RangeStart {
  readonly start: Bytes | undefined
  readonly end: undefined
  readonly reverse: boolean
  readonly exclusiveStart: boolean
  readonly transaction: ReadTransaction | undefined
}

/**
 * One named database of an environment. lmdb-js declares some of these functions without the options they take.
 * Inside the callback of `childTransaction` every read sees the transaction's own writes.
 */
export interface Environment {
  /** One buffer, overwritten by the next read. Only its property `length` tells the size of the value: see `lentValue`. */
  getBinaryFast(key: Bytes, options?: { transaction: ReadTransaction }): Buffer | undefined
  /** Values are lent in the same way. */
  getRange(start: RangeStart): Iterable<{ key: Buffer; value: Buffer }>
  /** Both only inside the callback of `childTransaction`. They throw FailedWrite. */
  put(key: Bytes, value: Bytes): unknown
  remove(key: Bytes): unknown
  childTransaction<T>(action: () => Awaitable<T>): Promise<T>
  useReadTransaction(): ReadTransaction
  resetReadTxn(): void
  /** Forgets the shared read transaction, after `resetReadTxn`, so that the next one is really begun. */
  _commitReadTxn(): void
  readonly db: { stat(): { entryCount: number } }
  /** Inside `childTransaction`: the number that the commit will have. */
  getWriteTxnId(): number
  readonly env: {
    /** `lastTxnId`: the number of the last commit, as the file has it. */
    info(): { lastTxnId: number }
    /** The write transaction under way, which every read then goes through, whatever transaction it names; null where there is none. */
    writeTxn: object | null
  }
  getStats(): { entryCount: number; pageSize: number; lastPageNumber: number }
  /** Clears the reader slots of processes that are no more; answers how many. */
  readerCheck(): number
  backup(directory: string, compact: boolean): Promise<void>
  close(): Promise<void>
}

const settings = {
  // A directory named `data.v2` must not be taken for a file.
  noSubdir: false,
  // Else a commit is readable before it is durable, and a process killed with -9 takes its siblings along.
  overlappingSync: false,
  // Else lmdb-js makes a promise that nobody awaits, whose rejection on a full disk ends the process.
  eventTurnBatching: false,
  maxReaders: readersMax,
  maxDbs: databasesMax,
  keyEncoding: 'binary',
  encoding: 'binary',
} as const

/** Opens, or makes, the environment in a directory; alone in the gate, see `open-environment.ts`. */
export async function openLmdb(directory: string): Promise<LaidOut> {
  const root = open(directory, settings) as unknown as RootDatabase
  return orClosed(root, () => {
    const opened = openEntries(root, directory)
    throwFailedWrites(opened.environment)
    syncDirectory(directory)
    syncDirectory(dirname(directory))
    markStore(directory)
    return opened
  })
}

/** Opens the environment of an existing store, of this or the earlier layout, and never writes to its data; alone in the gate, too. */
export async function openLmdbToRead(directory: string): Promise<LaidOut> {
  const root = open(directory, { ...settings, readOnly: true }) as unknown as RootDatabase
  return orClosed(root, () => openEntriesToRead(root))
}

async function orClosed<T>(root: RootDatabase, action: () => T): Promise<T> {
  try {
    return action()
  } catch (error) {
    await root.close()
    throw error
  }
}

/** A new file is durable only when its directory is. */
export function syncDirectory(directory: string): void {
  if (process.platform === 'win32') return
  const descriptor = openSync(directory, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}
