/** Optional parts of a driver, for speed or reporting. Local stores have `LocalReads`, stores with a round trip per read `RemoteReads`. */
import type { EngineLimits } from '../limits.ts'
import type { CommitCounts } from './commit-counts.ts'
import type { Awaitable, Bytes, Entry, KeyRange, RangeRead } from './entries.ts'

/** Entries in order, and the entries that their values name: see `KeyPlacement.named`. Decoded on access; the bytes belong to the caller. */
export interface NamingEntries {
  readonly count: number
  /** Total bytes of the named values. */
  readonly namedBytes: number
  key(at: number): Bytes
  writeNamedKey(at: number, to: Uint8Array): void
  /** The named value; undefined if its entry does not exist. */
  named(at: number): Bytes | undefined
}

export interface CountedEntries {
  readonly count: number
  /** The range may continue after this key; undefined at its end. */
  readonly last: Bytes | undefined
}

export interface SettledNumbers {
  /** New snapshots see every commit that appended under a number up to this one, unless abandoned. Later ones may be visible before earlier ones. */
  readonly settled: number
  /** The greatest number assigned. */
  readonly assigned: number
}

export type SnapshotLimits = Pick<EngineLimits, 'snapshotMsMax' | 'longSnapshotMsMax'>

/** Two-phase commits that are prepared, but neither committed nor rolled back. */
export interface UnresolvedTransactions {
  readonly count: number
  /** Age of the oldest. */
  readonly oldestMs: number
}

/** Snapshots of local stores. */
export interface LocalReads {
  /** Number of entries, if the store counts them and the snapshot was opened with `isCounted`. */
  readonly entryCount?: number
  /**
   * Passes borrowed entries of the range to `use` in order, or in reverse, until it returns false; `use` must not read. Returns a copy of the last
   * key passed; undefined at the end of the range. `max`: the most entries that `use` accepts, so that few entries are read by the method that is
   * best for few.
   */
  visit?(
    range: KeyRange,
    isReverse: boolean,
    use: (key: Bytes, value: Bytes) => boolean,
    max?: number,
  ): Bytes | undefined
  /** If the store counts faster than it reads: counts the entries of the range, up to `max`. */
  count?(range: KeyRange, max: number): CountedEntries
  /** If the store can estimate the entries of a range much faster than count them; undefined if it cannot now. */
  estimate?(range: KeyRange): number | undefined
}

/** Snapshots of stores with a round trip per read. */
export interface RemoteReads {
  /**
   * For a value that was not prefetched (`SnapshotOptions.prefetchKeys`) because it is large: a lower bound of its size. Undefined if it would not be
   * prefetched, or if the snapshot already holds a connection: other snapshots may be waiting for that one, so its holder must not wait for another.
   */
  bytesLeftOut?(key: Bytes): Promise<number | undefined> | undefined
  /**
   * The entries of a short range in order, and the entries they name, in one trip. `isOnly`: no other read is likely,
   * so that no transaction is begun; another read then throws SnapshotInvalidated. It only has an effect if something
   * is expected. The bytes belong to the caller, even those from such a snapshot.
   */
  readonly readNaming?:
    | ((range: RangeRead & { readonly limit: number }, isOnly: boolean) => Promise<NamingEntries>)
    | undefined
  /** Before any remote read: `view` then returns this value. The first remote read, or `confirm`, verifies it and may throw SnapshotInvalidated. */
  readonly expect?: ((entry: Entry) => void) | undefined
  /** Verifies the precondition; undefined if a read has done so. Throws SnapshotInvalidated. */
  readonly confirm?: (() => Promise<void> | undefined) | undefined
}

/** Identities of points in time, by which caches recognize sharable results. */
export interface SharedStates {
  /** Equal for snapshots of the same point in time, regardless of what their callers may see. */
  readonly sharedRead?: object | undefined
  /** Equal for snapshots that also show the same objects; absent if objects are hidden or changed before they are seen. */
  readonly sharedObjects?: object | undefined
  /** The name of a commit that the snapshot shows, if the store names commits: see `Commit.lastCommit`. */
  readonly lastCommit?: string | undefined
}

/** Snapshots that the engine restricts to one caller; drivers do not have this. */
export interface CallerView {
  /** Whether the snapshot may hide some of the range from its caller. */
  hides?(range: KeyRange): Awaitable<boolean>
}

/** For stores that worker threads can read. */
export interface ThreadReads {
  /**
   * The address at which a worker thread opens its handle, see `openStoreInThread`; it changes when the store moves
   * to another file. It may hold a credential. Absent if only this thread can read the store.
   */
  threadAddress?(): string
}

/** For stores that apply several commits concurrently. */
export interface ConcurrentAppends {
  /** Without it, appended entries that a snapshot shows are complete. Throws StoreUnavailable. */
  settledNumbers?(): Promise<SettledNumbers>
}

/** Blocks all other commits, of every process. */
export interface CommitLock {
  /** Does nothing once the lock has ended. */
  release(): void
}

/** For stores in which a repeatedly failing transaction can block all other commits. */
export interface CommitLocking {
  /**
   * Resolves when no commit is in progress and all new ones wait: a snapshot opened then stays up to date. The lock ends with the commit that names
   * it (`Commit.lock`), with `release`, with a reservation by the process (`Commit.isReservation`), for which its holder may be waiting, and after
   * `commitLockMsMax`; a commit that names an expired lock is made like any other. Throws StoreUnavailable.
   */
  lockCommits?(): Promise<CommitLock>
}

/** Figures and requests of operators. */
export interface OperatorParts {
  /** Cumulative counts of this process. */
  readonly counts?: CommitCounts
  /** Ends the snapshots of this process that exceed their limits: reading from them throws LimitExceeded. */
  endOldSnapshots?(limits: SnapshotLimits): void
  /** Age of the oldest open snapshot of this process; 0 with none. */
  oldestSnapshotMs?(): number
  /** For stores in files: the size of the data, synchronously. */
  fileBytes?(): number
  /**
   * Writes a consistent copy of the store, as of one point in time, into an empty or new directory, which is an LMDB store once it is complete and
   * durable; until then, and if this throws or the process dies, it cannot be opened. Throws an `Error` for the operator. Absent
   * if the store has no files: `storage/with-backup.ts` then copies its entries.
   */
  backup?(directory: string): Promise<void>
  /** For stores in files: the error that refuses every change, as when the opened files were replaced. */
  problem?(): Error | undefined
  /**
   * For remote stores: resolves when reads and changes are served, tested over the connections that serve them.
   * Throws StoreUnavailable, also without an answer for as long as requests wait.
   */
  checkServing?(): Promise<void>
  /** For remote stores: prepared transactions that hold locks on stored rows; undefined without any. Throws StoreUnavailable. */
  unresolvedTransactions?(): Promise<UnresolvedTransactions | undefined>
  /** For stores that detect damaged entries: how to name such an entry to humans, which a store does not know. */
  nameEntriesBy?(nameOf: (key: Bytes) => string): void
}
