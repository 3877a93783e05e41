/** Every number that bounds something in the server, with its unit in its name (contract 1.5). */
import type { EngineLimits } from '@ashlar/engine'

export const defaultServerLimits = {
  /** Size of a request body, after decompression. */
  bodyBytesMax: 32 * 2 ** 20,
  /** Nesting depth of arrays and objects in a JSON body. */
  jsonDepthMax: 64,
  /** Values in a JSON body: numbers, strings, literals, arrays, objects, and field names. */
  bodyValuesMax: 1_000_000,
  /** The same for a query, for a body that is one object to create or change, and for each object in an array of them. */
  objectValuesMax: 200_000,
  /** Length of one line of an NDJSON body (application/x-ndjson), after decompression. */
  lineBytesMax: 16 * 2 ** 20,
  /** Lines with an `id` in one bulk load. */
  bulkNamesMax: 1_000_000,
  /** Size of the request line and headers together. */
  requestHeaderBytesMax: 16 * 2 ** 10,
  /** Total size of the bodies of all requests in progress, per process, after decompression. */
  bodiesBytesMax: 256 * 2 ** 20,
  /** Total number of values in the JSON bodies of all requests in progress, per process. */
  bodiesValuesMax: 2_000_000,
  /** How long a body waits for room within `bodiesBytesMax` and `bodiesValuesMax`. */
  bodyWaitMsMax: 5_000,
  /** Time allowed for the headers of a request to arrive. */
  headersMsMax: 30_000,
  /** Time allowed for a request to arrive, including its body. For an NDJSON body it is the time between two lines; its total time is not limited. */
  requestMsMax: 300_000,
  /** Open connections per process. */
  connectionsMax: 10_000,
  /** Open connections per process from one client address. */
  connectionsPerAddressMax: 5_000,
  /** Rate limit: requests per second from one caller, per process. A caller is identified by its authentication, or else by its address; 0 = no limit. */
  callerRequestsPerSecondMax: 0,
  /**
   * Percentage of `statementsBytesMax`, less the memory held by requests of other callers, that the requests of one caller may hold, per process. A
   * single request of a caller is bounded only by the limits of a request. 100 = no limit.
   */
  memoryPercentPerCallerMax: 75,
  /** The same for the requests on one connection. */
  memoryPercentPerConnectionMax: 50,
  /** How long a client may read nothing of a reply that waits for it, before the reply is aborted. */
  replyStallMsMax: 30_000,
  /** If the data files grow by this much while a client reads nothing, its reply is aborted after a sixth of `replyStallMsMax`. */
  replyStallBytesMax: 48 * 2 ** 20,
  /** Statements that run concurrently, or whose replies are being read, per process. */
  statementsMax: 5,
  /** The same for one caller; unauthenticated callers are counted by address. */
  statementsPerCallerMax: 4,
  /** Statements queued to start, per process; and as many that have started and are queued to continue. */
  queuedStatementsMax: 100,
  /** The same for one caller. */
  queuedStatementsPerCallerMax: 75,
  /** Requests that follow changes, or wait for one (pages without `wait` do neither), per process. */
  changeFollowersMax: 256,
  /** The same for one caller. */
  changeFollowersPerCallerMax: 64,
  /** Idle time on a change stream after which a heartbeat is sent. */
  changeHeartbeatMs: 15_000,
  /** How often a user may change its own password within an hour, per process. */
  passwordChangesPerHourMax: 10,
  /** Timeout for the reply of a webhook receiver. */
  webhookTimeoutMs: 15_000,
  /** Delay before the first retry of a failed webhook delivery; each further delay is three times as long. */
  webhookRetryMsMin: 5_000,
  /** Longest delay between two retries of a webhook delivery. */
  webhookRetryMsMax: 3_600_000,
  /** Tool runs that continue in the background after their reply, per process. */
  backgroundRunsMax: 4,
  /** How long a statement is queued for one of the `statementsMax` slots. */
  statementQueueMsMax: 300,
  /** Duration from which a query is written to the slow-query log, with its plan; 0 = never. */
  slowQueryMs: 1_000,
  /** Time allowed for requests in progress to finish when the server shuts down. */
  stopMsMax: 10_000,
  /** Time allowed during shutdown for incomplete request bodies to arrive; after it their requests are refused. */
  stopBodyMsMax: 2_000,
  /** Size of an audit log file at which a new one is started. */
  auditFileBytesMax: 64 * 2 ** 20,
  /** Number of audit log files that are kept. */
  auditFilesMax: 10,
  /** Crashes of worker processes in native code within `workerCrashWindowMs` after which the server exits. */
  workerCrashesMax: 3,
  /** Period over which `workerCrashesMax` counts crashes. */
  workerCrashWindowMs: 600_000,
}

export type ServerLimits = Readonly<typeof defaultServerLimits>

