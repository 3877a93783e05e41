/** Every number that bounds something in the server, with its unit in its name (contract 1.5). */
import type { EngineLimits } from '@ashlar/engine'

export interface ServerLimits {
  /** A request body, after decompression. */
  readonly bodyBytesMax: number
  /** How deep arrays and objects of a body may be nested. */
  readonly jsonDepthMax: number
  /** Values of a JSON body: numbers, texts, literals, arrays, objects, and names of fields. */
  readonly bodyValuesMax: number
  /** Those of a body that is one object to be created or changed, and of each object of an array of them. */
  readonly objectValuesMax: number
  /** A line of a body of lines (application/x-ndjson), after decompression. */
  readonly lineBytesMax: number
  /** Lines of one load that have an `id`. */
  readonly bulkNamesMax: number
  /** The line of a request and its headers together. */
  readonly requestHeaderBytesMax: number
  /** What the bodies of all requests under way take together, in one process, after decompression. */
  readonly bodiesBytesMax: number
  /** What the JSON bodies of all requests under way have in values together, in one process. */
  readonly bodiesValuesMax: number
  /** How long a body waits for room among them. */
  readonly bodyTurnMsMax: number
  /** How long the headers of a request may take to arrive. */
  readonly headersMsMax: number
  /** How long a request may take to arrive, body included; a body of lines any time, but so long without a line. */
  readonly requestMsMax: number
  /** Connections to one process. */
  readonly connectionsMax: number
  /** Connections to one process from one address. */
  readonly connectionsPerAddressMax: number
  /** Requests of one caller within a second, in one process: of who it is, or of its address where that is not known; 0 = any number. */
  readonly callerRequestsPerSecondMax: number
  /** How long a reader may take no bytes of a reply that waits for it. */
  readonly replyStallMsMax: number
  /** By how much data files may grow while a reader takes nothing; it loses its reply then after a sixth of `replyStallMsMax`. */
  readonly replyStallBytesMax: number
  /** Statements that work at once in one process, or whose replies are being taken. */
  readonly statementsMax: number
  /** Those of one address. */
  readonly statementsPerAddressMax: number
  /** Statements that wait to begin in one process, and as many that have begun and wait to go on. */
  readonly queuedStatementsMax: number
  /** Those of one address. */
  readonly queuedStatementsPerAddressMax: number
  /** Requests in one process that follow changes, or wait for one. */
  readonly changeFollowersMax: number
  /** Those of one address. */
  readonly changeFollowersPerAddressMax: number
  /** How long nothing may be sent to who follows the changes, before a heartbeat. */
  readonly changeHeartbeatMs: number
  /** How long the receiver of a webhook has for its reply. */
  readonly webhookTimeoutMs: number
  /** When a delivery of a webhook that has failed is tried again first; each time after three times as long. */
  readonly webhookRetryMsMin: number
  /** After how long it is tried again at the latest. */
  readonly webhookRetryMsMax: number
  /** Runs of tools in one process that go on after their replies. */
  readonly backgroundRunsMax: number
  /** How long a statement waits for a place among those that work. */
  readonly statementQueueMsMax: number
  /** How long a query may take before it has a line in the log, with its plan; 0 = however long. */
  readonly slowQueryMs: number
  /** How long requests under way may take to end, once the server is asked to stop. */
  readonly stopMsMax: number
  /** How long bodies that have not wholly arrived may take then; their requests are refused afterwards. */
  readonly stopBodyMsMax: number
  /** Of a file of the audit log; then another is begun. */
  readonly auditFileBytesMax: number
  /** Files of the audit log that are kept. */
  readonly auditFilesMax: number
  /** So many crashes of worker processes by native code within `workerCrashWindowMs` end the server. */
  readonly workerCrashesMax: number
  /** The time within which so many crashes are too many. */
  readonly workerCrashWindowMs: number
}

export const defaultServerLimits: ServerLimits = {
  bodyBytesMax: 64 * 2 ** 20,
  jsonDepthMax: 64,
  bodyValuesMax: 1_000_000,
  objectValuesMax: 200_000,
  lineBytesMax: 16 * 2 ** 20,
  bulkNamesMax: 1_000_000,
  requestHeaderBytesMax: 16 * 2 ** 10,
  bodiesBytesMax: 256 * 2 ** 20,
  bodiesValuesMax: 2_000_000,
  bodyTurnMsMax: 5_000,
  headersMsMax: 30_000,
  requestMsMax: 300_000,
  connectionsMax: 10_000,
  connectionsPerAddressMax: 5_000,
  callerRequestsPerSecondMax: 0,
  replyStallMsMax: 30_000,
  replyStallBytesMax: 48 * 2 ** 20,
  statementsMax: 5,
  statementsPerAddressMax: 4,
  queuedStatementsMax: 100,
  queuedStatementsPerAddressMax: 75,
  statementQueueMsMax: 300,
  changeFollowersMax: 256,
  changeFollowersPerAddressMax: 64,
  changeHeartbeatMs: 15_000,
  webhookTimeoutMs: 15_000,
  webhookRetryMsMin: 5_000,
  webhookRetryMsMax: 3_600_000,
  backgroundRunsMax: 4,
  slowQueryMs: 1_000,
  stopMsMax: 10_000,
  stopBodyMsMax: 2_000,
  auditFileBytesMax: 64 * 2 ** 20,
  auditFilesMax: 10,
  workerCrashesMax: 3,
  workerCrashWindowMs: 600_000,
}

