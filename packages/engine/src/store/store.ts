/** The store interface: an ordered map of bytes with snapshots and one conditional commit. */

import type { AshlarError } from '../errors.ts'
import type { EngineLimits } from '../limits.ts'
import type { CommitCounts } from './commit-counts.ts'
import type { Sequence } from './sequence.ts'

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
  /** How many results one batch holds at most; the driver's choice when absent. Fewer where values are large: see `scanBatchBytes`. */
  readonly batch?: number
  /** The time slice of the work that the scan is part of: where it is over, others have their turn between batches. One of its own when absent. */
  readonly slice?: { readonly isOver: boolean; yieldIfDue(): Awaitable<void> | undefined }
  /** Told of damaged entries, which are then left out; without it they end the scan with DataCorruption. */
  readonly onDamage?: (error: AshlarError) => void
}

export interface CountedEntries {
  readonly count: number
  /** Behind which the range may go on; undefined where it is at its end. */
  readonly last: Bytes | undefined
}

/**
 * What the store held at one point in time, not older than the call of `Store.snapshot` and not younger than the first read.
 * Every read of one snapshot sees that same point in time, whatever is committed meanwhile.
 */
export interface Snapshot {
  /** How many entries the store counts, where it keeps count and the snapshot was asked for with `isCounted`. */
  readonly entryCount?: number
  /** Snapshots that have the same are of the same moment of the store, whatever their callers may see of it. */
  readonly sharedRead?: object | undefined
  /** Those that have the same show the same objects, too: whatever hides or changes some, before they are seen, has none. */
  readonly sharedObjects?: object | undefined
  /** Passes the value to `use`, synchronously. It is borrowed: the next read may overwrite the bytes. */
  view<T>(key: Bytes, use: (value: Bytes) => T): Awaitable<T | undefined>
  /**
   * Of a value that was not read early with others (`SnapshotOptions.prefetchKeys`) because it is large: the least that it has. Undefined where it
   * would not be read early, or where the snapshot holds a connection already: for that others may wait, and so whoever holds it waits for none of them.
   */
  bytesLeftOut?(key: Bytes): Promise<number | undefined> | undefined
  /** Reads keys and (short) ranges in one trip. */
  read(keys: readonly Bytes[], ranges?: readonly RangeRead[]): Awaitable<ReadAnswer>
  /** Passes each entry to `use`, borrowed, and yields the results in batches; for ranges of any size. */
  scan<T>(range: KeyRange, use: (key: Bytes, value: Bytes) => T, options?: ScanOptions): AsyncIterable<T[]>
  /**
   * Only where the store answers at once: passes the entries of the range to `use`, borrowed, in order or from the last to the first, until it returns
   * false; it reads nothing else meanwhile. Returns the key of the last entry, which the caller owns; undefined where the range is at its end.
   * `max`: told by whoever has `use` take no more entries than that, so that few are read in the way that is best for few.
   */
  visit?(
    range: KeyRange,
    isReverse: boolean,
    use: (key: Bytes, value: Bytes) => boolean,
    max?: number,
  ): Bytes | undefined
  /** Of a snapshot that is of one caller: whether it may hide some of the range. */
  hides?(range: KeyRange): Awaitable<boolean>
  /** Where the store can count entries sooner than read them: counts those of the range, up to `max`. */
  count?(range: KeyRange, max: number): CountedEntries
  /** Where the store can tell about how many entries a range has, by far sooner than it counts them; undefined where it cannot now. */
  estimate?(range: KeyRange): number | undefined
  /**
   * Only where each read is a trip: the entries of a short range in order, and those that they name, in one. `isOnly`: nothing else is likely to
   * be read, so that no transaction need begin; another read throws SnapshotInvalidated then. It counts only where something is expected. The bytes
   * belong to the caller, also those that such a snapshot passes on.
   */
  readonly readNaming?:
    | ((range: RangeRead & { readonly limit: number }, isOnly: boolean) => Promise<NamingEntries>)
    | undefined
  /**
   * Only where each read is a trip, and before any: the work takes the key to hold the value, and `view` answers so at once. The first read that
   * needs a trip tells whether it does, or `confirm`; where it does not, they throw SnapshotInvalidated.
   */
  readonly expect?: ((entry: Entry) => void) | undefined
  /** That what is expected is what the snapshot holds; undefined where a read has told. Throws SnapshotInvalidated. */
  readonly confirm?: (() => Promise<void> | undefined) | undefined
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
  /** Written with the changes, under keys that only the commit itself can tell. */
  readonly append?: Append | undefined
  /** The changes ascend, behind all that is stored, as where a store is copied: says how they are best written, and nothing depends on it. */
  readonly isAppended?: boolean
}

