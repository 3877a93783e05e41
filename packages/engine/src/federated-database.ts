/** One federated database: every operation of the interface as a method. */

import { type AccessPolicy, accessActions, type Grant, isUnrestricted } from './access/access-policy.ts'
import type { GrantProblem } from './access/grant-problems.ts'
import { Callers } from './access/restricted-database.ts'
import { BackgroundWork } from './background-work.ts'
import { type BackupOptions, type BackupReport, backUpStore } from './backup/write-backup.ts'
import { type MemoryHolder, MemoryPool } from './budget/memory-pool.ts'
import { RequestMemory } from './budget/request-memory.ts'
import { catalogVersionKey } from './bytes/key-space.ts'
import { type CallerDatabase, CallerOperations, observedResources, resourcesOn } from './caller-operations.ts'
import type { CancelSignal } from './cancel-signal.ts'
import { CatalogCache } from './catalog/catalog-cache.ts'
import { initializeCatalog } from './catalog/change-catalog.ts'
import { ChangeFeed } from './changes/change-feed.ts'
import { ChangeWaiters } from './changes/change-waiters.ts'
import type { ChangeFollowing } from './changes/following.ts'
import { LiveQuery } from './changes/live-query.ts'
import { LogRemoval, type LogSize } from './changes/log-removal.ts'
import { RestrictedRuns } from './changes/restricted-runs.ts'
import { Subscription } from './changes/subscription.ts'
import { type ChangeLogSetting, epochOf, isLogRequired, switchChangeLog } from './changes/switch-change-log.ts'
import type { OperationScope } from './database-operations.ts'
import { CatalogWriter } from './ddl/catalog-writer.ts'
import { DdlExecutor } from './ddl/ddl-executor.ts'
import { type DetailedStatistics, detailedStatistics } from './ddl/detailed-statistics.ts'
import { Heartbeat } from './ddl/heartbeat.ts'
import { IndexBuilds } from './ddl/index-builds.ts'
import { Recovery } from './ddl/recovery.ts'
import { type UpgradeOptions, type UpgradeProgress, upgradeObjects } from './ddl/upgrade-objects.ts'
import { type ValidatedConstraints, type ValidateOptions, validateConstraints } from './ddl/validate-constraints.ts'
import { CompiledExpressions } from './expressions/object-expressions.ts'
import { defaultEngineLimits, type EngineLimits } from './limits.ts'
import { fetchFew, isExpectedLarge } from './objects/long-records.ts'
import { type Dialect, dialectDefault } from './query/language/dialect.ts'
import { PlanCache } from './query/plan-cache.ts'
import { newQueryCounts, type QueryCounts } from './query/query-counts.ts'
import type { QueryReply, QueryRequest } from './query/query-request.ts'
import type { QueryResources } from './query/query-resources.ts'
import { lookUp, runQuery } from './query/run-query.ts'
import { type User, userValue } from './query/values/user.ts'
import { type RebuildOptions, type RebuildSource, rebuild } from './rebuild/rebuild.ts'
import { Receipts } from './receipts/receipt.ts'
import { ReceiptRemoval } from './receipts/receipt-removal.ts'
import type { ReplyBudget } from './receipts/reply-budget.ts'
import { ContainerRegistry } from './records/container-registry.ts'
import { objectKey } from './records/object-key.ts'
import type { Catalog } from './schema/catalog.ts'
import { type ListedSequence, listSequences } from './sequences/list-sequences.ts'
import { Sequences } from './sequences/sequences.ts'
import { TemporarySpace } from './spill/temporary-space.ts'
import { refuseUnfinishedCopy } from './storage/copy-claim.ts'
import {
  claimFormat,
  decodeFormatVersion,
  formatChanged,
  formatOf,
  guardFormat,
  migrateStore,
  type StorageFormat,
  storageFormat,
} from './storage/storage-format.ts'
import { type CommitCounts, newCommitCounts } from './store/commit-counts.ts'
import { watchSnapshotAges } from './store/snapshot-ages.ts'
import type { Awaitable, Bytes, Snapshot, SnapshotOptions, Store } from './store/store.ts'
import { tracedStore } from './store/traced-store.ts'
import { withSnapshot } from './store/with-snapshot.ts'
import { threadProgram } from './threads/program.ts'
import { runInSlice } from './threads/run-in-slice.ts'
import { StatementThreads } from './threads/statement-threads.ts'
import { type Isolation, isolationDefault } from './transaction/isolation.ts'
import { openStoreSession, type StoreSession } from './transaction/store-session.ts'
import type { Oid } from './types/oid.ts'
import { verifyContent } from './verify/check-store.ts'
import { nameEntry } from './verify/name-entry.ts'
import type { VerifyOptions, VerifyReport } from './verify/verify.ts'
import type { WorkSpans } from './work-spans.ts'
import { type ChangeOptions, changeObjects } from './write/change-objects.ts'
import type { ChangeListener } from './write/change-set.ts'
import type { MainThread, OpenDatabase } from './write/open-database.ts'
import type { UnitOfWork } from './write/unit-of-work.ts'