/** Lines of a load that are committed together, and their bytes; five times as many while lines refer to others that have not come. */
export const bulkBatchLines = 2_000
export const bulkBatchBytes = 2 * 2 ** 20
/** How long lines that wait for their commit wait for further ones, and for those that they refer to. */
export const bulkIdleMs = 10
export const bulkOpenIdleMs = 2_000
/** How long a client may go on sending lines once a load has ended before them: it may be busy making them. */
export const bulkLingerMsMax = 10_000
/** Replies of a load that wait for their reader; with more, no further lines are read. Those of a million lines have fewer. */
export const bulkRepliesBytesMax = 16 * 2 ** 20
/** Of objects in a file of an archive, before compression; the last one aside. */
export const archivePartBytes = 4 * 2 ** 20
/** Of a file of an archive that is read, which is held whole: an object with very many links makes a long one. */
export const archiveFileBytesMax = 512 * 2 ** 20
/** Of the text of a statement, where statements under way are listed. */
export const listedTextCharactersMax = 1_000
/** Limits that are not in force where they are 0. */
export const limitsOffAtZero: readonly string[] = [
  'callerRequestsPerSecondMax',
  'slowQueryMs',
] satisfies (keyof ServerLimits)[]
/** Callers whose requests a process counts within a second; where there are more, it begins anew with them. */
export const countedCallersMax = 50_000
/** Bodies that are no larger are let in uncounted. */
export const smallBodyBytes = 65_536
/** Connections beyond the limits that are there to hear why; further ones are closed at once. */
export const refusedConnectionsMax = 100
/**
 * Connections that the operating system has, and the server has not accepted yet; the system may allow fewer (`net.core.somaxconn`). It drops
 * what is beyond, and clients try again after a second.
 */
export const unacceptedConnectionsMax = 4_096
/** Connections that are served first in one turn of the event loop, once none arrives. */
export const servedInATurnMax = 12
/** While connections arrive, so many of each address are served as they do, one in a turn. */
export const servedOnArrivalMax = 4
/** While connections arrive, one of the others is served in one of so many turns. */
export const arrivalTurnsPerOther = 16
/** Replies of one connection that wait for those to earlier requests of it, before no more requests are read from it. */
export const pipelinedMax = 64
/** Requests that begin in one turn of the event loop, of those that were sent before the replies to earlier ones. */
export const pipelinedInATurnMax = 16
/** A live query rests for so many times as long as it has worked: a result that changes all the time costs no more than a part of the process. */
export const liveRestPerWork = 4
/** Of a number or a name in a JSON body. */
export const jsonWordBytesMax = 2 ** 23
/** Of a parameter in the path of a URL. */
export const pathParameterCharactersMax = 4_096
/** How long a connection on which nothing is under way is kept for a last request while the server stops. */
export const idleConnectionMs = 100
/** How long a refused request may go on sending its body: were the connection reset at once, its client might not get the refusal. */
export const lingerMsMax = 1_000

