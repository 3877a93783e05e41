/** Every number that bounds something in the engine, with its unit in its name (contract 1.5). */
import { assert } from './errors.ts'

export interface EngineLimits {
  /** Attributes a class may have, inherited ones included. */
  readonly classAttributesMax: number
  /** Key attributes an index may have. */
  readonly indexKeyAttributesMax: number
  /** How often a transaction is tried again after a conflict, before the client is told to. */
  readonly transactionAttemptsMax: number
  /** Objects that an index build reads and commits at a time. */
  readonly indexBuildBatchObjects: number
  /** How often a process that builds an index or changes a type shows that it lives; unchanged thrice, it is taken for gone. */
  readonly heartbeatIntervalMs: number
  /** How long a snapshot may be held: the data file grows by what is written meanwhile. */
  readonly snapshotMsMax: number
  /** The same for work of operators: Verify, Statistics, changes of the schema that look at all objects. */
  readonly longSnapshotMsMax: number
  /** How long the server may work on a text of statements, or on each transaction of one; waiting for a reader of the reply, or for its turn beside others, does not count. */
  readonly statementMsMax: number
  /** Characters of a text of statements. */
  readonly queryCharactersMax: number
  /** Words, values and symbols of one statement: it is parsed and planned at once. */
  readonly statementTokensMax: number
  /** Rows that a statement sorts or groups in memory. */
  readonly sortedRowsMax: number
  /**
   * What one request holds in memory for its statements: variables, texts and lists that are built, rows that are sorted, grouped or
   * collected, and the reply to a change.
   */
  readonly statementBytesMax: number
  /** What one transaction holds in memory until its commit: objects that it changes, records and index entries. */
  readonly transactionBytesMax: number
  /** Both, of all requests of a process together; up to 1 MiB of each does not count. */
  readonly statementsBytesMax: number
  /** UTF-16 units of a text that an expression gives: no longer one could be stored. */
  readonly textCharactersMax: number
  /** The reply to a text that changes something: it is held until the commit. */
  readonly changeReplyBytesMax: number
  /** Objects that one transaction of a text, of a batch or of an array of creations creates, changes or deletes. */
  readonly changedObjectsMax: number
  /** Entries of the store (objects, index entries, links) that one change writes in one transaction: other writers wait for it meanwhile. */
  readonly commitEntriesMax: number
  /** What it writes, keys and values, what it overwrites itself included. */
  readonly commitBytesMax: number
  /** Edges that the walks of one statement may try. */
  readonly pathExpansionsMax: number
  /** The largest bound that a walk of variable length may be given. */
  readonly walkEdgesMax: number
  /** Operations of one batch. */
  readonly transactionOperationsMax: number
  /** How long the operations of one batch, or the creations of one array, may run, all attempts together; looked at between them. */
  readonly transactionMsMax: number
  /** Objects over which an index can be built as part of a transaction. */
  readonly transactionIndexObjectsMax: number
  /** Builds of indexes that go on in the background in one process; those that a process takes over from another are not refused. */
  readonly backgroundBuildsMax: number
  /** How long it is known at least that a request with an Idempotency-Key has been carried out. */
  readonly receiptMs: number
  /** The reply that is kept of such a request; of a larger one it is only known that there was one. */
  readonly receiptReplyBytesMax: number
  /** What one process keeps in all of replies over 4 KiB at once, and again in each `receiptMs`; of further ones it is only known that there were. */
  readonly receiptRepliesBytesMax: number
  /** How often what is no longer to be kept is removed, half as much more or less, so that processes do not do so at once. */
  readonly receiptRemovalMs: number
  /** For how long what was changed is kept in the change log at least, unless that is larger than it may be. */
  readonly changeLogMs: number
  /** What the change log takes at most; the oldest commits are removed first, the latest one never. */
  readonly changeLogBytesMax: number
  /** How often what is no longer to be kept of the change log is removed, half as much more or less. */
  readonly changeLogRemovalMs: number
  /** How often a process looks for the commits of others, while somebody follows the changes. */
  readonly changeLookMs: number
  /** Rows of a live query. */
  readonly liveRowsMax: number
}

