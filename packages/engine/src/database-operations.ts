/** The operations of the interface, shared by single requests and by steps of a transaction. */

import type { RequestMemory } from './budget/request-memory.ts'
import { AtomicLoad, type CommitAtomicLoad } from './bulk/atomic-load.ts'
import { BulkLoad, type BulkSettings, type CommitBatch, type LineLoad, type LoadSettings } from './bulk/bulk-load.ts'
import { executeAtomicLoad } from './bulk/carry-out-held.ts'
import { createPacked } from './bulk/create-packed.ts'
import { BufferedLines } from './bulk/held-lines.ts'
import { keyChangesOf, mayChangeKeys, refersInKey } from './bulk/key-changes.ts'
import { runBatch } from './bulk/run-batch.ts'
import { lookupIndex } from './bulk/unique-keys.ts'
import type { CancelSignal } from './cancel-signal.ts'
import { type ClassRecord, readClassRecord } from './catalog/class-record.ts'
import { listClasses } from './catalog/list-classes.ts'
import type { AlteredClasses } from './ddl/background-alters.ts'
import type { BuildOptions } from './ddl/ddl-executor.ts'
import { type DryRunContext, reportAlteration, reportDefinitions, reportDeletion } from './ddl/dry-run.ts'
import type { SchemaReport } from './ddl/schema-report.ts'
import { AshlarError } from './errors.ts'
import { type IndexRecord, listIndexRecords, readIndexRecord } from './indexes/index-record.ts'
import { checkCondition, type TagCondition } from './objects/condition.ts'
import { createObject } from './objects/create.ts'
import { deleteObject, tryDeletion } from './objects/delete.ts'
import type { DeletionReport } from './objects/deletion-report.ts'
import { readPlainValues } from './objects/plain-values.ts'
import { readObject } from './objects/read.ts'
import { updateObject } from './objects/update.ts'
import type { QueryReply, QueryRequest } from './query/query-request.ts'
import type { Once, Receipt } from './receipts/receipt.ts'
import { noteElementText } from './requests/json-source.ts'
import { readAlterClass } from './requests/read-alter-class.ts'
import { readDefineClassesSteps } from './requests/read-class-descriptions.ts'
import { asCreateIndex } from './requests/read-create-index.ts'
import { type Attributes, readCreateObject, readUpdateObject } from './requests/read-object-command.ts'
import type { Catalog } from './schema/catalog.ts'
import type {
  AlterClass,
  AlterSettings,
  CreateIndex,
  DefineClasses,
  DefineMode,
  DefineSettings,
  DeleteClass,
  DeleteIndex,
} from './schema/commands.ts'
import { hasJsonAttribute } from './schema/json-attributes.ts'
import {
  type ClassRepresentation,
  listNamespaces,
  type NamespaceRepresentation,
  readNamespace,
} from './schema/representation.ts'
import type { Awaitable, Snapshot, SnapshotWatch } from './store/store.ts'
import { runYieldingIfLong, type SliceWatch } from './store/time-slice.ts'
import { type BetweenSteps, betweenSteps, type TransactionClient } from './transaction/between-steps.ts'
import { checkedOid, malformedOid, type Oid, parseOid } from './types/oid.ts'
import type { ClassNumber } from './types/type-spec.ts'
import type { ChangeOptions } from './write/change-objects.ts'
import type { OpenDatabase } from './write/open-database.ts'
import type { UnitOfWork } from './write/unit-of-work.ts'

/** Where an operation reads and writes: in a separate request, or in the transaction of which it is a step. */
export interface OperationScope {
  readonly database: OpenDatabase
  readonly schema: SchemaExecutor
  /** Called between several changes of a transaction. Undefined for single requests. */
  readonly between: BetweenSteps | undefined
  /** `oid`: the object to read, if it is one. `watch`: of the request, used if the caller's visibility takes long to determine. */
  readAt<T>(
    read: (snapshot: Snapshot, catalog: Catalog) => Awaitable<T>,
    oid?: Oid,
    watch?: SnapshotWatch,
  ): Awaitable<T>
  change<T>(body: (unit: UnitOfWork) => Promise<T>, options?: ChangeOptions): Promise<T>
  /** Memory of the transaction if there is one, otherwise released after `use`. */
  withMemory<T>(use: (memory: RequestMemory) => Promise<T>): Promise<T>
  /** Runs DO statements. Throws QuerySyntaxError, QueryError, LimitExceeded, and errors of changes. */
  query(request: QueryRequest): Awaitable<QueryReply>
}

