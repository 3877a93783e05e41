/** The operations of a federated database for one caller, with its restrictions and change listener. */
import { runTransaction } from './batch/run-transaction.ts'
import { DatabaseOperations, type OperationScope, type TransactionBody } from './database-operations.ts'
import { type Export, type ExportRequest, exportObjects } from './export/export-objects.ts'
import { effectOfQuery, effectsOfQuery } from './query/effects-of-text.ts'
import type { QueryRequest } from './query/query-request.ts'
import type { QueryResources, SlicedWork } from './query/query-resources.ts'
import type { Effect } from './query/statements/statement-kind.ts'
import type { Once } from './receipts/receipt.ts'
import { withSnapshot } from './store/with-snapshot.ts'
import { runWorkInSlice } from './threads/run-in-slice.ts'
import type { TransactionClient } from './transaction/between-steps.ts'
import { transact } from './transaction/transact.ts'
import type { Transaction } from './transaction/transaction.ts'
import { parseOid } from './types/oid.ts'
import type { ChangeListener } from './write/change-set.ts'
import type { OpenDatabase } from './write/open-database.ts'

/** Creates a scope in which each operation is a separate request, with these resources. */
export type ScopeOf = (resources: QueryResources) => OperationScope

export class CallerOperations extends DatabaseOperations {
  protected readonly resources: QueryResources
  protected readonly scopeOf: ScopeOf

  constructor(resources: QueryResources, scopeOf: ScopeOf) {
    super(scopeOf(resources))
    this.resources = resources
    this.scopeOf = scopeOf
  }

  /** Classifies a query without running it: read, change of objects, or of the schema. Throws QuerySyntaxError, LimitExceeded, signal's reason. */
  async classify(request: QueryRequest): Promise<Effect> {
    return effectOfQuery(request, this.resources)
  }

  /** All effects that the query may have, always including `read`. Throws like `classify`. */
  async effects(request: QueryRequest): Promise<ReadonlySet<Effect>> {
    return effectsOfQuery(request, this.resources)
  }

  /** Exports the objects, classes and indexes visible to the caller, from one snapshot. Throws ClassNotFound, ClassNotReferenceable, MalformedOid. */
  export(request: ExportRequest): Promise<Export> {
    return exportObjects(this.scope.database, this.scope, request)
  }

  /**
   * Commits all effects of `body` together or not at all; retries after conflicts. With `isRehearsed`, `body` runs twice: all of it first, whose
   * reply is returned, and then the steps to commit, with the same OIDs. With `once`, the receipt is part of the commit; throws AlreadyDone if there
   * is one. `oid`: an object that is read in any case. Throws the reason of the client's signal.
   */
  transaction<T>(
    body: TransactionBody<T>,
    isRehearsed: boolean,
    once?: Once<T>,
    oid?: string,
    client: TransactionClient = {},
  ): Promise<T> {
    const idempotent = once === undefined ? undefined : { once, oid: oid === undefined ? undefined : parseOid(oid) }
    return runTransaction(body, isRehearsed, this.resources, idempotent, client)
  }

  /** Runs work on the event loop for one slice; if it takes longer, restarts it in a thread. Throws its errors, and the signal's reason. */
  async inSlice<T>(work: SlicedWork<T>, client: TransactionClient): Promise<T> {
    const { threads } = this.resources
    return threads === undefined ? work.run(undefined) : runWorkInSlice(work, client, threads, this.resources)
  }

  /** Runs idempotent work, then commits its receipt. `isStored`: whether to store the result. Throws AlreadyDone and errors of `Receipt.check`. */
  async runOnce<T>(once: Once<T>, work: () => Promise<T>, isStored: (result: T) => boolean): Promise<T> {
    const { store, limits, receipts } = this.resources.database
    const receipt = receipts.of(once)
    await withSnapshot(store, (snapshot) => receipt.check(snapshot))
    const result = await work()
    if (isStored(result)) {
      const keep = (transaction: Transaction): Promise<void> => receipt.checkAndPut(transaction, result)
      await transact(store, limits.transactionAttemptsMax, keep)
    }
    return result
  }

  /** The same database for one request; `listener` is notified of its commits after the common listeners, but not of outliving background work. */
  observedBy(listener: ChangeListener): CallerDatabase {
    return new CallerOperations(observedResources(this.resources, listener), this.scopeOf)
  }
}

/** The operations of a federated database for one caller: single ones, idempotent ones, and transactions. */
export type CallerDatabase = Pick<CallerOperations, keyof CallerOperations>

/** Resources for one request; `listener` is notified of its commits after the common listeners. */
export function observedResources(resources: QueryResources, listener: ChangeListener): QueryResources {
  const { onChanges, onFault } = resources.database
  const both: ChangeListener = (changes) => {
    onChanges?.(changes)
    try {
      listener(changes)
    } catch (error) {
      // An error of the listener does not affect the commit.
      onFault(error)
    }
  }
  return resourcesOn({ ...resources.database, onChanges: both }, resources)
}

/** Resources for a database with separate settings per request or caller, whose restriction then applies to classes and indexes. */
export function resourcesOn(database: OpenDatabase, resources: QueryResources): QueryResources {
  const writer = resources.writer.on(database)
  return { ...resources, database, writer, ddl: resources.ddl.on(database, writer) }
}
