/**
 * The store interface: an ordered map of bytes with snapshots and one conditional commit. This file specifies what every driver must do, as
 * docs/store-drivers.md explains on one page; optional-parts.ts specifies optional functions.
 */
import type { AshlarError } from '../errors.ts'
import type { Awaitable, Bytes, Entry, KeyRange, RangeRead } from './entries.ts'
import type {
  CallerView,
  CommitLock,
  CommitLocking,
  ConcurrentAppends,
  LocalReads,
  OperatorParts,
  RemoteReads,
  SharedStates,
  ThreadReads,
} from './optional-parts.ts'
import type { Sequence } from './sequence.ts'

export type { Awaitable, Bytes, Entry, KeyRange, RangeRead } from './entries.ts'
export type {
  CommitLock,
  CountedEntries,
  NamingEntries,
  SettledNumbers,
  SnapshotLimits,
  UnresolvedTransactions,
} from './optional-parts.ts'

export interface ReadAnswer {
  /** One answer per key, in request order; undefined if absent. The bytes belong to the caller. */
  readonly values: readonly (Bytes | undefined)[]
  /** One array per range, in request order. The bytes belong to the caller. */
  readonly ranges: readonly (readonly Entry[])[]
}

export interface ScanOptions {
  readonly reverse?: boolean
  readonly limit?: number
  /** Passes empty values to `use`. */
  readonly keysOnly?: boolean
  /** The entries only decide how other data is read: a transaction does not rely on them. */
  readonly isEstimate?: boolean
  /** Most results per batch; by default the driver's choice. Fewer if values are large: see `scanBatchBytes`. */
  readonly batch?: number
  /** The time slice of the surrounding work, in which the scan yields between batches. By default a new one. */
  readonly slice?: { readonly isOver: boolean; yieldIfDue(): Awaitable<void> | undefined }
  /** Called for damaged entries, which are then omitted; without it they end the scan with DataCorruption. */
  readonly onDamage?: (error: AshlarError) => void
}

/** The store at one point in time, between the call of `Store.snapshot` and the first read. All reads see it, whatever is committed meanwhile. */
export interface Snapshot extends LocalReads, RemoteReads, SharedStates, CallerView {
  /** Passes the value to `use`, synchronously. It is borrowed: the next read may overwrite the bytes. */
  view<T>(key: Bytes, use: (value: Bytes) => T): Awaitable<T | undefined>
  /** Reads keys and (short) ranges in one round trip. */
  read(keys: readonly Bytes[], ranges?: readonly RangeRead[]): Awaitable<ReadAnswer>
  /** Passes each entry to `use`, borrowed, and yields the results in batches; for ranges of any size. */
  scan<T>(range: KeyRange, use: (key: Bytes, value: Bytes) => T, options?: ScanOptions): AsyncIterable<T[]>
  /** Ends the snapshot; reading afterwards is an error, releasing twice is not. */
  release(): void
}

export type Change =
  | { readonly kind: 'put'; readonly key: Bytes; readonly value: Bytes }
  | { readonly kind: 'delete'; readonly key: Bytes }
export type Put = Extract<Change, { kind: 'put' }>

/** A condition on the store immediately before the commit, without the commit's own changes. */
export type Precondition =
  | { readonly kind: 'absent'; readonly key: Bytes }
  /** The key is present; changes of its value do not matter. */
  | { readonly kind: 'present'; readonly key: Bytes }
  /** The key is present and its value begins with `prefix`. */
  | { readonly kind: 'revision'; readonly key: Bytes; readonly prefix: Bytes }
  /**
   * The range holds exactly these keys, in order. Commits that add or remove keys in the range also require
   * `rangeLockKey` present, and commits that require the range write or delete `rangeLockKey`, or require it at a
   * revision; a store without range locks locks the range lock key.
   */
  | { readonly kind: 'range'; readonly range: KeyRange; readonly keys: readonly Bytes[]; readonly rangeLockKey: Bytes }
  | UnchangedRange

/**
 * The range holds the same entries as when it was read. Other commits need no range lock key for it: a driver that
 * applies commits concurrently does not apply ones that change the range at the same time.
 */
export interface UnchangedRange {
  readonly kind: 'unchanged'
  readonly range: KeyRange
  readonly count: number
  /** Number of leading bytes of each value that count, along with its length; 0 if only the keys count. */
  readonly valueBytes: number
  /** The digest of the entries by `RangeContent`. */
  readonly content: Bytes
}

/**
 * Values of a log, stored under `prefix` and the commit's number. The store numbers appending commits when it applies them: of two commits that
 * change the same key, the later one has the greater number, and no number is assigned twice under one prefix. It may store single values of several
 * commits in one entry: see `scanAppended`. The last entry under a prefix must not be removed while the log is in use, since some stores continue its
 * numbers.
 */
export interface Append {
  /** `appendPrefixBytes`, of which the first are `appendSpace` and `appendPart`. */
  readonly prefix: Bytes
  readonly values: readonly Bytes[]
}