export interface OpenOptions {
  readonly alias: string
  /** Owned by the federated database, and closed with it. */
  readonly store: Store
  readonly limits?: Partial<EngineLimits>
  /** The default dialect of queries; `ashlar` if omitted. */
  readonly dialect?: Dialect
  /** The default isolation of texts and transactions; `serializable` if omitted. */
  readonly isolation?: Isolation | undefined
  /** Memory shared by the statements of all federated databases of a process; by default separate. */
  readonly memory?: MemoryPool
  /** Where statements spill to disk; by default the temporary directory of the operating system. */
  readonly temporary?: TemporarySpace
  /** The base directory of IMPORT CSV; without it, IMPORT CSV is refused. */
  readonly importDir?: string
  /** Called once, with a sentence for the operator, after a migration to an unsupported format: every operation then throws StoreUnavailable. */
  readonly onFormatChanged?: (message: string) => void
  /** Overridden only in tests of migrations. */
  readonly format?: StorageFormat
  /** Called with background failures, which no request can report; by default they are unhandled rejections. */
  readonly onFault?: (error: unknown) => void
  /** Whether commits are logged for followers of changes: see `changes/switch-change-log.ts`. */
  readonly changeLog?: ChangeLogSetting | undefined
  readonly spans?: WorkSpans | undefined
  /** Called after each commit of this process that changed objects, links or classes; its errors are background faults. */
  readonly onChanges?: ChangeListener
  /** The program of statement threads, which must call `serveStatementThread`; by default that of the engine. */
  readonly threadProgram?: URL
}

interface ThreadParts {
  readonly mainThread: MainThread
  readonly replies: ReplyBudget
}

export interface Statistics {
  readonly classes: number
  readonly indexes: number
  readonly storeEntries: number
  readonly storeBytes: number
}

/** Counters and gauges of one process. */
export interface DatabaseCounts {
  readonly commits: Readonly<CommitCounts>
  /** Plans of statements and expressions found in the cache, and plans made. */
  readonly plansReused: number
  readonly plansMade: number
  readonly queries: Readonly<QueryCounts>
  readonly indexBuilds: number
  readonly oldestSnapshotMs: number
  /** Bytes held by requests of the memory pool, which several federated databases may share. */
  readonly memoryBytes: number
  readonly statementThreads: number
}

const reading: SnapshotOptions = { isolation: 'readOnly', mayShare: true }

class RequestScope implements OperationScope {
  readonly database: OpenDatabase
  readonly schema: DdlExecutor
  readonly between = undefined
  readonly resources: QueryResources

  constructor(resources: QueryResources) {
    this.database = resources.database
    this.schema = resources.ddl
    this.resources = resources
  }

  /** Runs DO statements. Throws QuerySyntaxError, QueryError, LimitExceeded, and errors of changes. */
  query(request: QueryRequest): Awaitable<QueryReply> {
    const { resources } = this
    if (resources.threads === undefined) return runQuery(request, resources)
    return (
      lookUp(request, resources) ?? runInSlice(request, resources.threads, resources, (one) => runQuery(one, resources))
    )
  }