/** `failed`: the first precondition found that did not hold. It is the very object of the commit, unless it is that a key of packed rows is absent. */
export type CommitOutcome =
  | { readonly isCommitted: true }
  | { readonly isCommitted: false; readonly failed: Precondition }

export interface StoreCapabilities {
  readonly kind: 'lmdb' | 'memory' | 'postgres'
  /** Where the data is, for people to read; never holds a credential. */
  readonly location: string
  readonly isDurable: boolean
  readonly hasSynchronousReads: boolean
  /** A snapshot shows one point in time of all keys; else, unless it is locking, only of those that lie together. Commits are exact in any case. */
  readonly hasConsistentSnapshots: boolean
  /** Keys lie on several nodes: what is written in different places, and scanned in several at once, makes use of them all. */
  readonly isDistributed: boolean
  readonly isSharedBetweenProcesses: boolean
  /** It takes commits with `append`. */
  readonly canAppend: boolean
  /** Each entry has a checksum that the driver itself checks whenever the entry is read. */
  readonly hasChecksums: boolean
  /** Its snapshots leave out what their reader may not see: how much there is altogether is neither known nor told. */
  readonly isPartial?: true
  readonly keyBytesMax: number
  readonly valueBytesMax: number
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

export interface StoreStats {
  readonly entries: number
  readonly bytes: number
  /** The part of it that entries take: without free pages, where the store has such. */
  readonly usedBytes: number
  /** Age of the oldest open snapshot of this process; 0 with none. */
  readonly oldestSnapshotMs: number
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

export type SnapshotLimits = Pick<EngineLimits, 'snapshotMsMax' | 'longSnapshotMsMax'>

/** Of two-phase commits: prepared, and neither committed nor rolled back. */
export interface UnresolvedTransactions {
  readonly count: number
  /** Age of the oldest. */
  readonly oldestMs: number
}

/** How a store is opened. */
export interface StoreOptions {
  /** Is told, in a sentence for the operator, what is not as it should be, at the opening or later; it goes on all the same. */
  readonly warn?: (message: string) => void
  /** Called once where the store has failed so that it can be used again only after it was closed and opened anew; until then, every read and commit throws. */
  readonly onUnusable?: (error: Error) => void
}

/** An object of functions that do not ask for `this`: whoever wraps one spreads it, and so passes on what the driver can do. */
export interface Store {
  readonly capabilities: StoreCapabilities
  /**
   * By which a worker thread opens a handle of its own, see `openStoreInThread`: another one after the store has moved to another file. It may hold a
   * credential. Absent if only this thread can read the store.
   */
  threadAddress?(): string
  snapshot(options?: SnapshotOptions): Awaitable<Snapshot>
  /**
   * Resolves when the changes are durable, or when a precondition failed and nothing was changed. Throws StoreUnavailable when
   * nothing was changed, and OutcomeUnknown when it cannot be known whether anything was.
   */
  commit(commit: Commit): Promise<CommitOutcome>
  /** Of this process; it goes on counting. */
  readonly counts?: CommitCounts
  stats(): Promise<StoreStats>
  /** Ends the snapshots of this process that are held for longer than they may be: reading from them throws LimitExceeded. */
  endOldSnapshots?(limits: SnapshotLimits): void
  /** As `StoreStats` has it, at once. */
  oldestSnapshotMs?(): number
  /**
   * For stores that apply several commits at once. Without it, whatever a snapshot shows of what was appended is whole. Throws StoreUnavailable.
   */
  settledNumbers?(): Promise<SettledNumbers>
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