export const defaultEngineLimits: EngineLimits = {
  classAttributesMax: 1_000,
  indexKeyAttributesMax: 16,
  transactionAttemptsMax: 50,
  indexBuildBatchObjects: 500,
  heartbeatIntervalMs: 2_000,
  snapshotMsMax: 900_000,
  longSnapshotMsMax: 86_400_000,
  statementMsMax: 60_000,
  queryCharactersMax: 1_000_000,
  statementTokensMax: 25_000,
  sortedRowsMax: 1_000_000,
  statementBytesMax: 256 * 2 ** 20,
  transactionBytesMax: 384 * 2 ** 20,
  statementsBytesMax: 384 * 2 ** 20,
  textCharactersMax: 16 * 2 ** 20,
  changeReplyBytesMax: 64 * 2 ** 20,
  changedObjectsMax: 200_000,
  commitEntriesMax: 1_200_000,
  commitBytesMax: 128 * 2 ** 20,
  pathExpansionsMax: 10_000_000,
  walkEdgesMax: 32,
  transactionOperationsMax: 10_000,
  transactionMsMax: 60_000,
  transactionIndexObjectsMax: 100_000,
  backgroundBuildsMax: 4,
  receiptMs: 86_400_000,
  receiptReplyBytesMax: 65_536,
  receiptRepliesBytesMax: 2 ** 30,
  receiptRemovalMs: 60_000,
  changeLogMs: 7 * 86_400_000,
  changeLogBytesMax: 2 ** 30,
  changeLogRemovalMs: 60_000,
  changeLookMs: 250,
  liveRowsMax: 10_000,
}

/** A subscription whose process gives no heartbeat for so long is taken over; one is given three times as often. */
export const subscriptionLeaseMs = 30_000
/** Of one subscription: the oldest gives way. */
export const deadLettersMax = 1_000
/** Told at once. */
export const deadLettersPageMax = 100

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
 * How long a transaction may take that meets others: it waits `queueMsMax` at most in queues, loses `heldBackMsMax` and one attempt at most
 * to being held back, and is tried `transactionAttemptsMax` times at most, with `attemptPauseMsMax` before an attempt. The turns of
 * others add up only to these bounds: whoever has used them up goes ahead without a turn.
 */
/** For how long others of the process queue behind a transaction whose commit failed on the same key. */
export const queueTurnMsMax = 1_000
/** For how long a transaction that has failed again and again holds back others of the process that would change what it has read. */
export const reservationMsMax = 5_000
/** Attempts after which such a transaction no longer holds back others: it is other processes that disturb it. */
export const reservationAttemptsMax = 10
/**
 * What being held back may cost a transaction in all, its waits and the attempts that were in vain taken together; it is tried then whatever
 * others have reserved.
 */
export const heldBackMsMax = 10_000
/** How long a transaction whose commits failed queues for its turns in all; it is tried then without having one. */
export const queueMsMax = 30_000
/** How long a transaction that has failed with its reservation pauses before another attempt, at random: it is other processes that disturb it. */
export const attemptPauseMsMax = 32

/** Replies to requests with an Idempotency-Key that are always kept, in spite of `receiptRepliesBytesMax`. */
export const smallReplyBytes = 4_096
/** By how much a clock may be set forward, or a process sleep, before the time that has passed counts instead, for receipts. */
export const clockStepMsMax = 60_000

/** Changes of a page of the change feed. */
export const changesPageMax = 1_000
/** What a page takes as JSON, the last change aside, and what is read of the log for it at most, the last entry aside. */
export const changesPageBytes = 262_144
export const changesReadBytes = 4 * 2 ** 20
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
export const accessPoliciesKept = 100
/** What that takes in memory together, of one federated database. */
export const accessKeptBytesMax = 64 * 2 ** 20
/** Of records that are kept for work that is done in vain, for callers with the same grants. */
export const accessSampleBytesMax = 2 ** 20
/** Objects of which a snapshot keeps whether its caller sees them. */
export const accessDecisionsKept = 50_000
