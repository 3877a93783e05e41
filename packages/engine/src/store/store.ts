/**
 * The store interface: an ordered map of bytes with snapshots and one conditional commit. This file has what every driver must do, which
 * docs/store-drivers.md explains on one page; optional-parts.ts has what only some do.
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
  SharedMoment,
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
  /** One answer a key, in request order; undefined where there is none. The bytes belong to the caller. */
  readonly values: readonly (Bytes | undefined)[]
  /** One array a range, in request order. The bytes belong to the caller. */
  readonly ranges: readonly (readonly Entry[])[]
}

export interface ScanOptions {
  readonly reverse?: boolean
  readonly limit?: number
  /** The value handed to `use` is then empty. */
  readonly keysOnly?: boolean
  /** The entries decide only how something else is read: a transaction does not rely on them. */
  readonly isEstimate?: boolean
  /** How many results one batch holds at most; the driver's choice when absent. Fewer where values are large: see `scanBatchBytes`. */
  readonly batch?: number
  /** The time slice of the work that the scan is part of: where it is over, others have their turn between batches. One of its own when absent. */
  readonly slice?: { readonly isOver: boolean; yieldIfDue(): Awaitable<void> | undefined }
  /** Told of damaged entries, which are then left out; without it they end the scan with DataCorruption. */
  readonly onDamage?: (error: AshlarError) => void
}

/**
 * What the store held at one point in time, not older than the call of `Store.snapshot` and not younger than the first read.
 * Every read of one snapshot sees that same point in time, whatever is committed meanwhile.
 */
