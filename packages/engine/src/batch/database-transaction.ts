/** The operations of the interface as steps of one transaction: each sees what those before it did. */
import { listClasses } from '../catalog/list-classes.ts'
import type { Database } from '../database.ts'
import { type DryRunContext, reportAlteration, reportDefinitions, reportDeletion } from '../ddl/dry-run.ts'
import type { SchemaReport } from '../ddl/schema-report.ts'
import type { WriteSession } from '../ddl/write-session.ts'
import { type IndexRecord, listIndexRecords, readIndexRecord } from '../indexes/index-record.ts'
import { type Condition, checkCondition } from '../objects/condition.ts'
import { createObject } from '../objects/create.ts'
import { deleteObject } from '../objects/delete.ts'
import { readObject } from '../objects/read.ts'
import { updateObject } from '../objects/update.ts'
import type { QueryReply, QueryRequest } from '../query/query-request.ts'
import type { QueryResources } from '../query/query-resources.ts'
import { runQueryWithin } from '../query/run-query.ts'
import { type Attributes, readCreateObject, readUpdateObject } from '../requests/read-object-command.ts'
import { type AlterSettings, defaultAlterSettings } from '../schema/alter-plan.ts'
import type { DefineMode } from '../schema/define-classes.ts'
import {
  type ClassRepresentation,
  listNamespaces,
  type NamespaceRepresentation,
  readClass,
  readNamespace,
} from '../schema/representation.ts'
import { checkedOid, type Oid } from '../types/oid.ts'
import { flushObjects } from '../write/flush.ts'
import type { UnitOfWork } from '../write/unit-of-work.ts'

export class DatabaseTransaction implements Database {
  private readonly scope: WriteSession
  private readonly resources: QueryResources

  constructor(scope: WriteSession, resources: QueryResources) {
    this.scope = scope
    this.resources = resources
  }

  async defineClasses(descriptions: unknown, mode: DefineMode): Promise<string[]> {
    return (await this.scope.defineClasses(descriptions, mode)).map(String)
  }

  planClasses(descriptions: unknown, mode: DefineMode): Promise<SchemaReport> {
    return reportDefinitions(this.dryRun(), descriptions, mode)
  }

  async alterClass(nameOrNumber: string, body: unknown, settings: Partial<AlterSettings> = {}): Promise<string> {
    return String(await this.scope.alterClass(nameOrNumber, body, { ...defaultAlterSettings, ...settings }))
  }

  planAlteration(nameOrNumber: string, body: unknown, settings: Partial<AlterSettings> = {}): Promise<SchemaReport> {
    return reportAlteration(this.dryRun(), nameOrNumber, body, { ...defaultAlterSettings, ...settings })
  }

  deleteClass(nameOrNumber: string): Promise<void> {
    return this.scope.deleteClass(nameOrNumber)
  }

  planDeletion(nameOrNumber: string): Promise<SchemaReport> {
    return reportDeletion(this.dryRun(), nameOrNumber)
  }

  async listClasses(): Promise<readonly ClassRepresentation[]> {
    return (await listClasses(this.scope.catalog)).classes
  }

  async listClassesJson(): Promise<Buffer> {
    return (await listClasses(this.scope.catalog)).json
  }

  async readClass(nameOrNumber: string): Promise<ClassRepresentation> {
    return readClass(this.scope.catalog, nameOrNumber)
  }

  async listNamespaces(): Promise<(string | null)[]> {
    return listNamespaces(this.scope.catalog)
  }

  async readNamespace(name: string): Promise<NamespaceRepresentation> {
    return readNamespace(this.scope.catalog, name)
  }

  createObject(className: string, attributes: Attributes): Promise<Oid> {
    return this.change((unit) => createObject(unit, readCreateObject(unit.catalog, className, attributes)))
  }

  async readObject(oid: string, condition?: Condition): Promise<Buffer> {
    const parsed = checkedOid(oid)
    if (condition !== undefined) await this.change((unit) => checkCondition(unit, parsed, condition))
    return readObject(this.scope.transaction.overlay(), this.scope.catalog, parsed)
  }

  updateObject(oid: string, attributes: Attributes, className?: string, condition?: Condition): Promise<void> {
    const parsed = checkedOid(oid)
    return this.change(async (unit) => {
      if (condition !== undefined) await checkCondition(unit, parsed, condition)
      await updateObject(unit, readUpdateObject(unit.catalog, parsed, attributes, className))
    })
  }

  deleteObject(oid: string, condition?: Condition): Promise<void> {
    const parsed = checkedOid(oid)
    return this.change(async (unit) => {
      if (condition !== undefined) await checkCondition(unit, parsed, condition)
      await deleteObject(unit, { oid: parsed })
    })
  }

  query(request: QueryRequest): Promise<QueryReply> {
    return runQueryWithin(request, this.resources, this.scope)
  }

  async createIndex(body: unknown): Promise<{ name: string }> {
    return { name: await this.scope.createIndex(body) }
  }

  listIndexes(): Promise<IndexRecord[]> {
    return listIndexRecords(this.scope.transaction.overlay(), this.scope.catalog)
  }

  readIndex(name: string): Promise<IndexRecord> {
    return readIndexRecord(this.scope.transaction.overlay(), this.scope.catalog, name)
  }

  deleteIndex(name: string): Promise<void> {
    return this.scope.deleteIndex(name)
  }

  private dryRun(): DryRunContext {
    const { limits, containers, session } = this.resources
    const { transaction, catalog } = this.scope
    return { snapshot: transaction.overlay(), catalog, limits, containers, session, isStep: true }
  }

  private async change<T>(body: (changes: UnitOfWork) => Promise<T>): Promise<T> {
    this.scope.count(1)
    const { memory } = this.scope.transaction
    const held = memory?.heldBytes ?? 0
    const unit = this.scope.objects()
    const result = await body(unit)
    await flushObjects(unit)
    memory?.holdAgain(held)
    return result
  }
}