  change<T>(body: (unit: UnitOfWork) => Promise<T>, options: ChangeOptions = {}): Promise<T> {
    return changeObjects(this.database, body, options)
  }

  /** Synchronous if the store answers synchronously. */
  readAt<T>(read: (snapshot: Snapshot, catalog: Catalog) => Awaitable<T>, oid?: Oid): Awaitable<T> {
    const { store, catalogs } = this.database
    const readAt = (snapshot: Snapshot): Awaitable<T> => {
      const catalog = catalogs.at(snapshot)
      return catalog instanceof Promise ? catalog.then((loaded) => read(snapshot, loaded)) : read(snapshot, catalog)
    }
    if (oid === undefined || store.capabilities.hasSynchronousReads) return withSnapshot(store, readAt, reading)
    const fetch = (): Awaitable<T> => {
      return withSnapshot(store, readAt, { ...reading, prefetchKeys: [catalogVersionKey, objectKey(oid)] })
    }
    return catalogs.latest !== undefined && isExpectedLarge(catalogs.latest, oid) ? fetchFew(fetch) : fetch()
  }

  async withMemory<T>(use: (memory: RequestMemory) => Promise<T>): Promise<T> {
    const memory = new RequestMemory(this.database.memory, this.database.limits)
    try {
      return await use(memory)
    } finally {
      memory.release()
    }
  }
}

const requestScope = (resources: QueryResources): OperationScope => new RequestScope(resources)

export class FederatedDatabase extends CallerOperations {
  readonly alias: string
  readonly store: Store
  /** The storage format: when the store was opened (undefined if it was created), and now. */
  readonly format: { readonly found: number | undefined; readonly present: number }
  private readonly database: OpenDatabase
  private readonly threads: StatementThreads | undefined
  private readonly callers: Callers
  private readonly databases = new WeakMap<AccessPolicy, CallerDatabase>()
  private readonly views = new WeakMap<User, FederatedDatabase>()
  private readonly heartbeat: Heartbeat
  private readonly builds: IndexBuilds
  private readonly recovery: Recovery
  private readonly background: readonly BackgroundWork[]
  readonly changes: ChangeFeed
  readonly waiters: ChangeWaiters
  private readonly logRemoval: LogRemoval
  private readonly snapshotAges: NodeJS.Timeout

  private constructor(
    options: OpenOptions,
    session: StoreSession,
    format: FederatedDatabase['format'],
    thread?: ThreadParts,
  ) {
    const { alias, store, onFault = rethrow, memory = new MemoryPool(), temporary = new TemporarySpace() } = options
    const { dialect = dialectDefault, isolation = isolationDefault, importDir: importDirectory } = options
    const limits = { ...defaultEngineLimits, ...options.limits }
    const catalogs = new CatalogCache(formatCheck(options))
    const containers = new ContainerRegistry(store, session.number)
    const receipts = new Receipts(limits, thread?.replies)
    const database = {
      expressions: new CompiledExpressions(memory, limits),
      store,
      session,
      limits,
      isolation,
      catalogs,
      containers,
      sequences: thread?.mainThread ?? new Sequences(store, catalogs, limits),
      receipts,
      memory,
      temporary,
      onChanges: listenerOf(options),
      onCommitted: () => this.waiters.wake(),
      onFault,
      mainThread: thread?.mainThread,
    }
    const writer = new CatalogWriter(database)
    const heartbeat = new Heartbeat(store, session.number, limits.heartbeatIntervalMs)
    const builds = new IndexBuilds(database, writer, heartbeat)
    const ddl = new DdlExecutor(database, writer, builds, heartbeat)
    const counts = newQueryCounts()
    const { threadProgram: program = threadProgram } = options
    const threadOptions = { alias, dialect, isolation, importDirectory, program }
    const threads = thread === undefined ? threadsFor(threadOptions, { ...database, counts, writer }) : undefined
    const resources = {
      database,
      ddl,
      writer,
      plans: new PlanCache(options.spans),
      spans: options.spans,
      counts,
      dialect,
      importDirectory,
      threads,
    }
    super(resources, requestScope)
    this.alias = alias
    this.format = format
    this.store = store
    this.database = database
    this.threads = threads
    this.callers = new Callers(resources)
    this.heartbeat = heartbeat
    this.builds = builds
    this.recovery = new Recovery(database, writer, builds, heartbeat)
    this.changes = new ChangeFeed(database)
    this.waiters = new ChangeWaiters(() => this.changes.lastNumber(), limits.changePollMs, onFault)
    this.logRemoval = new LogRemoval(store, catalogs, limits)
    const receiptRemoval = new ReceiptRemoval(store, limits.receiptMs, onFault)
    const removeLog = (signal: AbortSignal): Promise<void> => this.logRemoval.runRound(Date.now(), signal)
    this.background = [
      new BackgroundWork(removeLog, limits.changeLogRemovalMs, onFault),
      new BackgroundWork((signal) => receiptRemoval.removeExpired(signal), limits.receiptRemovalMs, onFault),
    ]
    this.snapshotAges = watchSnapshotAges(store, limits)
    store.nameEntriesBy?.((key) => nameEntry(store, catalogs.latest, key))
  }

