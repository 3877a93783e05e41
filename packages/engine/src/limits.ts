/** Every number that bounds something in the engine, with its unit in its name (contract 1.5). */
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
  /** Objects that follow, by `onTargetDelete` and `onSourceDelete`, from those that a statement or an operation deletes. */
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
  changeLookMs: 250,
  /** Rows in the result of a live query. */
  liveRowsMax: 10_000,
}

export type EngineLimits = Readonly<typeof defaultEngineLimits>

/** A subscription whose process gives no heartbeat for so long is taken over; one is given three times as often. */
export const subscriptionLeaseMs = 30_000
/** Of one subscription: the oldest gives way. */
export const deadLettersMax = 1_000
/** Told at once. */
export const deadLettersPageMax = 100

/** A skip scan of an index goes through no more values of the key attribute that it skips. */
export const skippedValuesMax = 4_096

/** A MATCH that is searched from both of its ends keeps no more edges of the far one in memory. */
export const farSideEdgesMax = 100_000

/** What texts and the plans made of them take in a process at most, as it is estimated; half of them at least are those used last. */
export const plansBytesMax = 24 * 2 ** 20

/** Fixed by the interface or the storage layout; changing one changes what is stored. */
export const classNameCharactersMax = 255
export const maxStoredStringLengthDefault = 24
export const maxStoredStringLengthMax = 1_024
export const keyBytesMax = 1_024
export const keyDigestBytes = 16
/** Links of each attribute that an export reads together with those of other objects, and attributes whose links it reads together. */
export const exportedLinksMax = 64
export const exportRangesMax = 500
/** Objects of one change that are told to have keys which others hold. */
export const violationsToldMax = 1_000
/** What an object takes as it is stored: every store holds values of this size, so that a copy goes from any to any. */
export const recordBytesMax = 16 * 2 ** 20 - 4
export const firstClassNumber = 1_000_000
export const firstDatabase = 3
export const firstContainer = 3
export const databaseMax = 65_535
export const containerMax = 32_767
export const pageMax = 65_535
export const slotMax = 65_535

/**
 * How often a change whose reads contradict each other is tried again on a store that may read two keys as of two points in
 * time: read skew passes, a fault of ours does not.
 */
export const readSkewRetriesMax = 5

/*
 * How long a transaction may take that conflicts with others: it waits `queueMsMax` at most in queues and for locks, and is tried
 * `transactionAttemptsMax` times at most, with `attemptPauseMsMax` before an attempt.
 */
/** For how long others of the process queue behind a transaction whose commit failed on the same key. */
export const queueTurnMsMax = 1_000
/** For how long a transaction that has failed again and again may keep all other commits waiting while it is tried once more. */
export const commitLockMsMax = 5_000
/** How often one transaction may do that. */
export const commitLocksMax = 5
/** How long a transaction whose commits failed waits in queues and for locks in all; it is tried then without either. */
export const queueMsMax = 30_000
/** How long a transaction that takes too long to lock out others pauses before another attempt, at random. */
export const attemptPauseMsMax = 32

/** The JavaScript heap of a statement thread, in MiB: what the limits of statements count fits in. */
export const statementThreadHeapMb = 1_024
/** The part of it for new values, in MiB: what is kept of it after each collection makes most of the memory of an idle thread. */
export const statementThreadYoungMb = 16
/** The nice value of a statement thread: the event loop goes first where processors are few. */
export const statementThreadPriority = 5
/** A statement thread ends after so long without a statement. */
export const statementThreadIdleMs = 60_000
/** A statement that has not ended so long after it was cancelled ends with its thread. */
export const statementThreadCancelMs = 2_000

/** Replies to requests with an Idempotency-Key that are always kept, in spite of `receiptRepliesBytesMax`. */
export const smallReplyBytes = 4_096
/** By how much a clock may be set forward, or a process sleep, before the time that has passed counts instead, for receipts. */
export const clockStepMsMax = 60_000

/** Changes of a page of the change feed. */
export const changesPageMax = 1_000
/** What a page takes as JSON, the last change aside, and what is read of the log for it at most, the last entry aside. */
export const changesPageBytes = 262_144
export const changesReadBytes = 4 * 2 ** 20
/**
 * The size of the change log where `changeLogBytesMax` is 0: a share of what is stored, the log included. Where each of its entries takes twice its bytes
 * in pages, which is the worst case, the log is as large as the data; a greater share would then let it grow with itself.
 */
export const changeLogShare = 1 / 3
export const changeLogBytesLeast = 64 * 2 ** 20
export const changeLogBytesMost = 2 ** 30
/** What the log's entries removed by one commit take at most in keys. */
export const logEntriesRemovedMax = 1_000

/** What the values of one batch of a scan take, the last one aside, in every store; whoever reads objects one part after another holds a batch. */
export const scanBatchBytes = 2 ** 20
/** What the objects of one commit of an index build take as they are read. Only their keys are held. */
export const indexBuildBatchBytes = 128 * 2 ** 20
/** What the objects take that UpgradeObjects reads for one commit, the last one aside. */
export const upgradeBatchBytes = 32 * 2 ** 20

/**
 * How often lines of a bulk load that refer to each other are tried after some of them have failed. Each attempt carries all of them out: without
 * this, lines of which each fails only once those before it are left out would take quadratic work.
 */
