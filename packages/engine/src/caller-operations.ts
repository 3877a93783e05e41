/** A federated database as a caller uses it, with what is its own: who asks, what is kept from it, and who is told of its changes. */
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

/** Operations that are requests of their own, by these resources. */
export type ScopeOf = (resources: QueryResources) => OperationScope

export class CallerOperations extends DatabaseOperations {
  protected readonly resources: QueryResources
  protected readonly scopeOf: ScopeOf

  constructor(resources: QueryResources, scopeOf: ScopeOf) {
    super(scopeOf(resources))
    this.resources = resources
    this.scopeOf = scopeOf
  }

  /** Whether the query would read, change objects or change the schema; it is not run. Throws QuerySyntaxError, LimitExceeded, the signal's reason. */
  async classify(request: QueryRequest): Promise<Effect> {
    return effectOfQuery(request, this.resources)
  }

  /** All that it would do, `read` always. Throws what `classify` does. */
  async effects(request: QueryRequest): Promise<ReadonlySet<Effect>> {
    return effectsOfQuery(request, this.resources)
  }

  /** All that the caller sees of the objects, the classes and the indexes, as one snapshot has it. Throws ClassNotFound, ClassNotReferenceable, MalformedOid. */
  export(request: ExportRequest): Promise<Export> {
    return exportObjects(this.scope.database, this.scope, request)
  }

  /**
   * What `body` does is committed together or not at all; where others were first, it is done
   * again. With `isRehearsed`, `body` runs twice: all of it first, its reply kept, and then the steps that are kept,
   * with the same OIDs. With `once`, the receipt is part of the commit; throws AlreadyDone where there is one. `oid`: an object
   * that is read in any case. Throws the reason of the client's signal.
   */
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

  /**
   * Work on the event loop for one slice; if it takes longer, from the beginning in a thread. Throws what the work throws, and the reason of the
   * client's signal.
   */
  async inSlice<T>(work: SlicedWork<T>, client: TransactionClient): Promise<T> {
    const { threads } = this.resources
    return threads === undefined ? work.run(undefined) : runWorkInSlice(work, client, threads, this.resources)
  }

  /**
   * Work that does no more when it is done twice: its receipt is a commit of its own, after it. `isKept`: whether the result
   * is one to be kept. Throws AlreadyDone, and what else `Receipt.check` throws.
   */
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

  /**
   * The same for one request, of whose own commits `listener` is told after whoever is told of all. What goes on in the background after
   * the request is not its own.
   */
  observedBy(listener: ChangeListener): CallerDatabase {
    return new CallerOperations(observedResources(this.resources, listener), this.scopeOf)
  }
}

/** A federated database as a caller uses it: its operations alone, once, and several as one. */
export type CallerDatabase = Pick<CallerOperations, keyof CallerOperations>

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