  /** Throws an `Error` for the operator if the store has another format or is an unfinished copy. */
  static async open(options: OpenOptions): Promise<FederatedDatabase> {
    const format = options.format ?? storageFormat
    const found = await formatOf(options.store)
    const claim = () => claimFormat(options.store, format)
    await claim()
    await refuseUnfinishedCopy(options.store)
    const session = await openStoreSession(options.store, claim)
    await migrateStore(options.store, format, () => session.nextCommitId())
    const store = tracedStore(guardFormat(options.store, format.version), options.spans)
    await initializeCatalog(store, session)
    const fd = new FederatedDatabase({ ...options, store }, session, { found, present: format.version })
    await fd.switchChangeLog(options.changeLog)
    await fd.recovery.start()
    for (const work of fd.background) work.start()
    return fd
  }

  /** Opens the database in a worker thread. The store reports commits to the main thread, which does all background work. */
  static async openInThread(options: OpenOptions, thread: ThreadParts): Promise<FederatedDatabase> {
    const format = storageFormat
    const session = await openStoreSession(options.store, () => claimFormat(options.store, format))
    const store = guardFormat(options.store, format.version)
    return new FederatedDatabase(
      { ...options, store },
      session,
      { found: format.version, present: format.version },
      thread,
    )
  }

  /** Throws an `Error` for the operator if the store does not support the requested change log. */
  private async switchChangeLog(setting: ChangeLogSetting | undefined): Promise<void> {
    const epoch = await this.scope.readAt((_snapshot, catalog) => epochOf(catalog))
    const isRequired = isLogRequired(setting, epoch, this.store.capabilities)
    if (isRequired !== epoch > 0) await switchChangeLog(this.resources.writer, isRequired, Date.now())
  }

  /** The same database for requests of an unrestricted caller, which is `$$USER` in expressions of the schema. */
  usedBy(user: User): FederatedDatabase {
    let view = this.views.get(user)
    if (view === undefined) {
      const policy: AccessPolicy = { user, grants: [{ on: { kind: 'all' }, actions: accessActions }] }
      const threads = this.threads?.as(policy)
      view = this.viewOf(resourcesOn({ ...this.database, user: userValue(user) }, { ...this.resources, threads }))
      this.views.set(user, view)
    }
    return view
  }

  override observedBy(listener: ChangeListener): FederatedDatabase {
    return this.viewOf(observedResources(this.resources, listener))
  }

  private viewOf(resources: QueryResources): FederatedDatabase {
    const { database } = resources
    // Everything that is not specific to requests is shared.
    return Object.assign(Object.create(this) as FederatedDatabase, {
      database,
      resources,
      scope: requestScope(resources),
    })
  }

  get limits(): EngineLimits {
    return this.database.limits
  }

