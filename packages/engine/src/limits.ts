/** All numeric limits of the engine, with units in their names (contract 1.5). */
import { assert } from './errors.ts'

export const defaultEngineLimits = {
  /** Attributes per class, including inherited ones. */
  classAttributesMax: 1_000,
  /** Key attributes per index. */
  indexKeyAttributesMax: 16,
  /** Attempts at a transaction after conflicts, before the client is asked to retry. */
  transactionAttemptsMax: 50,
  /** Batch size of an index build: objects that are read and committed together. */
  indexBuildBatchObjects: 500,
  /** Heartbeat interval of a process that builds an index or changes a type; after three missed heartbeats it is considered dead. */
  heartbeatIntervalMs: 2_000,
  /** Maximum age of a snapshot; while it is open, the data file grows by all that is written. */
  snapshotMsMax: 900_000,
  /** The same for administrative work: Verify, Statistics, and schema changes that read all objects. */
  longSnapshotMsMax: 86_400_000,
  /** Time limit for running the statements of a query, or each of its transactions; time spent waiting for the client to read, or yielding to other requests, does not count. */
  statementMsMax: 60_000,
  /** Length of the text of a query. */
  queryCharactersMax: 1_000_000,
  /** Tokens (words, values and symbols) in one statement, which is parsed and planned without yielding to other requests. */
  statementTokensMax: 10_000,
  /** Rows that one statement may sort or group in memory, or hold as a value. */
  sortedRowsMax: 1_000_000,
  /**
   * Memory of one request for its statements: variables, strings and lists being built, rows being sorted, grouped or collected, and the
   * reply to a change.
   */
  statementBytesMax: 256 * 2 ** 20,
  /** Size of the temporary files of one request, for rows that are sorted, grouped or joined beyond memory; 0 = such statements are refused. */
  statementDiskBytesMax: 4 * 2 ** 30,
  /** The same for all requests of a process. */
  statementsDiskBytesMax: 8 * 2 ** 30,
  /** Memory of one transaction until its commit: changed objects, records and index entries. */
  transactionBytesMax: 384 * 2 ** 20,
  /** `statementBytesMax` and `transactionBytesMax` together, for all requests of a process; up to 1 MiB of each request does not count. */
  statementsBytesMax: 384 * 2 ** 20,
  /** How long a statement runs on the event loop, in milliseconds, before it is started again in a thread. */
  statementSliceMs: 5,
  /** Threads of a process in which statements run that take longer than a slice of the event loop; 0: none. */
  statementThreadsMax: 8,
  /** Length, in UTF-16 code units, of a string that an expression returns; longer strings could not be stored. */
  textCharactersMax: 16 * 2 ** 20,
  /** Size of the reply to a query that changes data, which is held in memory until the commit. */
  changeReplyBytesMax: 64 * 2 ** 20,
  /** Objects that one transaction (of a query, a batch, or an array of objects to create) creates, changes or deletes. */
  changedObjectsMax: 200_000,
  /** Further objects deleted by a statement or an operation because of `onTargetDelete` and `onSourceDelete`. */
  deletedObjectsMax: 100_000,
  /** Store entries (objects, index entries, links) written by one transaction; other writers wait while it commits. */
  commitEntriesMax: 1_200_000,
  /** Bytes (keys and values) written by one transaction, including values that it overwrites itself. */
  commitBytesMax: 128 * 2 ** 20,
  /** Lines of one bulk load with `atomic=true`. */
  atomicLoadObjectsMax: 1_000_000,
  /** `commitEntriesMax` of such a load: other writers wait while it commits, for seconds. */
  atomicLoadEntriesMax: 6_000_000,
  /** `commitBytesMax` of such a load. */
  atomicLoadBytesMax: 384 * 2 ** 20,
  /** Edges that the path searches of one statement may try. */
  pathExpansionsMax: 10_000_000,
  /** Largest bound that can be given for a variable-length path. */
  walkEdgesMax: 32,
  /** Operations in one batch. */
  transactionOperationsMax: 10_000,
  /** Time limit for the operations of one batch, or for creating an array of objects, over all attempts; checked between operations. */
  transactionMsMax: 60_000,
  /** Largest number of objects for which an index can be built within a transaction. */
  transactionIndexObjectsMax: 100_000,
  /** Index builds running in the background, per process, and as many changes of classes; builds taken over from another process are not refused. */
  backgroundBuildsMax: 4,
  /** How long, at least, the receipt of a request with an Idempotency-Key is kept. */
  receiptMs: 86_400_000,
  /** Largest reply that is kept with a receipt; of a larger reply, only its existence is recorded. */
  receiptReplyBytesMax: 65_536,
  /** Total size of replies over 4 KiB that one process keeps with receipts at once, and again in each `receiptMs`; of further replies, only their existence is recorded. */
  receiptRepliesBytesMax: 2 ** 30,
  /** Interval at which expired receipts are removed, varied by up to half so that processes do not do it simultaneously. */
  receiptRemovalMs: 60_000,
  /** Retention of the change log: commits are kept at least this long, unless the log exceeds `changeLogBytesMax`. */
  changeLogMs: 7 * 86_400_000,
  /**
   * Maximum size of the change log; the oldest commits are removed first, the latest one never. 0 = a third of all that is stored, at least 64 MiB, at most 1 GiB;
   * up to 1 GiB, what webhooks and scheduled incremental backups have not read yet is kept in addition.
   */
  changeLogBytesMax: 0,
  /** Interval at which expired commits are removed from the change log, varied by up to half. */
  changeLogRemovalMs: 10_000,
  /** Interval at which a process polls for commits of other processes while a client follows changes. */
  changePollMs: 250,
  /** Rows in the result of a live query. */
  liveRowsMax: 10_000,
}