/** Lines of a load that are committed together, and their bytes; five times as many while lines refer to later ones. */
export const bulkBatchLines = 2_000
export const bulkBatchBytes = 2 * 2 ** 20
/** How long an incomplete batch waits for further lines before it is committed. */
export const bulkIdleMs = 10
export const bulkOpenIdleMs = 2_000
/** How long a client may continue to send lines after a load has ended early: it may still be producing them. */
export const bulkLingerMsMax = 10_000
/** Bytes of unread replies of a load beyond which reading pauses. The replies of a million lines are smaller. */
export const bulkRepliesBytesMax = 16 * 2 ** 20
/** Size of the objects in one file of an archive, before compression; the last file may be smaller. */
export const archivePartBytes = 4 * 2 ** 20
/** Size of a file in an archive that is read, which is buffered as a whole: an object with very many links makes a long one. */
export const archiveFileBytesMax = 512 * 2 ** 20
/** Longest text of a statement in the list of running statements. */
export const listedTextCharactersMax = 1_000
/** Limits that 0 disables. Exceptions: without temporary files, statements are refused; the change log then has a size that follows from the data. */
export const limitsOffAtZero: readonly string[] = [
  'callerRequestsPerSecondMax',
  'changeLogBytesMax',
  'slowQueryMs',
  'statementDiskBytesMax',
  'statementSliceMs',
  'statementThreadsMax',
] satisfies (keyof Limits)[]
export const renamedLimits: Readonly<Record<string, keyof Limits>> = {
  statementsPerAddressMax: 'statementsPerCallerMax',
  queuedStatementsPerAddressMax: 'queuedStatementsPerCallerMax',
  changeFollowersPerAddressMax: 'changeFollowersPerCallerMax',
}
/** Callers counted per process within a second; with more, the counts are reset. */
export const countedCallersMax = 50_000
/** Bodies up to this size are not counted. */
export const smallBodyBytes = 65_536
/** Connections beyond the limits that still get an error reply; further ones are closed immediately. */
export const refusedConnectionsMax = 100
/**
 * Connections that the operating system queues before the server accepts them; the system may allow fewer (`net.core.somaxconn`). It drops further
 * ones, and clients retry after a second.
 */
export const unacceptedConnectionsMax = 4_096
/** Connections served per iteration of the event loop when none arrives. */
export const servedPerIterationMax = 12
/** Connections of each address served while more arrive, one per iteration. */
export const servedOnArrivalMax = 4
/** While connections arrive, one of the remaining connections is served every this many iterations. */
export const arrivalIterationsPerOther = 16
/** Unprocessed requests of one connection at which reading from it pauses. */
export const pipelinedMax = 64
/** A live query pauses for this multiple of its working time, so that a result that changes constantly uses only a part of the process. */
export const liveRestPerWork = 4
/** Size of a PROXY protocol header, which may contain more than addresses. */
export const proxyHeaderBytesMax = 4_096
/** Size of a number or a name in a JSON body. */
export const jsonWordBytesMax = 2 ** 23
/** Limits names in a JSON body that V8 hashes by length alone: it took minutes to distinguish thousands of names of one length. */
export const jsonLongNames = { bytes: 16_383, max: 8 } as const
/** Fields of an object in a JSON body, since its names are listed in one step: as many as `objectValuesMax` allows in a new object. */
export const jsonNamesMax = 100_000
/** Length of a parameter in the path of a URL. */
export const pathParameterCharactersMax = 4_096
/** How long an idle connection is kept for a last request while the server stops. */
export const idleConnectionMs = 100
/** How long a refused request may continue to send its body: after an immediate reset, its client might not get the reply. */
export const lingerMsMax = 1_000
/** How long a connection may be silent after its client has closed its side, until the client counts as disconnected. */
export const halfClosedMsMax = 2_000

