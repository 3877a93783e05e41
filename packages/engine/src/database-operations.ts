/** The operations of the interface, written once for single requests and for steps of a transaction. */
import type { RequestMemory } from './budget/request-memory.ts'
import { listClasses } from './catalog/list-classes.ts'
import type { CreateIndexOptions, Database, ObjectCreation } from './database.ts'
import { type DryRunContext, reportAlteration, reportDefinitions, reportDeletion } from './ddl/dry-run.ts'
import type { SchemaReport } from './ddl/schema-report.ts'
import { AshlarError } from './errors.ts'
import { type IndexRecord, listIndexRecords, readIndexRecord } from './indexes/index-record.ts'
import type { CreateObject } from './objects/commands.ts'
import { type Condition, checkCondition } from './objects/condition.ts'
import { createObject } from './objects/create.ts'
import { deleteObject } from './objects/delete.ts'
import { readObject, type WithMemory } from './objects/read.ts'
import { updateObject } from './objects/update.ts'
import type { QueryReply, QueryRequest } from './query/query-request.ts'
import type { Once } from './receipts/receipt.ts'
import { readAlterClass } from './requests/read-alter-class.ts'
import { readDefineClasses } from './requests/read-class-descriptions.ts'
import { asCreateIndex } from './requests/read-create-index.ts'
import { type Attributes, readCreateObject, readUpdateObject } from './requests/read-object-command.ts'
import type { Catalog } from './schema/catalog.ts'
import type {
  AlterClass,
  AlterSettings,
  CreateIndex,
  DefineClasses,
  DefineMode,
  DeleteClass,
  DeleteIndex,
} from './schema/commands.ts'
import {
  type ClassRepresentation,
  listNamespaces,
  type NamespaceRepresentation,
  readClass,
  readNamespace,
} from './schema/representation.ts'
import type { Awaitable, Snapshot } from './store/store.ts'
import type { BetweenSteps, TransactionClient } from './transaction/between-steps.ts'
import { checkedOid, type Oid } from './types/oid.ts'
import type { ClassNumber } from './types/type-spec.ts'
import type { ChangeOptions } from './write/change-objects.ts'
import type { UnitOfWork } from './write/unit-of-work.ts'

/** What is left open: where it reads, what a change is part of, and who carries out the commands of the schema and statements. */
export abstract class DatabaseOperations implements Database {
  /** `oid`: the object that is read, where it is one. */
  protected abstract readAt<T>(read: (snapshot: Snapshot, catalog: Catalog) => Awaitable<T>, oid?: Oid): Awaitable<T>
  protected abstract change<T>(body: (unit: UnitOfWork) => Promise<T>, options?: ChangeOptions): Promise<T>
  /** What happens between two of several changes: that of the transaction, where they are one step of it. */
  protected abstract between(client: TransactionClient): BetweenSteps
  /** Holds what a read has found until the commit that it is part of; undefined where it is part of none. Throws PreconditionFailed. */
  protected abstract hold(oid: Oid, condition: Condition): Promise<void> | undefined
  /** Of the request, where it is a step of a transaction; else released when `use` is done. */
  protected abstract withMemory<T>(use: (memory: RequestMemory) => Promise<T>): Promise<T>
  protected abstract dryRun(report: (context: DryRunContext) => Promise<SchemaReport>): Promise<SchemaReport>

  protected abstract runDefineClasses(command: DefineClasses): Promise<readonly ClassNumber[]>
  protected abstract runAlterClass(command: AlterClass, once?: Once<string>): Promise<ClassNumber>
  protected abstract runDeleteClass(command: DeleteClass): Promise<void>
  /** Returns its name. */
  protected abstract runCreateIndex(command: CreateIndex, options: CreateIndexOptions): Promise<string>
  protected abstract runDeleteIndex(command: DeleteIndex): Promise<void>

  abstract query(request: QueryRequest): Awaitable<QueryReply>

  async defineClasses(descriptions: unknown, mode: DefineMode): Promise<string[]> {
    return (await this.runDefineClasses(readDefineClasses(descriptions, mode))).map(String)
  }

  async previewClasses(descriptions: unknown, mode: DefineMode): Promise<SchemaReport> {
    const command = readDefineClasses(descriptions, mode)
    return this.dryRun((context) => reportDefinitions(context, command))
  }

  async alterClass(
    nameOrNumber: string,
    body: unknown,
    settings?: Partial<AlterSettings>,
    once?: Once<string>,
  ): Promise<string> {
    return String(await this.runAlterClass(readAlterClass(nameOrNumber, body, settings), once))
  }

