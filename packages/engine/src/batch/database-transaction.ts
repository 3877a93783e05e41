/** The operations of the interface as steps of one transaction: each sees what those before it did. */

import type { RequestMemory } from '../budget/request-memory.ts'
import { DatabaseOperations } from '../database-operations.ts'
import type { DryRunContext } from '../ddl/dry-run.ts'
import type { SchemaReport } from '../ddl/schema-report.ts'
import type { WriteSession } from '../ddl/write-session.ts'
import { assert } from '../errors.ts'
import { type Condition, checkCondition } from '../objects/condition.ts'
import type { QueryReply, QueryRequest } from '../query/query-request.ts'
import type { QueryResources } from '../query/query-resources.ts'
import { runQueryWithin } from '../query/run-query.ts'
import type { Catalog } from '../schema/catalog.ts'
import type { AlterClass, CreateIndex, DefineClasses, DeleteClass, DeleteIndex } from '../schema/commands.ts'
import type { Awaitable, Snapshot } from '../store/store.ts'
import type { BetweenSteps } from '../transaction/between-steps.ts'
import type { Oid } from '../types/oid.ts'
import type { ClassNumber } from '../types/type-spec.ts'
import type { ChangeOptions } from '../write/change-objects.ts'
import { flushObjects } from '../write/flush.ts'
import type { UnitOfWork } from '../write/unit-of-work.ts'

export class DatabaseTransaction extends DatabaseOperations {
  private readonly scope: WriteSession
  private readonly resources: QueryResources
  private readonly betweenSteps: BetweenSteps

  constructor(scope: WriteSession, resources: QueryResources, betweenSteps: BetweenSteps) {
    super()
    this.betweenSteps = betweenSteps
    this.scope = scope
    this.resources = resources
  }

  override query(request: QueryRequest): Promise<QueryReply> {
    return runQueryWithin(request, this.resources, this.scope)
  }

  protected override runDefineClasses(command: DefineClasses): Promise<readonly ClassNumber[]> {
    return this.scope.defineClasses(command)
  }

  protected override runAlterClass(command: AlterClass): Promise<ClassNumber> {
    return this.scope.alterClass(command)
  }

  protected override runDeleteClass(command: DeleteClass): Promise<void> {
    return this.scope.deleteClass(command)
  }

  protected override runCreateIndex(command: CreateIndex): Promise<string> {
    return this.scope.createIndex(command)
  }

  protected override runDeleteIndex(command: DeleteIndex): Promise<void> {
    return this.scope.deleteIndex(command)
  }

  protected override readAt<T>(read: (snapshot: Snapshot, catalog: Catalog) => Awaitable<T>): Awaitable<T> {
    return read(this.scope.transaction.overlay(), this.scope.catalog)
  }

  protected override hold(oid: Oid, condition: Condition): Promise<void> {
    return this.change((unit) => checkCondition(unit, oid, condition))
  }

  protected override async withMemory<T>(use: (memory: RequestMemory) => Promise<T>): Promise<T> {
    const { memory } = this.scope.transaction
    assert(memory !== undefined, 'a transaction of several steps has a budget')
    const held = memory.statementBytes
    const result = await use(memory)
    memory.resetStatement(held)
    return result
  }

  protected override dryRun(report: (context: DryRunContext) => Promise<SchemaReport>): Promise<SchemaReport> {
    const { limits, containers, session } = this.resources
    const { transaction, catalog } = this.scope
    const context = { snapshot: transaction.overlay(), catalog, limits, containers, session, isStep: true }
    return this.withMemory((memory) => report({ ...context, memory }))
  }

  protected override between(): BetweenSteps {
    return this.betweenSteps
  }

  protected override async change<T>(
    body: (unit: UnitOfWork) => Promise<T>,
    { objects = 1 }: ChangeOptions = {},
  ): Promise<T> {
    this.scope.count(objects)
    const { memory } = this.scope.transaction
    const held = memory?.statementBytes ?? 0
    const unit = this.scope.objects()
    const result = await body(unit)
    await flushObjects(unit)
    memory?.resetStatement(held)
    return result
  }
}
