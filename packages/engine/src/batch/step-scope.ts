/** The scope of operations in one transaction: each sees the effects of earlier ones, and all are committed together. */

import type { RequestMemory } from '../budget/request-memory.ts'
import type { CancelSignal } from '../cancel-signal.ts'
import type { OperationScope } from '../database-operations.ts'
import type { CatalogTransaction } from '../ddl/catalog-transaction.ts'
import { assert } from '../errors.ts'
import type { QueryReply, QueryRequest } from '../query/query-request.ts'
import type { QueryResources } from '../query/query-resources.ts'
import { runQueryWithin } from '../query/run-query.ts'
import type { Catalog } from '../schema/catalog.ts'
import type { Awaitable, Snapshot } from '../store/store.ts'
import type { BetweenSteps } from '../transaction/between-steps.ts'
import type { ChangeOptions } from '../write/change-objects.ts'
import { flushObjects } from '../write/flush.ts'
import type { OpenDatabase } from '../write/open-database.ts'
import type { UnitOfWork } from '../write/unit-of-work.ts'

export class StepScope implements OperationScope {
  readonly database: OpenDatabase
  readonly schema: CatalogTransaction
  readonly between: BetweenSteps
  private readonly resources: QueryResources
  private readonly signal: CancelSignal | undefined

  constructor(
    transaction: CatalogTransaction,
    resources: QueryResources,
    between: BetweenSteps,
    signal: CancelSignal | undefined,
  ) {
    this.database = resources.database
    this.schema = transaction
    this.resources = resources
    this.between = between
    this.signal = signal
  }

  query(request: QueryRequest): Promise<QueryReply> {
    return runQueryWithin(request, this.resources, this.schema)
  }

  async readAt<T>(read: (snapshot: Snapshot, catalog: Catalog) => Awaitable<T>): Promise<T> {
    const { transaction, catalog } = this.schema
    const { restriction } = this.database
    if (restriction === undefined) return read(transaction.observed(), catalog)
    const { memory } = this
    const statementBytes = memory.statementBytes
    try {
      const restricted = restriction.viewOf(transaction.observed(), catalog, { signal: this.signal, memory })
      return await read(restricted, restriction.catalogOf(catalog))
    } finally {
      // Memory used to evaluate access rules is not needed by later steps.
      memory.resetStatement(statementBytes)
    }
  }

  async withMemory<T>(use: (memory: RequestMemory) => Promise<T>): Promise<T> {
    const { memory } = this
    const statementBytes = memory.statementBytes
    const result = await use(memory)
    memory.resetStatement(statementBytes)
    return result
  }

  private get memory(): RequestMemory {
    const { memory } = this.schema.transaction
    assert(memory !== undefined, 'a transaction of several steps has a budget')
    return memory
  }

  async change<T>(body: (unit: UnitOfWork) => Promise<T>, { objects = 1 }: ChangeOptions = {}): Promise<T> {
    const { schema } = this
    schema.count(objects)
    const { memory } = schema.transaction
    const statementBytes = memory?.statementBytes ?? 0
    const unit = schema.beginUnit()
    const result = await body(unit)
    await flushObjects(unit)
    memory?.resetStatement(statementBytes)
    return result
  }
}