/** Executes schema commands: with separate commits (`DdlExecutor`), or within a transaction (`CatalogTransaction`). */
export interface SchemaExecutor {
  defineClasses(command: DefineClasses): Promise<readonly ClassNumber[]>
  alterClass(command: AlterClass, receipt?: Receipt<ClassNumber>): Promise<ClassNumber>
  /** Likewise; an online change continues in the background. */
  startAlter(command: AlterClass, receipt?: Receipt<AlteredClasses>): Promise<AlteredClasses>
  /** By full name or class number. */
  deleteClass(command: DeleteClass): Promise<void>
  createIndex(command: CreateIndex, options: BuildOptions): Promise<{ readonly name: string }>
  /** Throws IndexNotFound. */
  deleteIndex(command: DeleteIndex): Promise<void>
}

export interface StartedAlteration {
  readonly classNumber: string
  /** In the background. */
  readonly isRunning: boolean
}

export interface CreateIndexOptions {
  /** Cancels a foreground build, and removes the index. */
  readonly signal?: CancelSignal
  /** The build continues after the index is announced, and after a restart. */
  readonly isBackground?: boolean
  readonly once?: Once<{ readonly name: string }>
}

export interface ObjectCreation {
  /** Full name or class number. */
  readonly class: string
  readonly attributes?: Attributes
}

export class DatabaseOperations {
  protected readonly scope: OperationScope

  constructor(scope: OperationScope) {
    this.scope = scope
  }

  query(request: QueryRequest): Awaitable<QueryReply> {
    return this.scope.query(request)
  }

  async defineClasses(descriptions: unknown, mode: DefineMode, settings?: Partial<DefineSettings>): Promise<string[]> {
    const command = await runYieldingIfLong(readDefineClassesSteps(descriptions, mode, settings))
    return (await this.scope.schema.defineClasses(command)).map(String)
  }

  /** Reports the effects of `defineClasses` without executing it. */
  async previewClasses(
    descriptions: unknown,
    mode: DefineMode,
    settings?: Partial<DefineSettings>,
  ): Promise<SchemaReport> {
    const command = await runYieldingIfLong(readDefineClassesSteps(descriptions, mode, settings))
    return this.dryRun((context) => reportDefinitions(context, command))
  }

  async alterClass(
    nameOrNumber: string,
    body: unknown,
    settings?: Partial<AlterSettings>,
    once?: Once<string>,
  ): Promise<string> {
    const receipt = this.receiptOf(once)?.from<ClassNumber>(String)
    return String(await this.scope.schema.alterClass(readAlterClass(nameOrNumber, body, settings), receipt))
  }

  /** Like `alterClass`, but does not wait for a change that is made online: the class shows its progress, or why it failed. */
  async startAlteration(
    nameOrNumber: string,
    body: unknown,
    settings?: Partial<AlterSettings>,
    once?: Once<StartedAlteration>,
  ): Promise<StartedAlteration> {
    const started = ({ numbers: [number], isRunning }: AlteredClasses): StartedAlteration => {
      return { classNumber: String(number), isRunning }
    }
    const receipt = this.receiptOf(once)?.from<AlteredClasses>(started)
    return started(await this.scope.schema.startAlter(readAlterClass(nameOrNumber, body, settings), receipt))
  }

  /** What `alterClass` would change, touch and lose; nothing is changed. */
  async previewAlteration(
    nameOrNumber: string,
    body: unknown,
    settings?: Partial<AlterSettings>,
  ): Promise<SchemaReport> {
    const command = readAlterClass(nameOrNumber, body, settings)
    return this.dryRun((context) => reportAlteration(context, command))
  }