export interface Commit {
  /** Each key at most once: a driver changes them in any order. */
  readonly changes: Sequence<Change>
  readonly preconditions: Sequence<Precondition>
  /** The ranges required unchanged were read from a snapshot that shows this commit: without a later one, they are unchanged. */
  readonly lastCommit?: string | undefined
  /** Held by the committing work: the commit is made while other commits wait, and ends the lock. */
  readonly lock?: CommitLock | undefined
  /** Written with the changes, under keys that are only determined by the commit. */
  readonly append?: Append | undefined
  /** The changes ascend, after all stored keys, as when a store is copied. A hint for the write strategy only. */
  readonly isAppended?: boolean
  /** Plain data about the changes, for a store that passes commits to another thread; drivers do not read it. */
  readonly summary?: object | undefined
  /** Reserves something for later commits, such as OIDs, for work that has changed nothing yet. */
  readonly isReservation?: boolean
}

/**
 * `failed`: the first precondition found violated. It is the very object of the commit, except for an absent key of
 * packed rows.
 */
export type CommitOutcome =
  | { readonly isCommitted: true }
  | { readonly isCommitted: false; readonly failed: Precondition }

export interface StoreCapabilities {
  readonly kind: string
  /** The location of the data, for humans; never holds a credential. */
  readonly location: string
  readonly isDurable: boolean
  readonly hasSynchronousReads: boolean
  /** A snapshot shows one point in time of all keys; otherwise, unless it is locking, only of keys in one placement. Commits are always exact. */
  readonly hasConsistentSnapshots: boolean
  /** Keys lie on several nodes: concurrent writes and scans in different placements use them all. */
  readonly isDistributed: boolean
  /** Accepts commits with `append`. */
  readonly canAppend: boolean
  /** The store has the format of an earlier driver version, whose entries have no checksums. */
  readonly lacksChecksums?: true
  /** Its snapshots hide what their reader may not see, so total counts are neither known nor reported. */
  readonly isPartial?: true
  readonly keyBytesMax: number
  readonly valueBytesMax: number
}

export interface StoreStats {
  readonly entries: number
  readonly bytes: number
  /** The part used by entries, without free pages. */
  readonly usedBytes: number
}

export interface SnapshotOptions {
  /** For `Snapshot.entryCount`. */
  readonly isCounted?: boolean
  /** The requester holds another snapshot. A store with a limit reserves some snapshots for this, lest all holders wait for a second one. */
  readonly isNested?: boolean
  /**
   * Keys that will certainly be read, often alone: a remote store reads them in one statement, and begins a
   * transaction only for further reads. If the keys have changed until then, such a read throws SnapshotInvalidated.
   */
  readonly prefetchKeys?: readonly Bytes[]
  /**
   * The work commits nothing before it releases the snapshot. `consistent`: a store without consistent snapshots
   * makes this one consistent by blocking commits while it is open; `readOnly`: if it is so configured.
   */
  readonly isolation?: 'readOnly' | 'consistent'
  /** If `shareReads` allows it, the snapshot may show the state of an earlier one. */
  readonly mayShare?: boolean
  /** Requested by an operator: the snapshot may be held for `longSnapshotMsMax`. */
  readonly isLong?: boolean
  readonly watch?: SnapshotWatch | undefined
}

export interface SnapshotWatch {
  /** Called when the snapshot is ended because it was held too long; reads from it throw the same error. */
  onEnded?(error: AshlarError): void
  /** Like in `SliceWatch`, for the snapshot's own work, such as evaluating access rules of a caller. */
  readonly owner?: string
  mayContinue?(): Promise<void> | undefined
}

export interface StoreOptions {
  /** Receives warnings for the operator, one sentence each, at opening or later; the store works on. */
  readonly warn?: (message: string) => void
  /** Called, maybe repeatedly, once the store has failed and has to be reopened; until then, reads or commits throw. */
  readonly onUnusable?: (error: Error) => void
}

/** An object of functions that do not use `this`: a wrapper spreads it, and so inherits the driver's optional parts. */
export interface Store extends ThreadReads, ConcurrentAppends, CommitLocking, OperatorParts {
  readonly capabilities: StoreCapabilities
  snapshot(options?: SnapshotOptions): Awaitable<Snapshot>
  /**
   * Resolves when the changes are durable, or when a precondition failed and nothing was changed. Throws
   * StoreUnavailable if nothing was changed, and OutcomeUnknown if that is uncertain.
   */
  commit(commit: Commit): Promise<CommitOutcome>
  stats(): Promise<StoreStats>
  /**
   * Waits for commits in progress, then closes; open snapshots end. Throws StoreUnavailable if a commit waits
   * indefinitely for another process (LMDB, `storeClosingMsMax`): the commit is refused, and the store closed only
   * once that process resumes or ends. Until then this process does not exit unless `process.exit` is called, which
   * replaces its exit code.
   */
  close(): Promise<void>
}

export interface StoreWithBackup extends Store {
  backup(directory: string): Promise<void>
}
