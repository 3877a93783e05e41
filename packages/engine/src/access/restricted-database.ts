/** Operations of the interface for a restricted caller: what its policy hides does not exist for it (decision 0026). */
import { RequestMemory } from '../budget/request-memory.ts'
import { catalogVersionKey } from '../bytes/key-space.ts'
import type { Catalogs } from '../catalog/catalog-cache.ts'
import type { OperationScope, SchemaExecutor } from '../database-operations.ts'
import { accessCachedPoliciesMax } from '../limits.ts'
import { effectOfQuery } from '../query/effects-of-text.ts'
import type { QueryReply, QueryRequest } from '../query/query-request.ts'
import type { QueryResources } from '../query/query-resources.ts'
import { runQuery } from '../query/run-query.ts'
import type { UserValue } from '../query/values/user.ts'
import { objectKey } from '../records/object-key.ts'
import type { Catalog } from '../schema/catalog.ts'
import { mapAwaitable } from '../store/awaitable.ts'
import type { Awaitable, Snapshot, SnapshotOptions, SnapshotWatch } from '../store/store.ts'
import { runYielding } from '../store/time-slice.ts'
import { withSnapshot } from '../store/with-snapshot.ts'
import { runInSlice } from '../threads/run-in-slice.ts'
import type { Oid } from '../types/oid.ts'
import type { Restriction } from '../write/change-guard.ts'
import { type ChangeOptions, changeObjects } from '../write/change-objects.ts'
import type { OpenDatabase } from '../write/open-database.ts'
import type { UnitOfWork } from '../write/unit-of-work.ts'
import { type AccessPolicy, type Grant, grantsId } from './access-policy.ts'
import { CatalogAccess, CatalogAccesses } from './catalog-access.ts'
import { type GrantProblem, grantProblems } from './grant-problems.ts'
import { AccessCache } from './kept-accesses.ts'
import { policyRestriction } from './policy-guard.ts'
import { preparedCatalogs, restrictedCatalogs, restrictedStore } from './restricted-store.ts'
import type { CallerContext } from './visibility.ts'

export interface RestrictedCaller {
  readonly restriction: Restriction
  /** For changes. */
  readonly catalogs: Catalogs
  /** `resources` must belong to a database with that restriction. */
  scopeOf(resources: QueryResources): OperationScope
}

/** Restricted callers of one federated database. */
export class Callers {
  private readonly resources: QueryResources
  /** Shared by all callers with the same grants, least recently used first. Plans are cached per catalog, which differs for other grants. */
  private readonly accesses = new Map<string, CatalogAccesses>()
  private readonly accessCache = new AccessCache()

  constructor(resources: QueryResources) {
    this.resources = resources
  }

  caller(policy: AccessPolicy, user: UserValue): RestrictedCaller {
    const { database } = this.resources
    const accesses = this.accessesFor(policy)
    const restriction = policyRestriction(database, accesses, { user, signal: undefined })
    const catalogs = preparedCatalogs(database.catalogs, accesses)
    return { restriction, catalogs, scopeOf: (resources) => new CallerScope(resources, accesses, user) }
  }

  /** Undefined where none of the grants applies to any class. */
  async grantProblems(grants: readonly Grant[]): Promise<GrantProblem[] | undefined> {
    const { store, catalogs, limits } = this.resources.database
    const catalog = await withSnapshot(store, (snapshot) => catalogs.at(snapshot))
    return runYielding(grantProblems(new CatalogAccess(catalog, grants, limits.statementTokensMax), grants))
  }

  /** Access of the policy's grants, per catalog. */
  accessesFor(policy: AccessPolicy): CatalogAccesses {
    const id = grantsId(policy)
    const cached = this.accesses.get(id)
    const accesses =
      cached ?? new CatalogAccesses(policy.grants, this.resources.database.limits.statementTokensMax, this.accessCache)
    this.accesses.delete(id)
    this.accesses.set(id, accesses)
    const [oldest] = this.accesses.keys()
    if (this.accesses.size > accessCachedPoliciesMax && oldest !== undefined) this.accesses.delete(oldest)
    return accesses
  }
}

const reading: SnapshotOptions = { isolation: 'readOnly' }

/** Runs each operation as a separate request. */
class CallerScope implements OperationScope {
  readonly database: OpenDatabase
  readonly between = undefined
  readonly schema: SchemaExecutor
  /** For changes. */
  private readonly resources: QueryResources
  private readonly accesses: CatalogAccesses
  private readonly user: UserValue

  constructor(resources: QueryResources, accesses: CatalogAccesses, user: UserValue) {
    this.resources = resources
    this.accesses = accesses
    this.user = user
    this.database = this.databaseFor({ user, signal: undefined })
    this.schema = resources.ddl
  }

  query(request: QueryRequest): Awaitable<QueryReply> {
    const { threads } = this.resources
    if (threads === undefined) return this.run(request)
    return runInSlice(request, threads, this.resources, (admitted) => this.run(admitted))
  }

  private run(request: QueryRequest): Awaitable<QueryReply> {
    const { resources } = this
    return mapAwaitable(effectOfQuery(request, resources), (effect) => {
      if (effect !== 'read') return runQuery(request, resources)
      const database = this.databaseFor({ user: this.user, signal: request.signal })
      return runQuery(request, { ...resources, database })
    })
  }

  change<T>(body: (unit: UnitOfWork) => Promise<T>, options: ChangeOptions = {}): Promise<T> {
    return changeObjects(this.resources.database, body, options)
  }

  readAt<T>(
    read: (snapshot: Snapshot, catalog: Catalog) => Awaitable<T>,
    oid?: Oid,
    watch?: SnapshotWatch,
  ): Awaitable<T> {
    const { store, catalogs } = this.database
    const readAt = (snapshot: Snapshot): Awaitable<T> => {
      return mapAwaitable(catalogs.at(snapshot), (catalog) => read(snapshot, catalog))
    }
    const isTrip = !this.resources.database.store.capabilities.hasSynchronousReads
    const options: SnapshotOptions = watch === undefined ? reading : { ...reading, watch }
    if (oid === undefined || !isTrip) return withSnapshot(store, readAt, options)
    return withSnapshot(store, readAt, { ...options, prefetchKeys: [catalogVersionKey, objectKey(oid)] })
  }

  async withMemory<T>(use: (memory: RequestMemory) => Promise<T>): Promise<T> {
    const memory = new RequestMemory(this.database.memory, this.database.limits)
    try {
      return await use(memory)
    } finally {
      memory.release()
    }
  }

  private databaseFor(caller: CallerContext): OpenDatabase {
    return restrictedDatabase(this.resources.database, this.accesses, caller)
  }
}

/** The database as one request of a restricted caller reads it. */
export function restrictedDatabase(
  database: OpenDatabase,
  accesses: CatalogAccesses,
  caller: CallerContext,
): OpenDatabase {
  return {
    ...database,
    store: restrictedStore(database, accesses, caller),
    catalogs: restrictedCatalogs(database.catalogs, accesses),
  }
}