export type EngineLimits = Readonly<typeof defaultEngineLimits>

/** A subscription whose owner sends no heartbeat for this long is taken over; heartbeats are sent three times as often. */
export const subscriptionLeaseMs = 30_000
/** Per subscription; the oldest one is dropped. */
export const deadLettersMax = 1_000
/** Dead letters per page. */
export const deadLettersPageMax = 100

/** Maximum number of distinct values of the skipped key attribute in a skip scan. */
export const skippedValuesMax = 4_096

/** Maximum number of edges buffered at the far end of a bidirectional MATCH. */
export const backwardEdgesMax = 100_000

/** Maximum estimated memory of cached texts and plans per process; at least half of it is for those used last. */
export const plansBytesMax = 24 * 2 ** 20

/** Fixed by the interface or the storage layout; changing one changes the stored data. */
export const classNameCharactersMax = 255
export const maxStoredStringLengthDefault = 24
export const maxStoredStringLengthMax = 1_024
export const keyBytesMax = 1_024
export const keyDigestBytes = 16
/** Links per attribute of an object that an export reads together with other objects, and the number of link ranges per read. */
export const exportedLinksMax = 64
export const exportRangesMax = 500
export const reportedViolationsMax = 1_000
/** Maximum record size: every store supports values of this size, so that data can be copied between stores. */
export const recordBytesMax = 16 * 2 ** 20 - 4
export const firstClassNumber = 1_000_000
export const firstDatabase = 3
export const firstContainer = 3
export const databaseMax = 65_535
export const containerMax = 32_767
export const pageMax = 65_535
export const slotMax = 65_535

/** Retries of a change whose reads contradict each other, on a store without consistent snapshots: read skew is transient, a bug is not. */
export const readSkewRetriesMax = 5

