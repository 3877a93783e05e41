/**
 * What a driver may do beside what it must: each part makes something faster or reports more, and the engine does without those that are
 * absent. A store that answers at once has `LocalReads`, one where each read is a round trip has `RemoteReads`.
 */
import type { EngineLimits } from '../limits.ts'
import type { CommitCounts } from './commit-counts.ts'
import type { Awaitable, Bytes, Entry, KeyRange, RangeRead } from './entries.ts'

/**
 * Entries in order, and those that their values name: see `KeyPlacement.named`. Nothing is made of an entry before it is asked for; the bytes
 * belong to the caller.
 */
export interface NamingEntries {
  readonly count: number
  /** Of all values that are named. */
  readonly namedBytes: number
  key(at: number): Bytes
  writeNamedKey(at: number, to: Uint8Array): void
  /** The value that is named; undefined where there is no such entry. */
  named(at: number): Bytes | undefined
}

export interface CountedEntries {
  readonly count: number
  /** Behind which the range may go on; undefined where it is at its end. */
  readonly last: Bytes | undefined
}

export interface SettledNumbers {
  /**
   * Every commit that appended under a number up to this one is seen by snapshots opened from now on, or was given up. Later ones may be seen
   * already while one before them is not.
   */
  readonly settled: number
  /** No greater number had been given. */
  readonly given: number
}

export type SnapshotLimits = Pick<EngineLimits, 'snapshotMsMax' | 'longSnapshotMsMax'>

/** Of two-phase commits: prepared, and neither committed nor rolled back. */
export interface UnresolvedTransactions {
  readonly count: number
  /** Age of the oldest. */
  readonly oldestMs: number
}

/** Snapshots of stores that answer at once. */
export interface LocalReads {
  /** How many entries the store counts, where it keeps count and the snapshot was asked for with `isCounted`. */
  readonly entryCount?: number
  /**
   * Passes the entries of the range to `use`, borrowed, in order or from the last to the first, until it returns
   * false; it reads nothing else meanwhile. Returns the key of the last entry, which the caller owns; undefined where the range is at its end.
   * `max`: told by whoever has `use` take no more entries than that, so that few are read in the way that is best for few.
   */
  visit?(
    range: KeyRange,
    isReverse: boolean,
    use: (key: Bytes, value: Bytes) => boolean,
    max?: number,
  ): Bytes | undefined
  /** Where the store can count entries sooner than read them: counts those of the range, up to `max`. */
  count?(range: KeyRange, max: number): CountedEntries
  /** Where the store can tell about how many entries a range has, by far sooner than it counts them; undefined where it cannot now. */
  estimate?(range: KeyRange): number | undefined
}

/** Snapshots of stores where each read is a trip. */
export interface RemoteReads {
  /**
   * Of a value that was not read early with others (`SnapshotOptions.prefetchKeys`) because it is large: the least that it has. Undefined where it
   * would not be read early, or where the snapshot holds a connection already: for that others may wait, and so whoever holds it waits for none of them.
   */
  bytesLeftOut?(key: Bytes): Promise<number | undefined> | undefined
  /**
   * The entries of a short range in order, and those that they name, in one. `isOnly`: nothing else is likely to
   * be read, so that no transaction need begin; another read throws SnapshotInvalidated then. It counts only where something is expected. The bytes
   * belong to the caller, also those that such a snapshot passes on.
   */
  readonly readNaming?:
    | ((range: RangeRead & { readonly limit: number }, isOnly: boolean) => Promise<NamingEntries>)
    | undefined
  /**
   * Before any read that is a trip: the work takes the key to hold the value, and `view` answers so at once. The first read that
   * needs a trip tells whether it does, or `confirm`; where it does not, they throw SnapshotInvalidated.
   */
  readonly expect?: ((entry: Entry) => void) | undefined
  /** That what is expected is what the snapshot holds; undefined where a read has told. Throws SnapshotInvalidated. */
  readonly confirm?: (() => Promise<void> | undefined) | undefined
}

/** Identities of moments, by which caches recognize what they can share. */
export interface SharedMoment {
  /** Snapshots that have the same are of the same moment of the store, whatever their callers may see of it. */
  readonly sharedRead?: object | undefined
  /** Those that have the same show the same objects, too: whatever hides or changes some, before they are seen, has none. */
  readonly sharedObjects?: object | undefined
  /** The name of a commit that it shows, if the store names its commits: see `Commit.lastCommit`. */
  readonly lastCommit?: string | undefined
}

/** Of the snapshots that the engine restricts to one caller; no driver has it. */
export interface CallerView {
  /** Of a snapshot that is of one caller: whether it may hide some of the range. */
  hides?(range: KeyRange): Awaitable<boolean>
}

/** For stores that worker threads can read. */
export interface ThreadReads {
  /**
   * By which a worker thread opens a handle of its own, see `openStoreInThread`: another one after the store has moved to another file. It may hold a
   * credential. Absent if only this thread can read the store.
   */
  threadAddress?(): string
}

/** For stores that apply several commits at once. */
export interface ConcurrentAppends {
  /** Without it, whatever a snapshot shows of what was appended is complete. Throws StoreUnavailable. */
  settledNumbers?(): Promise<SettledNumbers>
}

/** Keeps all other commits waiting, of every process. */
export interface CommitLock {
  /** Does nothing once it has ended. */
  release(): void
}

/** For stores in which a transaction that has failed again and again can keep others out. */
export interface CommitLocking {
  /**
   * Resolves when no commit is in progress and others wait: a snapshot that is opened then stays up to date. The lock ends with the commit that names it
   * (`Commit.lock`), with `release`, with a reservation by the process (`Commit.isReservation`), for which its holder may be waiting, and after `commitLockMsMax`; a commit that
   * names a lock that has ended is made like any other. Throws StoreUnavailable.
   */
  lockCommits?(): Promise<CommitLock>
}

/** Figures for operators, and what they can request. */
export interface OperatorParts {
  /** Of this process; it goes on counting. */
  readonly counts?: CommitCounts
  /** Ends the snapshots of this process that are held for longer than they may be: reading from them throws LimitExceeded. */
  endOldSnapshots?(limits: SnapshotLimits): void
  /** Age of the oldest open snapshot of this process; 0 with none. */
  oldestSnapshotMs?(): number
  /** For stores in files: what the data takes there, at once. */
  fileBytes?(): number
  /**
   * Writes a consistent copy of the store, as of one point in time, into an empty or new directory, which is an LMDB store once it is whole and
   * durable; until then, and when this throws or the process dies, it cannot be opened. Throws an `Error` for the operator. Absent
   * where the store has no files: `storage/with-backup.ts` copies what it holds.
   */
  backup?(directory: string): Promise<void>
  /** For stores in files: the error with which every change is refused, as when these are no longer the files that were opened. */
  problem?(): Error | undefined
  /**
   * For stores beyond the process: resolves when reads and changes are served, asking over the connections that serve them. Throws StoreUnavailable,
   * also when there is no answer for as long as requests wait.
   */
  checkServing?(): Promise<void>
  /**
   * For stores beyond the process: prepared transactions that keep locks on what is stored; undefined with none. Throws StoreUnavailable.
   */
  unresolvedTransactions?(): Promise<UnresolvedTransactions | undefined>
  /** For stores that find damaged entries: what such an entry is to people, which a store does not know. */
  nameEntriesBy?(nameOf: (key: Bytes) => string): void
}
