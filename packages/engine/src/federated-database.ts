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
import type { Following } from './changes/following.ts'
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
import { fetchFew, isKnownToBeLarge } from './objects/long-records.ts'
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
  /** Belongs to the federated database from here on, and is closed with it. */
  readonly store: Store
  readonly limits?: Partial<EngineLimits>
  /** Of queries that ask for none; `ashlar` where it is left out. */
  readonly dialect?: Dialect
  /** Of texts and transactions that ask for none; `serializable` if it is left out. */
  readonly isolation?: Isolation | undefined
  /** What the statements of all federated databases of a process hold together; without one, those of this one. */
  readonly memory?: MemoryPool
  /** Where they sort, group and join beyond that; without one, in the operating system's directory of temporary files. */
  readonly temporary?: TemporarySpace
  /** The directory below which IMPORT CSV may read; without one it is refused. */
  readonly importDir?: string
  /**
   * Told once, in a sentence for the operator, when another process has brought the store to a format that this one does not
   * read: every operation throws StoreUnavailable from then on.
   */
  readonly onFormatChanged?: (message: string) => void
  /** Another than the present one in tests of migrations only. */
  readonly format?: StorageFormat
  /** Told what fails in the background, where no request could be; without it such a failure is thrown as unhandled. */
  readonly onFault?: (error: unknown) => void
  /** Whether commits are logged, for who follows the changes: see `changes/switch-change-log.ts`. */
  readonly changeLog?: ChangeLogSetting | undefined
  /** Told of parts of the work of requests; without it nothing is done for traces. */
  readonly spans?: WorkSpans | undefined
  /** Called after each commit of this process that has changed objects, links or classes; what it throws is a fault of the background. */
  readonly onChanges?: ChangeListener
  /** The program of statement threads, which calls `serveStatementThread`; that of the engine if it is left out. */
  readonly threadProgram?: URL
}

/** Of a database that is opened in a statement thread. */
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

/** Plain numbers of one process. */
export interface Counts {
  readonly commits: Readonly<CommitCounts>
  /** Plans of statements and expressions that were there already, and those that were made. */
  readonly plansReused: number
  readonly plansMade: number
  readonly queries: Readonly<QueryCounts>
  /** Indexes that are built in the background. */
  readonly indexBuilds: number
  readonly oldestSnapshotMs: number
  /** What the requests of the memory pool hold, which several federated databases may share. */
  readonly heldBytes: number
  /** Threads for statements that take long. */
  readonly statementThreads: number
}

/** For what a client reads, and nothing else. */
const reading: SnapshotOptions = { isolation: 'readOnly', mayShare: true }