// A conflicting transaction waits at most `queueMsMax` in queues and for locks, and makes at most `transactionAttemptsMax` attempts,
// separated by pauses of up to `attemptPauseMsMax`.
/** Maximum time that transactions of the process queue behind one whose commit failed on the same key. */
export const queueWaitMsMax = 1_000
/** Maximum time that a repeatedly failing transaction may block all other commits during a retry. */
export const commitLockMsMax = 5_000
/** Maximum number of such retries per transaction. */
export const commitLocksMax = 5
/** Maximum total time that a failing transaction waits in queues and for locks; it is then retried without either. */
export const queueMsMax = 30_000
/** Maximum random pause before a retry of a transaction that is too long to lock out other transactions. */
export const attemptPauseMsMax = 32

/** The JavaScript heap of a statement thread in MiB; sized for the limits of statements. */
export const statementThreadHeapMb = 1_024
/** The young generation in MiB: after a collection, it makes up most of the memory of an idle thread. */
export const statementThreadYoungMb = 16
/** The nice value of statement threads: the event loop has priority if processors are scarce. */
export const statementThreadPriority = 5
/** Idle time after which a statement thread ends. */
export const statementThreadIdleMs = 60_000
/** A cancelled statement that has not ended after this time is terminated with its thread. */
export const statementThreadCancelMs = 2_000

/** Replies up to this size are always stored with receipts, regardless of `receiptRepliesBytesMax`. */
export const smallReplyBytes = 4_096
/** Maximum forward step of the clock (or sleep of the process) that receipts accept; beyond it, elapsed time is measured instead. */
export const clockStepMsMax = 60_000

/** Maximum number of changes per page of the change feed. */
export const changesPageMax = 1_000
/** Maximum JSON size of a page except its last change, and maximum size of log entries read for it except the last. */
export const changesPageBytes = 262_144
export const changesReadBytes = 4 * 2 ** 20
/**
 * Maximum share of the change log in all stored data if `changeLogBytesMax` is 0. In the worst case, entries take twice their size in pages, and the
 * log is as large as the data; with a greater share it would grow with itself.
 */
export const changeLogShare = 1 / 3
export const changeLogBytesLeast = 64 * 2 ** 20
export const changeLogBytesMost = 2 ** 30
/** Maximum number of log keys removed by one commit. */
export const logEntriesRemovedMax = 1_000

/** Maximum size of the values in one batch of a scan except the last, in every store; a scan buffers one batch. */
export const scanBatchBytes = 2 ** 20
/** Maximum size of the objects read for one commit of an index build. Only their keys are retained. */
export const indexBuildBatchBytes = 128 * 2 ** 20
/** Maximum size of the objects that UpgradeObjects reads for one commit, except the last. */
export const upgradeBatchBytes = 32 * 2 ** 20

/** Attempts for bulk lines that refer to each other. Each executes all of them, so lines that fail one after another would take quadratic time. */
export const bulkAttemptsMax = 32
/** Maximum length of the id by which bulk lines refer to a created object (contract 2.2.21). */
export const lineIdCharactersMax = 64

/** Keys compared at a time by a dry run, about 30 MiB; objects are read once per this many keys. */
export const comparedKeysMax = 500_000

/** Maximum nesting of collections in a variable, so that they fit into the maximum depth of a JSON body. */
export const variableDepthMax = 60
/** Maximum length of a text matched by a regular expression: matching takes linear time and cannot be interrupted. */
export const matchedCharactersMax = 2 ** 20
/** Maximum number of superclasses of a class: inherited attributes are repeated in every catalog. */
export const inheritanceDepthMax = 250
/** Maximum nesting of embeddable classes, so that values fit into the maximum depth of a JSON body. */
export const embeddingDepthMax = 30
/** Maximum time that a process waits to open an LMDB store while other processes open it or commit. */
export const storeOpeningMsMax = 60_000
/** Maximum time that commits to an LMDB store wait for another process that opens it or commits; usually milliseconds. */
export const commitGateMsMax = 60_000
/** Maximum time to close an LMDB store during an opening or commit of another process; at exit, a process waits this long for all its stores. */
export const storeClosingMsMax = 10_000
/** Maximum time that the opener of an LMDB store waits for an ending process to lose its last lock. */
export const lockLossMsMax = 1_000
/**
 * Maximum time that a read of an LMDB store blocks its process if a process was killed at the end of a commit whose pages may be about to become
 * visible; also how long reads are then refused immediately.
 */