  get dialect(): Dialect {
    return this.resources.dialect
  }

  get isolation(): Isolation {
    return this.database.isolation
  }

  /** A query whose result is followed; the caller must begin it, and finally end it. Unrestricted. */
  liveQuery(request: QueryRequest): LiveQuery {
    return new LiveQuery(request, this.resources, this.changes)
  }

  /** The changes visible to a caller (contract 9.4.14); all of them without a policy. */
  following(policy?: AccessPolicy): ChangeFollowing {
    const { waiters } = this
    if (policy === undefined || isUnrestricted(policy))
      return { changes: this.changes, waiters, liveQuery: (request) => this.liveQuery(request) }
    const follower = { accesses: this.callers.accessesFor(policy), user: userValue(policy.user) }
    return {
      changes: new ChangeFeed(this.database, follower),
      waiters,
      liveQuery: (request) => new LiveQuery(request, this.resources, this.changes, new RestrictedRuns(follower)),
    }
  }

  /** A named subscription to changes, stored so that any process can continue it. */
  subscription(name: string): Subscription {
    return new Subscription(this.store, this.database.session.number, name)
  }

  /** Reserves memory for a reply until the returned function is called. Throws ServerBusy, and the errors of the holder. */
  reserveMemory(bytes: number, holder?: MemoryHolder): () => void {
    const { memory } = this.database
    memory.take(bytes, this.limits.statementsBytesMax, holder)
    return () => memory.giveBack(bytes, holder)
  }

  /**
   * The operations for one caller, without data hidden by the policy (contract 9.4). The calling program authenticates the caller and
   * enforces other permissions. Cached by policy; policies are immutable.
   */
  as(policy: AccessPolicy): CallerDatabase {
    let database = this.databases.get(policy)
    if (database === undefined) {
      database = this.databaseFor(policy)
      this.databases.set(policy, database)
    }
    return database
  }

  private databaseFor(policy: AccessPolicy): CallerDatabase {
    const user = userValue(policy.user)
    const resources = { ...this.resources, user, threads: this.threads?.as(policy) }
    if (isUnrestricted(policy)) {
      return new CallerOperations(resourcesOn({ ...this.database, user }, resources), requestScope)
    }
    const { restriction, catalogs, scopeOf } = this.callers.caller(policy, user)
    // Grants on classes do not extend to files of the server.
    const own = resourcesOn(
      { ...this.database, catalogs, restriction, user },
      { ...resources, importDirectory: undefined },
    )
    return new CallerOperations(own, scopeOf)
  }

  /** Reports names in grants that do not exist and therefore have no effect; undefined if no grant concerns classes. */
  grantProblems(grants: readonly Grant[]): Promise<GrantProblem[] | undefined> {
    return this.callers.grantProblems(grants)
  }

  /** Changes with every schema change of any process. */
  async schemaVersion(): Promise<string> {
    return this.scope.readAt((_snapshot, { version }) => Buffer.from(version).toString('hex'))
  }

  /** With their next numbers, in order of creation. */
  async listSequences(): Promise<readonly ListedSequence[]> {
    return this.scope.readAt((snapshot, catalog) => listSequences(catalog, snapshot))
  }

  /** Checks that index entries match objects, that links match their mirrors, and vice versa. */
  async verify(options: VerifyOptions = {}): Promise<VerifyReport> {
    await this.resources.writer.drain()
    return verifyContent(this.store, async (snapshot) => await this.database.catalogs.at(snapshot), {
      checks: this.database.expressions,
      ...options,
    })
  }

  /** Backs up a snapshot, or the changes since another backup, during normal operation. Throws like `backUpStore`. */
  backUp(path: string, options: BackupOptions = {}): Promise<BackupReport> {
    return backUpStore(this.store, path, options)
  }