/** Each operation is a request of its own. */
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

  /** Statements of DO. Throws QuerySyntaxError, QueryError, LimitExceeded, and what changes throw. */
  query(request: QueryRequest): Awaitable<QueryReply> {
    const { resources } = this
    if (resources.threads === undefined) return runQuery(request, resources)
    return (
      lookUp(request, resources) ??
      runInSlice(request, resources.threads, resources, (asked) => runQuery(asked, resources))
    )
  }

  change<T>(body: (unit: UnitOfWork) => Promise<T>, options: ChangeOptions = {}): Promise<T> {
    return changeObjects(this.database, body, options)
  }

  /** At once where the store answers at once. */
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
    return catalogs.latest !== undefined && isKnownToBeLarge(catalogs.latest, oid) ? fetchFew(fetch) : fetch()
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
  /** The format of the store: when it was opened (undefined if it was created then), and now. */
  readonly format: { readonly found: number | undefined; readonly present: number }
  private readonly database: OpenDatabase
  private readonly threads: StatementThreads | undefined
  private readonly callers: Callers
  /** Of callers, by their policies. */
  private readonly databases = new WeakMap<AccessPolicy, CallerDatabase>()
  private readonly views = new WeakMap<User, FederatedDatabase>()
  private readonly heartbeat: Heartbeat
  private readonly builds: IndexBuilds
  private readonly recovery: Recovery
  private readonly background: readonly BackgroundWork[]
  /** What was changed, as it is logged: of all callers and processes. */
  readonly changes: ChangeFeed
  /** For what comes after a page of changes. */
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
    this.waiters = new ChangeWaiters(() => this.changes.lastNumber(), limits.changeLookMs, onFault)
    this.logRemoval = new LogRemoval(store, catalogs, limits)
    const receiptRemoval = new ReceiptRemoval(store, limits.receiptMs, onFault)
    const removeLog = (signal: AbortSignal): Promise<void> => this.logRemoval.look(Date.now(), signal)
    this.background = [
      new BackgroundWork(removeLog, limits.changeLogRemovalMs, onFault),
      new BackgroundWork((signal) => receiptRemoval.look(signal), limits.receiptRemovalMs, onFault),
    ]
    this.snapshotAges = watchSnapshotAges(store, limits)
    store.nameEntriesBy?.((key) => nameEntry(store, catalogs.latest, key))
  }

  /** Throws an `Error` for the operator where the store is of another format, or an unfinished copy. */
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

  /**
   * The same federated database in a worker thread, while the main thread has it open. The store passes commits on to the main thread, which does all that is
   * done in the background.
   */
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

  /** Throws an `Error` for the operator where the store cannot have the change log that it is to have. */
  private async switchChangeLog(setting: ChangeLogSetting | undefined): Promise<void> {
    const epoch = await this.scope.readAt((_snapshot, catalog) => epochOf(catalog))
    const isWanted = isLogRequired(setting, epoch, this.store.capabilities)
    if (isWanted !== epoch > 0) await switchChangeLog(this.resources.writer, isWanted, Date.now())
  }

  /** The same for requests of a caller that may do everything, whom the expressions of the schema see as `$$USER`. */
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
    // Whatever is not of one request is that of the federated database itself.
    return Object.assign(Object.create(this) as FederatedDatabase, {
      database,
      resources,
      scope: requestScope(resources),
    })
  }

  get limits(): EngineLimits {
    return this.database.limits
  }

  /** Of queries that ask for none. */
  get dialect(): Dialect {
    return this.resources.dialect
  }

  /** Of texts and transactions that ask for none. */
  get isolation(): Isolation {
    return this.database.isolation
  }

  /** A query whose result is followed; to be begun and, at last, ended. It is of the whole federated database: no policy is asked. */
  liveQuery(request: QueryRequest): LiveQuery {
    return new LiveQuery(request, this.resources, this.changes)
  }

  /** What a caller follows, for whom what the policy hides does not exist (contract 9.4.14); all without one. */
  following(policy?: AccessPolicy): Following {
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

  /** To the changes, under a name of the caller's: kept in the store, whichever process works for it. */
  subscription(name: string): Subscription {
    return new Subscription(this.store, this.database.session.number, name)
  }

  /** For a reply of so many bytes, until the returned function is called. Throws ServerBusy, and what the holder throws. */
  reserveMemory(bytes: number, holder?: MemoryHolder): () => void {
    const { memory } = this.database
    memory.take(bytes, this.limits.statementsBytesMax, holder)
    return () => memory.giveBack(bytes, holder)
  }

  /**
   * The operations for one caller, for whom what the policy hides does not exist (contract 9.4). Whoever calls it checks who the caller is, and
   * what else it may do. Made once for a policy, which does not change.
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
    // What a role says of classes says nothing of the files of the server.
    const own = resourcesOn(
      { ...this.database, catalogs, restriction, user },
      { ...resources, importDirectory: undefined },
    )
    return new CallerOperations(own, scopeOf)
  }

  /** What in grants allows or hides nothing, since what they name is not there; undefined where none of them is about any class. */
  grantProblems(grants: readonly Grant[]): Promise<GrantProblem[] | undefined> {
    return this.callers.grantProblems(grants)
  }

  /** Another one after each change of the schema, by whichever process. */
  async schemaVersion(): Promise<string> {
    return this.scope.readAt((_snapshot, { version }) => Buffer.from(version).toString('hex'))
  }

  /** With their next numbers, in the order in which they were made. */
  async listSequences(): Promise<readonly ListedSequence[]> {
    return this.scope.readAt((snapshot, catalog) => listSequences(catalog, snapshot))
  }

  /** Checks that every index entry has its object, every link its mirror, and the reverse. */
  async verify(options: VerifyOptions = {}): Promise<VerifyReport> {
    await this.resources.writer.drain()
    return verifyContent(this.store, async (snapshot) => await this.database.catalogs.at(snapshot), {
      checks: this.database.expressions,
      ...options,
    })
  }

  /** Of one snapshot, or of what was changed since another backup, while others go on working. Throws as `backUpStore`. */
  backUp(path: string, options: BackupOptions = {}): Promise<BackupReport> {
    return backUpStore(this.store, path, options)
  }

  /**
   * An empty federated database gets classes with their numbers, objects with their OIDs, links in their order and indexes. Not one commit:
   * what fails on the way leaves the beginning. Throws what `rebuild` and `createIndex` throw.
   */
  async rebuild(source: RebuildSource, options: RebuildOptions = {}): Promise<void> {
    const { database, writer } = this.resources
    await rebuild(database, writer, source, options)
    for (const index of source.indexes) {
      options.signal?.throwIfAborted()
      await this.createIndex(index, options.signal && { signal: options.signal })
    }
  }

  /**
   * Rewrites objects that are stored in an earlier shape, in batches, while others go on working. Stopped by the
   * signal, it goes on next time. Returns how many it looked at and rewrote. Throws the signal's reason.
   */
  upgradeObjects(options: UpgradeOptions = {}): Promise<UpgradeProgress> {
    return upgradeObjects(this.database, options)
  }

  /**
   * Holds stored objects against the constraints that are not validated yet, and settles those that all satisfy. Throws
   * ObjectsViolateConstraint, and the signal's reason.
   */
  validateConstraints(options: ValidateOptions = {}): Promise<ValidatedConstraints> {
    return validateConstraints(this.database, this.resources.writer, options)
  }

  /** Reads everything: objects and bytes by class, and the sizes of indexes. */
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

  /** As this process has measured it last; undefined before that, and without a log. */
  changeLogSize(): LogSize | undefined {
    return this.logRemoval.size
  }

  /** What this process has done since it was opened, and holds, at once and without reading. */
  counts(): Counts {
    const { store, resources, builds, database } = this
    return {
      commits: store.counts ?? newCommitCounts(),
      plansReused: resources.plans.reused,
      plansMade: resources.plans.made,
      queries: resources.counts,
      indexBuilds: builds.count,
      oldestSnapshotMs: store.oldestSnapshotMs?.() ?? 0,
      heldBytes: database.memory.bytes,
      statementThreads: this.threads?.size ?? 0,
    }
  }

  /** Ends work in the background, waits for changes under way, and closes the store; throws what `Store.close` does. */
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

/** None for a store that only this thread can read. */
function threadsFor(
  ...[options, database]: ConstructorParameters<typeof StatementThreads>
): StatementThreads | undefined {
  if (database.store.threadAddress === undefined || database.limits.statementThreadsMax === 0) return undefined
  return new StatementThreads(options, database)
}

/** A commit that is made stays made, whatever the listener throws. */
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

/** Told to the operator the first time. */
function formatCheck({ format = storageFormat, onFormatChanged }: OpenOptions): (stored?: Bytes) => void {
  let isTold = false
  return (stored) => {
    const found = stored && decodeFormatVersion(stored)
    if (found === format.version) return
    const error = formatChanged(found, format.version)
    if (!isTold) onFormatChanged?.(error.message)
    isTold = true
    throw error
  }
}

function rethrow(error: unknown): void {
  queueMicrotask(() => {
    throw error
  })
}