  deleteClass(nameOrNumber: string): Promise<void> {
    return this.scope.schema.deleteClass({ className: nameOrNumber })
  }

  /** Reports the effects and losses of `deleteClass` without executing it. */
  previewDeletion(nameOrNumber: string): Promise<SchemaReport> {
    return this.dryRun((context) => reportDeletion(context, { className: nameOrNumber }))
  }

  createIndex(body: unknown, { isBackground, signal, once }: CreateIndexOptions = {}): Promise<{ name: string }> {
    const options = { isBackground, signal, receipt: this.receiptOf(once) }
    return asCreateIndex(body, async (command) => {
      const { name } = await this.scope.schema.createIndex(command, options)
      return { name }
    })
  }

  deleteIndex(name: string): Promise<void> {
    return this.scope.schema.deleteIndex({ name })
  }

  /** By class number, without deleted ones. */
  async listClasses(): Promise<readonly ClassRepresentation[]> {
    return this.scope.readAt(async (_snapshot, catalog) => (await listClasses(catalog)).classes)
  }

  /** The same as JSON text in UTF-8. */
  async listClassesJson(): Promise<Buffer> {
    return this.scope.readAt(async (_snapshot, catalog) => (await listClasses(catalog)).json)
  }

  /** By full name or class number. Throws ClassNotFound. */
  async readClass(nameOrNumber: string): Promise<ClassRecord> {
    return this.scope.readAt((snapshot, catalog) => readClassRecord(snapshot, catalog, nameOrNumber))
  }

  /** null (the default namespace) comes first. */
  async listNamespaces(): Promise<(string | null)[]> {
    return this.scope.readAt((_snapshot, catalog) => listNamespaces(catalog))
  }

  /** Throws NamespaceNotFound. */
  async readNamespace(name: string): Promise<NamespaceRepresentation> {
    return this.scope.readAt((_snapshot, catalog) => readNamespace(catalog, name))
  }

  /** `client`: if it disconnects while access rules are evaluated, nothing is changed. Throws its signal's reason. */
  createObject(className: string, attributes: Attributes, client?: TransactionClient): Promise<Oid> {
    return this.scope.change((unit) => createFrom(unit, { class: className, attributes }), this.optionsFor(client))
  }

  /**
   * Creates all objects in one commit or none; returns their OIDs in order. Error places begin with the position of the creation. Throws the errors
   * of `createObject`, LimitExceeded also for `changedObjectsMax` and `transactionMsMax`, and the reason of the client's signal.
   */
  createObjects(creations: readonly ObjectCreation[], client: TransactionClient = {}): Promise<Oid[]> {
    const { database, between = betweenSteps(database.limits.transactionMsMax, client) } = this.scope
    const { signal, memoryHolder } = client
    const options = { objects: creations.length, signal, memoryHolder }
    return this.scope.change((unit) => createAll(unit, creations, between), options)
  }

  /** Checks before a load that the index supports lookups. Throws IndexNotFound, ValueNotAllowed. */
  async checkUpsertIndex(name: string): Promise<void> {
    await this.scope.readAt((_snapshot, catalog) => void lookupIndex(catalog, name))
  }

  /** False if no class has an attribute of type json, so that texts of lines are not needed. */
  get mayHoldJson(): boolean {
    const { latest } = this.scope.database.catalogs
    return latest === undefined || hasJsonAttribute(latest)
  }

  /** Begins a load of many lines in batches, each of which is a commit. The client's signal ends its `flush`. */
  beginLoad(given: BulkSettings, client: TransactionClient = {}): LineLoad {
    const { upsertOn, onError, isAtomic = false } = given
    const { catalogs } = this.scope.database
    const settings: LoadSettings = {
      ...given,
      mayChangeKeys: (command) =>
        catalogs.latest === undefined || mayChangeKeys(command, keyChangesOf(catalogs.latest), upsertOn),
      refersInKey: (command) =>
        catalogs.latest === undefined || refersInKey(command, keyChangesOf(catalogs.latest), upsertOn),
    }
    if (isAtomic) return this.beginAtomicLoad(settings, client)
    const { signal, memoryHolder } = client
    const reportsAll = onError === 'skip'
    const { limits } = this.scope.database
    const commit: CommitBatch = (commands, names, isExact) => {
      const between = betweenSteps(limits.transactionMsMax, client)
      const options = { objects: commands.length, signal, memoryHolder }
      const settings = { names, upsertOn, reportsAll, between, isExact }
      return this.scope.change((unit) => runBatch(unit, commands, settings), options)
    }
    return new BulkLoad(commit, settings)
  }

