/** A federated database as a caller uses it, with what is its own: who asks, what is kept from it, and who is told of its changes. */
import { runTransaction } from './batch/run-transaction.ts'
import type { CallerDatabase, TransactionBody } from './database.ts'
import { DatabaseOperations, type OperationScope } from './database-operations.ts'
import { type Export, type ExportRequest, exportObjects } from './export/export-objects.ts'
import { effectOfQuery, effectsOfQuery } from './query/effects-of-text.ts'
import type { QueryRequest } from './query/query-request.ts'
import type { QueryResources } from './query/query-resources.ts'
import type { Effect } from './query/statements/statement-kind.ts'
import type { Once } from './receipts/receipt.ts'
import type { Awaitable } from './store/store.ts'
import { withSnapshot } from './store/with-snapshot.ts'
import type { TransactionClient } from './transaction/between-steps.ts'
import { transact } from './transaction/transact.ts'
import type { Transaction } from './transaction/transaction.ts'
import { parseOid } from './types/oid.ts'
import type { ChangeListener } from './write/change-set.ts'
import type { OpenDatabase } from './write/open-database.ts'

/** Operations that are requests of their own, by these resources. */
export type ScopeOf = (resources: QueryResources) => OperationScope

export class CallerOperations extends DatabaseOperations implements CallerDatabase {
  protected readonly resources: QueryResources
  protected readonly scopeOf: ScopeOf

  constructor(resources: QueryResources, scopeOf: ScopeOf) {
    super(scopeOf(resources))
    this.resources = resources
    this.scopeOf = scopeOf
  }

  classify(request: QueryRequest): Awaitable<Effect> {
    return effectOfQuery(request, this.resources)
  }

  effects(request: QueryRequest): Awaitable<ReadonlySet<Effect>> {
    return effectsOfQuery(request, this.resources)
  }

  export(request: ExportRequest): Promise<Export> {
    return exportObjects(this.scope.database, this.scope, request)
  }

  transaction<T>(
    body: TransactionBody<T>,
    isRehearsed: boolean,
    once?: Once<T>,
    oid?: string,
    client: TransactionClient = {},
  ): Promise<T> {
    const asked = once === undefined ? undefined : { once, oid: oid === undefined ? undefined : parseOid(oid) }
    return runTransaction(body, isRehearsed, this.resources, asked, client)
  }

  async runOnce<T>(once: Once<T>, work: () => Promise<T>, isKept: (result: T) => boolean): Promise<T> {
    const { store, limits, receipts } = this.resources.database
    const receipt = receipts.of(once)
    await withSnapshot(store, (snapshot) => receipt.check(snapshot))
    const result = await work()
    if (isKept(result)) {
      const keep = (transaction: Transaction): Promise<void> => receipt.checkAndPut(transaction, result)
      await transact(store, limits.transactionAttemptsMax, keep)
    }
    return result
  }

  observedBy(listener: ChangeListener): CallerDatabase {
    return new CallerOperations(observedResources(this.resources, listener), this.scopeOf)
  }
}

/** For one request, of whose own commits `listener` is told after whoever is told of all. */
export function observedResources(resources: QueryResources, listener: ChangeListener): QueryResources {
  const { onChanges, onFault } = resources.database
  const both: ChangeListener = (changes) => {
    onChanges?.(changes)
    try {
      listener(changes)
    } catch (error) {
      // A commit that is made stays made, whatever the listener throws.
      onFault(error)
    }
  }
  return resourcesOn({ ...resources.database, onChanges: both }, resources)
}

/** The same resources for a database that differs in what is of one request or one caller: its restriction holds for classes and indexes by this. */
export function resourcesOn(database: OpenDatabase, resources: QueryResources): QueryResources {
  const writer = resources.writer.on(database)
  return { ...resources, database, writer, ddl: resources.ddl.on(database, writer) }
}