export const raiseMsMax = 500
export const raiseRefusalMs = 1_000
/** Interval at which a committing process clears the reader slots of killed processes in an LMDB store. */
export const deadReadersMs = 1_000
/** Interval at which a process checks whether another one is compacting its LMDB store, and the interval during compaction. */
export const compactionPollMs = 1_000
export const compactionStepPollMs = 20
/** Maximum time that a compaction waits for each process with the store open to notice it; suspended processes do not. */
export const compactionNoticeMsMax = 10_000
/** Maximum time that a compaction blocks commits while it writes the last changes; beyond it, commits may proceed in between. */
export const compactionAloneMsMax = 300
/** Rounds in which a compaction follows concurrent changes before it gives up, because they outpace it. */
export const compactionRoundsMax = 100
/** Maximum time that an incremental backup waits for commits in progress at its start. */
export const backupSettlingMsMax = 60_000
export const settlingPollMs = 20
/**
 * A commit carries the time at which it was passed to the store, and becomes durable some time later. A backup may lack commits of this last
 * interval, so a restore to a moment within it is exact only if a later commit exists.
 */
export const commitSettlingMs = 5_000
/** Session numbers skipped by a restored store: commits after the backup had commit IDs of later sessions, which clients may know. */
export const restoredSessionsSkipped = 1_000
export const restoreCommitEntriesMax = 2_000
export const restoreCommitBytesMax = 2 ** 20
/** Links per transaction when a rebuild fills long lists. */
export const linksPerTransactionMax = 20_000

/** Maximum size of index entries that a restore buffers to sort them by key. */
export const restoreSortBytesMax = 64 * 2 ** 20
/** Age at which a prepared transaction on PostgreSQL counts as unresolved: commits on Citus are prepared only momentarily. */
export const unresolvedAfterMs = 1_000
/** Attributes of a class and all its embedded objects: each new object holds that many values. */
export const objectAttributesMax = 10_000

/** Maximum length of a condition, an order or another text that EXPLAIN shows for an operator; longer ones are truncated. */
export const planTextCharactersMax = 1_000
/** Maximum number of inputs of an operator that EXPLAIN shows, such as the parts of an OR; the rest is a count. */
export const planInputsMax = 100
export const textFormatCharactersMax = 200

assert(keyBytesMax > 64 + keyDigestBytes, 'a key has room for its digest and its parts')
/** Maximum number of grants of one caller. */
export const accessGrantsMax = 1_000
/** Maximum number of pairs of grants examined to intersect two sets of grants. */
export const accessPairsMax = 5_000
export const accessNamesMax = 10_000
export const accessRuleCharactersMax = 10_000
/** Number of policies whose plans, catalogs and rules are cached. */
export const accessCachedPoliciesMax = 100
/** Maximum total memory of that cache per federated database. */
export const accessCacheBytesMax = 64 * 2 ** 20
/** Maximum size of records retained to simulate work for callers with the same grants. */
export const accessSampleBytesMax = 2 ** 20
/** Maximum number of visibility decisions cached per snapshot. */
export const accessCachedDecisionsMax = 50_000
/** Maximum number of fields of the objects in one parameter of a query, where list elements count once; also of parameters. */
export const parameterFieldsMax = 10_000
/** Fields that objects of one list in a parameter lack and others have, where these are not the last ones. */
export const parameterGapsMax = 1_000_000
/** Sets of attributes that the elements of one removal leave to expressions: all elements of the collection are compared for each. */
export const removalMasksMax = 4
/** For a value of type json: size of its text without white space, and its nesting depth. */
export const jsonBytesMax = 2 ** 20
export const jsonDepthMax = 64
/** Size of a large record, which is read and written in small batches. */
export const largeRecordBytes = 524_288