  async previewAlteration(
    nameOrNumber: string,
    body: unknown,
    settings?: Partial<AlterSettings>,
  ): Promise<SchemaReport> {
    const command = readAlterClass(nameOrNumber, body, settings)
    return this.dryRun((context) => reportAlteration(context, command))
  }

  deleteClass(nameOrNumber: string): Promise<void> {
    return this.runDeleteClass({ className: nameOrNumber })
  }

  previewDeletion(nameOrNumber: string): Promise<SchemaReport> {
    return this.dryRun((context) => reportDeletion(context, { className: nameOrNumber }))
  }

  createIndex(body: unknown, options: CreateIndexOptions = {}): Promise<{ name: string }> {
    return asCreateIndex(body, async (command) => ({ name: await this.runCreateIndex(command, options) }))
  }

  deleteIndex(name: string): Promise<void> {
    return this.runDeleteIndex({ name })
  }

  async listClasses(): Promise<readonly ClassRepresentation[]> {
    return this.readAt(async (_snapshot, catalog) => (await listClasses(catalog)).classes)
  }

  async listClassesJson(): Promise<Buffer> {
    return this.readAt(async (_snapshot, catalog) => (await listClasses(catalog)).json)
  }

  async readClass(nameOrNumber: string): Promise<ClassRepresentation> {
    return this.readAt((_snapshot, catalog) => readClass(catalog, nameOrNumber))
  }

  async listNamespaces(): Promise<(string | null)[]> {
    return this.readAt((_snapshot, catalog) => listNamespaces(catalog))
  }

  async readNamespace(name: string): Promise<NamespaceRepresentation> {
    return this.readAt((_snapshot, catalog) => readNamespace(catalog, name))
  }

  createObject(className: string, attributes: Attributes): Promise<Oid> {
    return this.change(async (unit) => createFrom(unit, { class: className, attributes }))
  }

  createObjects(creations: readonly ObjectCreation[], client: TransactionClient = {}): Promise<Oid[]> {
    const between = this.between(client)
    const { signal } = client
    return this.change((unit) => createEach(unit, creations, between), { objects: creations.length, signal })
  }

  readObject(oid: string, condition?: Condition): Awaitable<Buffer> {
    const parsed = checkedOid(oid)
    const withMemory: WithMemory = (use) => this.withMemory(use)
    const read = (snapshot: Snapshot, catalog: Catalog): Awaitable<Buffer> => {
      return readObject(snapshot, catalog, parsed, withMemory)
    }
    const held = condition === undefined ? undefined : this.hold(parsed, condition)
    return held === undefined ? this.readAt(read, parsed) : held.then(() => this.readAt(read, parsed))
  }

  async updateObject(oid: string, attributes: Attributes, className?: string, condition?: Condition): Promise<void> {
    const parsed = checkedOid(oid)
    await this.change(
      async (unit) => {
        if (condition !== undefined) await checkCondition(unit, parsed, condition)
        await updateObject(unit, readUpdateObject(unit.catalog, parsed, attributes, className))
      },
      { oid: parsed },
    )
  }

  async deleteObject(oid: string, condition?: Condition): Promise<void> {
    const parsed = checkedOid(oid)
    await this.change(
      async (unit) => {
        if (condition !== undefined) await checkCondition(unit, parsed, condition)
        await deleteObject(unit, { oid: parsed })
      },
      { oid: parsed },
    )
  }

  async listIndexes(): Promise<IndexRecord[]> {
    return this.readAt(listIndexRecords)
  }

  async readIndex(name: string): Promise<IndexRecord> {
    return this.readAt((snapshot, catalog) => readIndexRecord(snapshot, catalog, name))
  }
}

/** At once where nothing has to be waited for. `position`: of several. */
function createFrom(unit: UnitOfWork, creation: ObjectCreation, position?: number): Awaitable<Oid> {
  const command = readCreateObject(unit.catalog, creation.class, creation.attributes ?? {})
  return command instanceof Promise ? createRead(unit, command, position) : createObject(unit, command, position)
}

async function createRead(unit: UnitOfWork, command: Promise<CreateObject>, position?: number): Promise<Oid> {
  return createObject(unit, await command, position)
}

async function createEach(
  unit: UnitOfWork,
  creations: readonly ObjectCreation[],
  between: BetweenSteps,
): Promise<Oid[]> {
  const oids: Oid[] = []
  for (let position = 0; position < creations.length; position++) {
    // Of values that take long others have turns in between in any case.
    const pause = position % 4 === 0 ? between() : undefined
    if (pause !== undefined) await pause
    try {
      const created = createFrom(unit, creations[position] as ObjectCreation, position)
      oids.push(created instanceof Promise ? await created : created)
    } catch (error) {
      throw error instanceof AshlarError ? error.within(position) : error
    }
  }
  return oids
}