  /**
   * Fills an empty federated database with classes, objects, links and indexes of another, keeping numbers and OIDs. Not atomic: a failure leaves a
   * partial database. Throws the errors of `rebuild` and `createIndex`.
   */
  async rebuild(source: RebuildSource, options: RebuildOptions = {}): Promise<void> {
    const { database, writer } = this.resources
    await rebuild(database, writer, source, options)
    for (const index of source.indexes) {
      options.signal?.throwIfAborted()
      await this.createIndex(index, options.signal && { signal: options.signal })
    }
  }

  /** Rewrites objects stored in an earlier shape, in batches; resumable. Returns the numbers of objects examined and rewritten. */
  upgradeObjects(options: UpgradeOptions = {}): Promise<UpgradeProgress> {
    return upgradeObjects(this.database, options)
  }

  /** Checks stored objects against unvalidated constraints; satisfied ones become validated. Throws ObjectsViolateConstraint, signal's reason. */
  validateConstraints(options: ValidateOptions = {}): Promise<ValidatedConstraints> {
    return validateConstraints(this.database, this.resources.writer, options)
  }

  /** Reads everything: objects and bytes by class, and index sizes. */
  async detailedStatistics(options: { readonly signal?: CancelSignal } = {}): Promise<DetailedStatistics> {
    const read = async (snapshot: Snapshot): Promise<DetailedStatistics> =>
      detailedStatistics(snapshot, await this.database.catalogs.at(snapshot), options.signal)
    return withSnapshot(this.store, read, { isolation: 'readOnly', isLong: true })
  }

  async statistics(): Promise<Statistics> {
    const stats = await this.store.stats()
    const counts = await this.scope.readAt((_snapshot, { classes, indexes }) => {
      return { classes: classes.length, indexes: indexes.length }
    })
    return { ...counts, storeEntries: stats.entries, storeBytes: stats.bytes }
  }

  /** The size last measured by this process; undefined before that, and without a log. */
  changeLogSize(): LogSize | undefined {
    return this.logRemoval.size
  }

  /** Counters of this process since opening, and current gauges. Synchronous, without reads. */
  counts(): DatabaseCounts {
    const { store, resources, builds, database } = this
    return {
      commits: store.counts ?? newCommitCounts(),
      plansReused: resources.plans.reused,
      plansMade: resources.plans.made,
      queries: resources.counts,
      indexBuilds: builds.count,
      oldestSnapshotMs: store.oldestSnapshotMs?.() ?? 0,
      memoryBytes: database.memory.bytes,
      statementThreads: this.threads?.size ?? 0,
    }
  }

  /** Ends background work, waits for changes in progress, and closes the store. Throws like `Store.close`. */
  async close(): Promise<void> {
    clearInterval(this.snapshotAges)
    await this.threads?.close()
    this.waiters.stop()
    await Promise.all(this.background.map((work) => work.stop()))
    await this.recovery.stop()
    await this.resources.ddl.stop()
    await this.builds.stop()
    await this.resources.writer.drain()
    await this.heartbeat.end()
    await this.store.close()
  }
}

/** Undefined for a store that other threads cannot read. */
function threadsFor(
  ...[options, database]: ConstructorParameters<typeof StatementThreads>
): StatementThreads | undefined {
  if (database.store.threadAddress === undefined || database.limits.statementThreadsMax === 0) return undefined
  return new StatementThreads(options, database)
}

/** An error of the listener does not affect the commit. */
function listenerOf({
  onChanges,
  onFault = rethrow,
}: Pick<OpenOptions, 'onChanges' | 'onFault'>): ChangeListener | undefined {
  if (onChanges === undefined) return undefined
  return (changes) => {
    try {
      onChanges(changes)
    } catch (error) {
      onFault(error)
    }
  }
}

/** Notifies the operator once. */
function formatCheck({ format = storageFormat, onFormatChanged }: OpenOptions): (stored?: Bytes) => void {
  let isReported = false
  return (stored) => {
    const found = stored && decodeFormatVersion(stored)
    if (found === format.version) return
    const error = formatChanged(found, format.version)
    if (!isReported) onFormatChanged?.(error.message)
    isReported = true
    throw error
  }
}

function rethrow(error: unknown): void {
  queueMicrotask(() => {
    throw error
  })
}