export const bulkAttemptsMax = 32
/** The name by which lines of a bulk load refer to the object that a line creates (contract 2.2.21). */
export const lineIdCharactersMax = 64

/** Keys that a dry run compares at a time, in about 30 MiB; it reads the objects once for each so many of them. */
export const comparedKeysMax = 500_000

/** Collections within each other in a variable; deeper ones would not fit into the depth of a JSON body. */
export const variableDepthMax = 60
/** A regular expression takes time for each of them, and cannot be interrupted. */
export const matchedCharactersMax = 2 ** 20
/** Superclasses above a class: all that is inherited is written out in every catalog. */
export const inheritanceDepthMax = 250
/** Embeddable classes within each other; deeper values would not fit into the depth of a JSON body. */
export const embeddingDepthMax = 30
/** How long a process waits to open an LMDB store while others open it or commit. */
export const storeOpeningMsMax = 60_000
/** How long commits to an LMDB store wait while another process opens it or commits; normally that takes some milliseconds. */
export const commitGateMsMax = 60_000
/**
 * How long one waits to close an LMDB store while another process opens it, and before that while another one commits to it; at its end,
 * a process waits so long for all it has open.
 */
export const storeClosingMsMax = 10_000
/** How long an opener of an LMDB store waits for a process that is ending to lose its last lock. */
export const lockLossMsMax = 1_000
/**
 * How long a read of an LMDB store waits, and keeps its process from anything else, where a process was killed at the end of a commit and another one may be about to
 * show what it wrote; and for how long reads are then refused at once.
 */
export const raiseMsMax = 500
export const raiseRefusalMs = 1_000
/** How often a process that commits to an LMDB store clears the reader slots of processes that were killed. */
export const deadReadersMs = 1_000
/** How often a process looks whether its LMDB store is being compacted by another one, and how often while it is. */
export const compactionLooksMs = 1_000
export const betweenCompactionLooksMs = 20
/** How long a compaction waits for each process that has the store open to notice it; one that is suspended does not. */
export const compactionNoticeMsMax = 10_000
/** For how long a compaction writes what was changed last while no process can commit; where it takes longer, it lets them go on in between. */
export const compactionAloneMsMax = 300
/** How often a compaction follows what was changed meanwhile before it gives up: then the changes come faster than it can follow. */
export const compactionRoundsMax = 100
/** For how long an incremental backup waits for commits that were under way when it began. */
export const backupSettlingMsMax = 60_000
export const betweenSettlingLooksMs = 20
/**
 * A commit bears the time at which it was handed to the store, and is durable some time later. A backup may lack commits of that last time before it, so
 * that a restore to a moment within it is exact only if a later commit shows where the moment ends.
 */
export const commitSettlingMs = 5_000
/** A restored store skips so many session numbers: what was committed after the backup had commit IDs of later sessions, which clients may know. */
export const restoredSessionsSkipped = 1_000
/** Entries and bytes that a restore commits at once. */
export const restoreCommitEntriesMax = 2_000
export const restoreCommitBytesMax = 2 ** 20
/** Longer lists of links are made in so many transactions when a federated database is made anew of an archive. */
export const linksAtOnceMax = 20_000

/** What a restore holds of index entries, to write them in the order of their keys. */
export const restoreSortBytesMax = 64 * 2 ** 20
/** A prepared transaction on PostgreSQL that is older counts as unresolved: commits under way on Citus are prepared for a moment only. */
export const unresolvedAfterMs = 1_000
/** Attributes of a class together with those of all its embedded objects: each new object holds that many values. */
export const objectAttributesMax = 10_000

/** Characters of a condition, an order or another text that EXPLAIN shows at an operator; what is longer is cut. */
export const planTextCharactersMax = 1_000
/** Inputs of an operator that EXPLAIN shows, such as the parts of an OR: how many more there are is a number. */
export const planInputsMax = 100
/** Characters of a format in USE … FORMAT. */
export const textFormatCharactersMax = 200

assert(keyBytesMax > 64 + keyDigestBytes, 'a key has room for its digest and its parts')
/** Of what one caller may do. */
export const accessGrantsMax = 1_000
/** Pairs of grants that are looked at for what two sets of them allow both. */
export const accessPairsMax = 5_000
export const accessNamesMax = 10_000
export const accessRuleCharactersMax = 10_000
/** Policies of whose callers plans, catalogs and rules are kept. */
export const accessCachedPoliciesMax = 100
/** What that takes in memory together, of one federated database. */
export const accessCacheBytesMax = 64 * 2 ** 20
/** Of records that are kept for work that is done in vain, for callers with the same grants. */
export const accessSampleBytesMax = 2 ** 20
/** Objects of which a snapshot keeps whether its caller sees them. */
export const accessCachedDecisionsMax = 50_000
/** Fields of the objects of one parameter of a query, of the elements of a list once; and parameters of a query. */
export const parameterFieldsMax = 10_000
/** Of a value of type json: bytes of its text without white space, and how deep it is nested. */
export const jsonBytesMax = 2 ** 20
export const jsonDepthMax = 64
/** Of a record that is large: it is read and written out alone, or beside few others. */
export const largeRecordBytes = 524_288