  private beginAtomicLoad(load: LoadSettings, client: TransactionClient): LineLoad {
    const { signal, memoryHolder } = client
    const { limits, memory, temporary } = this.scope.database
    const { atomicLoadEntriesMax, atomicLoadBytesMax, transactionMsMax } = limits
    const size = { commitEntriesMax: atomicLoadEntriesMax, commitBytesMax: atomicLoadBytesMax, isLoad: true }
    const commit: CommitAtomicLoad = (lines, settings) => {
      // The time limit grows with the number of lines.
      const between = betweenSteps(transactionMsMax * Math.ceil(lines.count / linesOfTransactionMsMax), client)
      const options = { size, signal, memoryHolder }
      return this.scope.change((unit) => executeAtomicLoad(unit, lines, { ...settings, between }), options)
    }
    return new AtomicLoad(commit, load, new BufferedLines(limits, memory, temporary, memoryHolder))
  }

  /**
   * Returns the representation as JSON text in UTF-8; synchronous if the store answers synchronously. In a transaction, `condition` must hold until
   * the commit; for a single read the caller checks it. Throws MalformedOid, ObjectNotFound, and PreconditionFailed in a transaction. `watch` lets
   * reads of objects with very many links yield.
   */
  readObject(oid: string, condition?: TagCondition, watch?: SliceWatch): Awaitable<Buffer> {
    const parsed = checkedOid(oid)
    const read = (snapshot: Snapshot, catalog: Catalog): Awaitable<Buffer> => {
      return readObject(snapshot, catalog, parsed, this.scope, watch)
    }
    if (condition === undefined || !this.isStep) return this.scope.readAt(read, parsed, watch)
    const checked = this.scope.change((unit) => checkCondition(unit, parsed, condition, 'read'))
    return checked.then(() => this.scope.readAt(read, parsed, watch))
  }

  /** See `readPlainValues`; also undefined if the text is no OID. */
  readPlainValues(oid: string, className: string, to: Record<string, unknown>): Awaitable<object | undefined> {
    const parsed = parseOid(oid)
    if (parsed === undefined) return undefined
    return this.scope.readAt((snapshot, catalog) => readPlainValues(snapshot, catalog, parsed, className, to), parsed)
  }

  /** Throws PreconditionFailed if a condition does not hold. `client`: as for `createObject`. */
  updateObject(
    oid: string,
    attributes: Attributes,
    className?: string,
    condition?: TagCondition,
    client?: TransactionClient,
  ): Promise<void> {
    return this.changeObject(oid, condition, 'update', client, (unit, parsed) => {
      return updateObject(unit, readUpdateObject(unit.commandCatalog, parsed, attributes, className))
    })
  }

  /** Like `updateObject`. */
  deleteObject(oid: string, condition?: TagCondition, client?: TransactionClient): Promise<void> {
    return this.changeObject(oid, condition, 'delete', client, (unit, parsed) => deleteObject(unit, { oid: parsed }))
  }

  private changeObject(
    oid: string,
    condition: TagCondition | undefined,
    action: 'update' | 'delete',
    client: TransactionClient | undefined,
    change: (unit: UnitOfWork, oid: Oid) => Promise<void>,
  ): Promise<void> {
    const parsed = parseOid(oid)
    if (parsed === undefined) return Promise.reject(malformedOid(oid))
    const checked = (unit: UnitOfWork): Promise<void> => {
      if (condition === undefined) return change(unit, parsed)
      return checkCondition(unit, parsed, condition, action).then(() => change(unit, parsed))
    }
    return this.scope.change(checked, this.optionsFor(client, parsed))
  }