/** Length of an `Authorization` header with a JWT. */
export const jwtCharactersMax = 8_192
/** Length of a claim that names a caller, or that rules can read. */
export const jwtClaimCharactersMax = 1_000
/** How long valid tokens are cached, and how many. */
export const jwtCachedMsMax = 60_000
export const jwtCachedMax = 10_000
/** Size of the key set of an issuer. */
export const jwksBytesMax = 2 ** 20
export const jwksFetchMsMax = 5_000
/** Intervals after which keys are read again: in general, and for an unknown key. */
export const jwksFreshMs = 600_000
export const jwksRepeatMs = 30_000
/** How long old keys are used if they cannot be read again. */
export const jwksStaleMsMax = 86_400_000
/** Time within which a line of the audit log is written. */
export const auditLineMsMax = 100
/** Size of the write buffer of the audit log. */
export const auditBufferBytesMax = 2 ** 20
/** Retry interval after a failure to write the audit log. */
export const auditRetryMs = 1_000
/** Refusals of unauthenticated callers: burst size of lines, and their rate; further refusals are only counted. */
export const auditedRefusalsMax = 100
export const auditedRefusalsPerSecond = 5
/** OIDs and classes named in a line of the audit log, which always has the number of objects. */
export const auditedOidsMax = 100
export const auditedClassesMax = 20
/** Entries of a page of the audit log. */
export const auditPageMax = 1_000
/** Lines of slow queries: burst size, and rate; further slow queries are only counted. */
export const slowQueryLinesMax = 10
export const slowQueryLinesPerSecond = 1
/** Characters of a slow query that are parsed for its line. */
export const slowQueryTextMax = 10_000
/** Statements of a slow query whose plans are logged. */
export const slowQueryPlansMax = 20
/** Timeout of a scrape for each store; late metrics are left out. */
export const metricsStoreMsMax = 1_000
/** How long a request may wait for a change. */
export const changeWaitMsMax = 60_000
export const webhookChangesMax = 1_000
/** Bytes read of a receiver's reply. */
export const webhookReplyBytesMax = 4_096
/** Interval at which a process checks whether to take over the webhooks of another one; and its maximum while many changes are made. */
export const webhookRestMs = 5_000
export const webhookPollMs = 200
export const certificatePollMs = 5_000
export const keepAliveMs = 72_000
/** Concurrent requests on one HTTP/2 connection. */
export const http2StreamsMax = 100
/** Header fields of an HTTP/2 request. */
export const http2HeaderPairsMax = 200
/** Memory of one HTTP/2 connection, in megabytes. */
export const http2SessionMegabytesMax = 10
/** Requests that an HTTP/2 connection may reset: burst size, and rate; beyond, the connection is closed. */
export const http2ResetsMax = 300
export const http2ResetsPerSecond = 30
/** PING and SETTINGS frames on one connection within `http2ControlWindowMs`; beyond, it is closed. */
export const http2ControlFramesMax = 2_000
export const http2ControlWindowMs = 10_000
/** Length of a password. */
export const passwordCharactersMin = 8
export const passwordCharactersMax = 256
/** Passwords hashed concurrently in one process: each takes 19 MiB and a thread. */
export const concurrentPasswordHashesMax = 2
/** Passwords queued for hashing: in each of the two queues, of one caller or address, and for how long. */
export const passwordHashesWaitingMax = 1_024
export const passwordHashesPerSharerMax = 32
export const passwordHashMsMax = 30_000
/** Correct passwords are cached to avoid hashing them again. */
export const cachedPasswordsMax = 10_000
export const cachedPasswordsMsMax = 300_000
/**
 * Wrong passwords within `windowMs`: of a user name from an address, of an address, of a user name. Beyond the last, `pairAfterNameMax`
 * applies to addresses without a successful sign-in of that name: otherwise, anyone could lock out a user by name.
 */
export const signInFailures = {
  pairMax: 10,
  addressMax: 100,
  nameMax: 1_000,
  pairAfterNameMax: 2,
  windowMs: 300_000,
}
/** How long an address counts as known after a successful sign-in, and for how many names. */
export const rightAddressMsMax = 30 * 86_400_000
export const rightAddressesMax = 30_000
/** Names and addresses whose failures are counted. */
export const throttledKeysMax = 30_000
/** Length of an Authorization header or a cookie. */
export const credentialCharactersMax = 8_192
/** Interval at which a process checks whether a caller has lost a permission. */
export const revisionIntervalMs = 300
/** Time for the last message of an aborted reply, for example of a caller who has lost a permission; with the interval, less than a second. */
export const endedReplyMsMax = 500
/** Interval at which a process checks whether roles match the classes. */
export const roleCheckIntervalMs = 2_000
/** How long authenticated callers stay valid while the security database cannot be read; other callers are refused meanwhile. */
export const unreadableSecurityMsMax = 5_000
/** Cached callers of each kind in a process. */
export const cachedCallersMax = 20_000
/** How long IDs of unknown tokens are cached, and how many. */
export const unknownTokenMsMax = 10_000
export const unknownTokensMax = 10_000
/** Minimum and maximum interval between checks for due backups. */
export const backupCheckIntervalMs = 30_000
export const backupCheckIntervalMsMin = 1_000
/** Minimum interval between writes of a token's or session's last use. */
export const lastUseMsMin = 60_000
/** Lifetime of a session without requests, and in any case. */
export const sessionIdleMsMax = 3_600_000
export const sessionMsMax = 12 * 3_600_000
/** Sessions of one user; a further one ends the oldest. */
export const sessionsPerUserMax = 100
/** Problems reported for a role that does not match the classes. */
export const roleProblemsMax = 100
export const tokensPerUserMax = 1_000
/** Nesting of objects and arrays from which an import infers classes: a server accepts no deeper nesting of embeddable classes. */
export const inferredDepthMax = 30
/** Attributes that an import infers, in all classes together. */
export const inferredAttributesMax = 10_000
/** Size of the temporary file to which an import copies standard input or a pipe, to read it twice. */
export const importSpoolBytesMax = 4 * 2 ** 30

export type Limits = ServerLimits & EngineLimits