export interface Snapshot extends LocalReads, RemoteReads, SharedMoment, CallerView {
  /** Passes the value to `use`, synchronously. It is borrowed: the next read may overwrite the bytes. */
  view<T>(key: Bytes, use: (value: Bytes) => T): Awaitable<T | undefined>
  /** Reads keys and (short) ranges in one trip. */
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

/** A condition on the store as it is just before the commit, the commit's own changes not included. */
export type Precondition =
  | { readonly kind: 'absent'; readonly key: Bytes }
  /** The key is there; a change of its value does not disturb it. */
  | { readonly kind: 'present'; readonly key: Bytes }
  /** The key is there and its value begins with `prefix`. */
  | { readonly kind: 'revision'; readonly key: Bytes; readonly prefix: Bytes }
  /**
   * The range holds exactly these keys, in order. Whoever adds or removes keys in the range also requires
   * `rangeLockKey` present, and whoever requires the range writes or deletes `rangeLockKey`, or requires it at a revision;
   * a store without range locks locks the range lock key.
   */
  | { readonly kind: 'range'; readonly range: KeyRange; readonly keys: readonly Bytes[]; readonly rangeLockKey: Bytes }
  | UnchangedRange

/**
 * The range holds the same entries as when it was read. Other commits need no range lock key for it: a driver that applies commits concurrently keeps
 * those that change the range from being applied at the same time.
 */
export interface UnchangedRange {
  readonly kind: 'unchanged'
  readonly range: KeyRange
  readonly count: number
  /** How many of the first bytes of each value count, beside its length; 0 if only the keys do. */
  readonly valueBytes: number
  /** What `RangeContent` made of the entries. */
  readonly content: Bytes
}

/**
 * Values of a log, under `prefix` and the commit's number. The store numbers the commits that append when it applies them: of two commits that change a
 * key in common, the later has the greater number, and no number is given twice under one prefix. It may put the single values of several commits into one
 * entry: see `scanAppended`. The last entry that was appended under a prefix is not to be removed while anything is appended to it: some stores go on
 * from it.
 */
export interface Append {
  /** `appendPrefixBytes`, of which the first are `appendSpace` and `appendPart`. */
  readonly prefix: Bytes
  readonly values: readonly Bytes[]
}

export interface Commit {
  /** No key twice: a driver changes them in any order. */
  readonly changes: Sequence<Change>
  readonly preconditions: Sequence<Precondition>
  /** What is required to be unchanged was read from a snapshot that shows this commit: as long as there is no later one, it is unchanged. */
  readonly lastCommit?: string | undefined
  /** Held by the work that commits: the commit is made while others wait, and ends the lock. */
  readonly lock?: CommitLock | undefined
  /** Written with the changes, under keys that only the commit itself can tell. */
  readonly append?: Append | undefined
  /** The changes ascend, behind all that is stored, as where a store is copied: says how they are best written, and nothing depends on it. */
  readonly isAppended?: boolean
  /** Plain data about what it changes, for a store that passes commits on to another thread; no driver reads it. */
  readonly summary?: object | undefined
  /** It reserves something for later commits, such as OIDs: the work that it is for has changed nothing yet. */
  readonly isReservation?: boolean
}

/** `failed`: the first precondition found that did not hold. It is the very object of the commit, unless it is that a key of packed rows is absent. */
export type CommitOutcome =
  | { readonly isCommitted: true }
  | { readonly isCommitted: false; readonly failed: Precondition }

export interface StoreCapabilities {
  /** The name of the driver. */
  readonly kind: string
  /** Where the data is, for people to read; never holds a credential. */
  readonly location: string
  readonly isDurable: boolean
  readonly hasSynchronousReads: boolean
  /** A snapshot shows one point in time of all keys; else, unless it is locking, only of those that lie together. Commits are exact in any case. */
  readonly hasConsistentSnapshots: boolean
  /** Keys lie on several nodes: what is written in different places, and scanned in several at once, makes use of them all. */
  readonly isDistributed: boolean
  /** It takes commits with `append`. */
  readonly canAppend: boolean
  /** The store is of an earlier version of its driver, and its entries have no checksums yet. */
  readonly lacksChecksums?: true
  /** Its snapshots leave out what their reader may not see: how much there is altogether is neither known nor told. */
  readonly isPartial?: true
  readonly keyBytesMax: number
  readonly valueBytesMax: number
}

export interface StoreStats {
  readonly entries: number
  readonly bytes: number
  /** The part of it that entries take: without free pages, where the store has such. */
  readonly usedBytes: number
}

export interface SnapshotOptions {
  /** For `Snapshot.entryCount`. */
  readonly isCounted?: boolean
  /**
   * The work that asks holds another snapshot until it has this one. A store that can open only so many at once keeps
   * some for such work: else those who hold one could all wait for a second.
   */
  readonly isNested?: boolean
  /**
   * Keys that will be read in any case, and often nothing else: a store beyond the process reads them in one statement, and
   * begins a transaction only for further reads. Should the keys have changed until then, such a read throws SnapshotInvalidated.
   */
  readonly prefetchKeys?: readonly Bytes[]
  /**
   * Nothing is committed by the work until it has released the snapshot. `consistent`: a store whose snapshots are not consistent makes
   * this one so, by keeping commits out while it is open; `readOnly`: where it is configured to.
   */
  readonly isolation?: 'readOnly' | 'consistent'
  /** Where `shareReads` allows it, the snapshot may show what an earlier one does. */
  readonly mayShare?: boolean
  /** An operator asked for the work: the snapshot may be held for `longSnapshotMsMax`. */
  readonly isLong?: boolean
  /** Of the work that reads. */
  readonly watch?: SnapshotWatch | undefined
}

export interface SnapshotWatch {
  /** Told when the snapshot is ended because it was held for too long: reading from it throws the same error. */
  onEnded?(error: AshlarError): void
  /** As of `SliceWatch`, for what the snapshot itself has to find out, as by the rules of a caller. */
  readonly owner?: string
  mayGoOn?(): Promise<void> | undefined
}

/** How a store is opened. */
export interface StoreOptions {
  /** Is told, in a sentence for the operator, what is not as it should be, at the opening or later; it goes on all the same. */
  readonly warn?: (message: string) => void
  /** Called once where the store has failed so that it can be used again only after it was closed and opened anew; until then, every read and commit throws. */
  readonly onUnusable?: (error: Error) => void
}

/** An object of functions that do not ask for `this`: whoever wraps one spreads it, and so passes on what the driver can do. */
export interface Store extends ThreadReads, ConcurrentAppends, CommitLocking, OperatorParts {
  readonly capabilities: StoreCapabilities
  snapshot(options?: SnapshotOptions): Awaitable<Snapshot>
  /**
   * Resolves when the changes are durable, or when a precondition failed and nothing was changed. Throws StoreUnavailable when
   * nothing was changed, and OutcomeUnknown when it cannot be known whether anything was.
   */
  commit(commit: Commit): Promise<CommitOutcome>
  stats(): Promise<StoreStats>
  /**
   * Waits for commits under way, then closes; snapshots still open end. Throws StoreUnavailable where a commit waits for another process
   * without an end (LMDB, `storeClosingMsMax`): it is refused, and the store closed only once that process goes on or ends. Until then this
   * process does not end by itself; `process.exit` ends it, without its exit code.
   */
  close(): Promise<void>
}

export interface StoreWithBackup extends Store {
  backup(directory: string): Promise<void>
}