  /** Reports what `deleteObject` would delete and clear, or its refusal, without executing it. */
  previewObjectDeletion(oid: string, condition?: TagCondition, client?: TransactionClient): Promise<DeletionReport> {
    const parsed = parseOid(oid)
    if (parsed === undefined) return Promise.reject(malformedOid(oid))
    const tried = async (unit: UnitOfWork): Promise<DeletionReport> => {
      const rehearsal = unit.rehearsal()
      if (condition !== undefined) await checkCondition(rehearsal, parsed, condition, 'delete')
      return tryDeletion(rehearsal, { oid: parsed })
    }
    return this.scope.change(tried, { ...this.optionsFor(client, parsed), objects: 0 })
  }

  /** Sorted by name. */
  async listIndexes(): Promise<IndexRecord[]> {
    return this.scope.readAt(listIndexRecords)
  }

  /** Throws IndexNotFound. */
  async readIndex(name: string): Promise<IndexRecord> {
    return this.scope.readAt((snapshot, catalog) => readIndexRecord(snapshot, catalog, name))
  }

  /** True for a step of a transaction, which sees the effects of earlier steps and is committed with them. */
  private get isStep(): boolean {
    return this.scope.between !== undefined
  }

  /** A change of one object is short, so the client's signal is only checked if access rules are evaluated. */
  private optionsFor(client: TransactionClient | undefined, oid?: Oid): ChangeOptions {
    const signal = this.scope.database.restriction === undefined ? undefined : client?.signal
    return { oid, signal, memoryHolder: client?.memoryHolder }
  }

  private receiptOf<T>(once: Once<T> | undefined): Receipt<T> | undefined {
    return once === undefined ? undefined : this.scope.database.receipts.of(once)
  }

  private dryRun(report: (context: DryRunContext) => Promise<SchemaReport>): Promise<SchemaReport> {
    const { scope, isStep } = this
    const { limits, containers, session, expressions } = scope.database
    return scope.withMemory(async (memory) => {
      const context = { limits, containers, session, expressions, memory, isStep }
      return scope.readAt((snapshot, catalog) => report({ ...context, snapshot, catalog }))
    })
  }
}

/** The operations of the interface, for single requests and for steps of a transaction. */
export type Database = Pick<DatabaseOperations, keyof DatabaseOperations>

/** The database for one operation of a batch; `number`, from 1, makes retries reuse its OIDs. */
export type TransactionStep = (number: number) => Database

export type TransactionBody<T> = (step: TransactionStep, isRehearsal: boolean, between: BetweenSteps) => Promise<T>

async function createFrom(unit: UnitOfWork, creation: ObjectCreation, position?: number): Promise<Oid> {
  const command = await readCreateObject(unit.commandCatalog, creation.class, creation.attributes ?? {})
  return createObject(unit, command, position)
}

const packedObjectsMax = 10_000
/** For a load that is one commit. */
const linesOfTransactionMsMax = 50_000

async function createAll(
  unit: UnitOfWork,
  creations: readonly ObjectCreation[],
  between: BetweenSteps,
): Promise<Oid[]> {
  const { length } = creations
  // A receipt may have to be written as well, for which rows are unpacked without yielding.
  if (length > packedObjectsMax) return createEach(unit, creations, between)
  const packed = await createPacked(unit, [creations], length, between)
  return 'positions' in packed ? createEach(unit, creations, between) : packed
}

async function createEach(
  unit: UnitOfWork,
  creations: readonly ObjectCreation[],
  between: BetweenSteps,
): Promise<Oid[]> {
  const oids: Oid[] = []
  for (let position = 0; position < creations.length; position++) {
    // Expensive values yield on their own.
    const pause = position % 4 === 0 ? between() : undefined
    if (pause !== undefined) await pause
    const creation = creations[position] as ObjectCreation
    if (creation.attributes !== undefined) noteElementText(creations, position, creation.attributes)
    try {
      oids.push(await createFrom(unit, creation, position))
    } catch (error) {
      throw error instanceof AshlarError ? error.within(position) : error
    }
  }
  return oids
}