/** Of an `Authorization` header with a JWT. */
export const jwtCharactersMax = 8_192
/** Of a claim that names a caller, or that rules see. */
export const jwtClaimCharactersMax = 1_000
/** Tokens that were found valid are remembered for so long, and so many of them. */
export const jwtCachedMsMax = 60_000
export const jwtCachedMax = 10_000
/** Of the keys of an issuer. */
export const jwksBytesMax = 2 ** 20
export const jwksFetchMsMax = 5_000
/** After which they are read again; for a key that is not among them after `jwksRepeatMs`. */
export const jwksFreshMs = 600_000
export const jwksRepeatMs = 30_000
/** For so long they go on while they cannot be read. */
export const jwksStaleMsMax = 86_400_000
/** Within which a line of the audit log is written. */
export const auditLineMsMax = 100
/** Lines of the audit log that wait to be written. */
export const auditBufferBytesMax = 2 ** 20
/** How long after a failure it is tried again to write the audit log. */
export const auditRetryMs = 1_000
/** Refusals of those who are not known that have a line of their own at once, and how many more with each second; the others are counted. */
export const auditedRefusalsMax = 100
export const auditedRefusalsPerSecond = 5
/** OIDs and classes that a line of the audit log names; how many objects there were, it says in any case. */
export const auditedOidsMax = 100
export const auditedClassesMax = 20
/** Entries of a page of the audit log. */
export const auditPageMax = 1_000
/** Lines of slow queries that are written at once, and how many more with each second; the others are counted. */
export const slowQueryLinesMax = 10
export const slowQueryLinesPerSecond = 1
/** Characters of its text that are looked at for the line of a slow query. */
export const slowQueryTextMax = 10_000
/** How long a scrape waits for a store; what that does not tell in time is left out. */
export const metricsStoreMsMax = 1_000
/** How long a request may wait for a change. */
export const changeWaitMsMax = 60_000
/** Of one delivery of a webhook. */
export const webhookChangesMax = 1_000
/** Bytes of a receiver's reply that are read. */
export const webhookReplyBytesMax = 4_096
/** How often a process looks whether it is to work for a webhook for which another one does; and at most, while much is changed. */
export const webhookRestMs = 5_000
export const webhookLookMs = 200
/** How often certificate files are looked at. */
export const certificateLookMs = 5_000
/** How long a connection on which nothing is asked is kept. */
export const idleKeptMs = 72_000
/** Requests under way on one connection of HTTP/2. */
export const http2StreamsMax = 100
/** Headers of a request by HTTP/2, by their number. */
export const http2HeaderPairsMax = 200
/** What one connection of HTTP/2 may take in memory, in megabytes. */
export const http2SessionMegabytesMax = 10
/** Requests that a connection of HTTP/2 may give up at once, and how many more with each second; then it is ended. */
export const http2ResetsMax = 300
export const http2ResetsPerSecond = 30
/** PING and SETTINGS that a client may send on one connection within `http2ControlWindowMs`; with more, it is ended. */
export const http2ControlFramesMax = 2_000
export const http2ControlWindowMs = 10_000
/** Of passwords. */
export const passwordCharactersMin = 8
export const passwordCharactersMax = 256
/** Passwords that are hashed at once in one process: each takes 19 MiB and a thread. */
export const passwordHashesAtOnceMax = 2
/** Those that wait for it; further ones are refused. */
export const passwordHashesWaitingMax = 32
/** Passwords that were right a short time ago are not hashed again. */
export const rememberedPasswordsMax = 10_000
export const rememberedPasswordsMsMax = 300_000
/**
 * Wrong passwords within `forgottenAfterMs`: of a user name from an address, of an address, of a user name. Beyond the last of these, only `ofPairAfterNameMax` from
 * an address where the name has not been right: were there none, whoever knows the name could keep its owner out.
 */
export const signInFailures = {
  ofPairMax: 10,
  ofAddressMax: 100,
  ofNameMax: 1_000,
  ofPairAfterNameMax: 2,
  forgottenAfterMs: 300_000,
}
/** Where a name has been right is remembered for so long, and of so many. */
export const rightAddressMsMax = 30 * 86_400_000
export const rightAddressesMax = 30_000
/** Names and addresses of which failures are remembered. */
export const throttledKeysMax = 30_000
/** Of an Authorization header, a cookie. */
export const credentialCharactersMax = 8_192
/** How often a process looks whether somebody has lost a right. */
export const revisionIntervalMs = 300
/** How often a process looks whether classes or roles have changed, so that roles do not agree with classes any more. */
export const roleCheckIntervalMs = 2_000
/** For how long callers who are known go on while the security database cannot be read; nobody else is let in meanwhile. */
export const unreadableSecurityMsMax = 5_000
/** Callers of each kind that a process remembers. */
export const rememberedCallersMax = 20_000
/** Ids of tokens that the security database did not have are not looked for again for so long; so many are remembered. */
export const unknownTokenMsMax = 10_000
export const unknownTokensMax = 10_000
/** How often it is looked whether a backup is due, at most and at least. */
export const betweenBackupLooksMs = 30_000
export const betweenBackupLooksMsMin = 1_000
/** When a token or a session was used last is written no more often. */
export const lastUseMsMin = 60_000
/** A session ends after so long without a request, and after so long in any case. */
export const sessionIdleMsMax = 3_600_000
export const sessionMsMax = 12 * 3_600_000
/** Of one user; the oldest ends when there is another one. */
export const sessionsPerUserMax = 100
/** What is told of a role that does not agree with the classes that there are. */
export const roleProblemsMax = 100
/** Of one user. */
export const tokensPerUserMax = 1_000

export type Limits = ServerLimits & EngineLimits
