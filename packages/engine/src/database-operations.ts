/** The operations of the interface, written once for single requests and for steps of a transaction. */

import type { RequestMemory } from './budget/request-memory.ts'
import { AtomicLoad, type CommitHeld } from './bulk/atomic-load.ts'
import { BulkLoad, type BulkSettings, type CommitBatch, type LineLoad } from './bulk/bulk-load.ts'
import { carryOutHeld } from './bulk/carry-out-held.ts'
import { createPacked } from './bulk/create-packed.ts'
import { HeldLines } from './bulk/held-lines.ts'
import { runBatch } from './bulk/run-batch.ts'
import { askableIndex } from './bulk/unique-keys.ts'
import type { CancelSignal } from './cancel-signal.ts'
import { type ClassRecord, readClassRecord } from './catalog/class-record.ts'
import { listClasses } from './catalog/list-classes.ts'
import type { AlteredClasses } from './ddl/background-alters.ts'
import type { BuildOptions } from './ddl/ddl-executor.ts'
import { type DryRunContext, reportAlteration, reportDefinitions, reportDeletion } from './ddl/dry-run.ts'
import type { SchemaReport } from './ddl/schema-report.ts'
import { AshlarError } from './errors.ts'
import { type IndexRecord, listIndexRecords, readIndexRecord } from './indexes/index-record.ts'
import { type Condition, checkCondition } from './objects/condition.ts'
import { createObject } from './objects/create.ts'
import { deleteObject, tryDeletion } from './objects/delete.ts'
import type { DeletionReport } from './objects/deletion-report.ts'
import { readObject } from './objects/read.ts'
import { updateObject } from './objects/update.ts'
import type { QueryReply, QueryRequest } from './query/query-request.ts'
import type { Once, Receipt } from './receipts/receipt.ts'
import { noteElementText } from './requests/given-text.ts'
import { readAlterClass } from './requests/read-alter-class.ts'
import { readDefineClassesInPieces } from './requests/read-class-descriptions.ts'
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
import { inTurnsIfLong, type SliceWatch } from './store/time-slice.ts'
import { type BetweenSteps, betweenSteps, type TransactionClient } from './transaction/between-steps.ts'
import { checkedOid, malformedOid, type Oid, parseOid } from './types/oid.ts'
import type { ClassNumber } from './types/type-spec.ts'
import type { ChangeOptions } from './write/change-objects.ts'
import type { OpenDatabase } from './write/open-database.ts'
import type { UnitOfWork } from './write/unit-of-work.ts'

/** Where an operation reads, and what its change is part of: a request of its own, or a transaction of which it is a step. */
export interface OperationScope {
  readonly database: OpenDatabase
  readonly schema: SchemaExecutor
  /** Of a transaction: what happens between two of several changes. Undefined for requests of their own. */
  readonly between: BetweenSteps | undefined
  /** `oid`: the object that is read, where it is one. `watch`: of the request, where what the caller sees may take long to find out. */
  readAt<T>(
    read: (snapshot: Snapshot, catalog: Catalog) => Awaitable<T>,
    oid?: Oid,
    watch?: SnapshotWatch,
  ): Awaitable<T>
  change<T>(body: (unit: UnitOfWork) => Promise<T>, options?: ChangeOptions): Promise<T>
  /** Of the transaction, where there is one; else released when `use` is done. */
  withMemory<T>(use: (memory: RequestMemory) => Promise<T>): Promise<T>
  /** Statements of DO. Throws QuerySyntaxError, QueryError, LimitExceeded, and what changes throw. */
  query(request: QueryRequest): Awaitable<QueryReply>
}

/** Who carries out the commands of the schema: with commits of their own (`DdlExecutor`), or within a transaction (`CatalogTransaction`). */
export interface SchemaExecutor {
  /** Class descriptions as JSON; their class numbers, in the same order. */
  defineClasses(command: DefineClasses): Promise<readonly ClassNumber[]>
  /** The change of a class as JSON; the class number. */
  alterClass(command: AlterClass, receipt?: Receipt<ClassNumber>): Promise<ClassNumber>
  /** Likewise; a change that is made online goes on in the background. */
  startAlter(command: AlterClass, receipt?: Receipt<AlteredClasses>): Promise<AlteredClasses>
  /** By full name or class number. */
  deleteClass(command: DeleteClass): Promise<void>
  /** An index description as JSON. */
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
  /** Ends a build that is waited for, and leaves no index. */
  readonly signal?: CancelSignal
  /** The build goes on after the index is announced, and after a restart. */
  readonly isBackground?: boolean
  readonly once?: Once<{ readonly name: string }>
}

/** An object to be created, as JSON. */
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
    const command = await inTurnsIfLong(readDefineClassesInPieces(descriptions, mode, settings))
    return (await this.scope.schema.defineClasses(command)).map(String)
  }

  /** What `defineClasses` would change; nothing is changed. */
  async previewClasses(
    descriptions: unknown,
    mode: DefineMode,
    settings?: Partial<DefineSettings>,
  ): Promise<SchemaReport> {
    const command = await inTurnsIfLong(readDefineClassesInPieces(descriptions, mode, settings))
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

  /** What `deleteClass` would change and lose; nothing is changed. */
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

  /** null (the default namespace) first. */
  async listNamespaces(): Promise<(string | null)[]> {
    return this.scope.readAt((_snapshot, catalog) => listNamespaces(catalog))
  }

  /** Throws NamespaceNotFound. */
  async readNamespace(name: string): Promise<NamespaceRepresentation> {
    return this.scope.readAt((_snapshot, catalog) => readNamespace(catalog, name))
  }

  /** `client`: where it goes while rules of a caller are asked, nothing is changed. Throws its signal's reason. */
  createObject(className: string, attributes: Attributes, client?: TransactionClient): Promise<Oid> {
    return this.scope.change((unit) => createFrom(unit, { class: className, attributes }), this.optionsFor(client))
  }

  /**
   * Several creations in one commit: all or none; their OIDs, in the same order. An error that is about one of them has places that begin with
   * its position. Throws what `createObject` does, LimitExceeded also for too many (`changedObjectsMax`) and where they take too long
   * (`transactionMsMax`), and the reason of the client's signal.
   */
  createObjects(creations: readonly ObjectCreation[], client: TransactionClient = {}): Promise<Oid[]> {
    const { database, between = betweenSteps(database.limits.transactionMsMax, client) } = this.scope
    const { signal, memoryHolder } = client
    const options = { objects: creations.length, signal, memoryHolder }
    return this.scope.change((unit) => createAll(unit, creations, between), options)
  }

  /** Before the first line of a load: whether objects can be found by that index. Throws IndexNotFound, ValueNotAllowed. */
  async checkUpsertIndex(name: string): Promise<void> {
    await this.scope.readAt((_snapshot, catalog) => void askableIndex(catalog, name))
  }

  /** False where no class has an attribute of type json: the texts of lines are not needed then. */
  get mayHoldJson(): boolean {
    const { latest } = this.scope.database.catalogs
    return latest === undefined || hasJsonAttribute(latest)
  }

  /** A load of many lines, in batches of which each is a commit. What its `flush` does ends with the client's signal. */
  beginLoad(settings: BulkSettings, client: TransactionClient = {}): LineLoad {
    const { upsertOn, onError, isAtomic = false } = settings
    if (isAtomic) return this.beginAtomicLoad(upsertOn, client)
    const { signal, memoryHolder } = client
    const tellsAll = onError === 'skip'
    const { limits } = this.scope.database
    const commit: CommitBatch = (commands, names) => {
      const between = betweenSteps(limits.transactionMsMax, client)
      const options = { objects: commands.length, signal, memoryHolder }
      return this.scope.change((unit) => runBatch(unit, commands, { names, upsertOn, tellsAll, between }), options)
    }
    return new BulkLoad(commit, settings)
  }

  private beginAtomicLoad(upsertOn: string | undefined, client: TransactionClient): LineLoad {
    const { signal, memoryHolder } = client
    const { limits, memory, temporary } = this.scope.database
    const { atomicLoadEntriesMax, atomicLoadBytesMax, transactionMsMax } = limits
    const size = { commitEntriesMax: atomicLoadEntriesMax, commitBytesMax: atomicLoadBytesMax, isLoad: true }
    const commit: CommitHeld = (lines, held) => {
      // Who sends more may take longer.
      const between = betweenSteps(transactionMsMax * Math.ceil(lines.count / linesOfTransactionMsMax), client)
      return this.scope.change((unit) => carryOutHeld(unit, lines, { ...held, between }), {
        size,
        signal,
        memoryHolder,
      })
    }
    return new AtomicLoad(commit, upsertOn, new HeldLines(limits, memory, temporary, memoryHolder))
  }

  /**
   * The representation as JSON text in UTF-8; at once where the store answers at once.
   * `condition`: what a transaction is to hold until its commit; a single read leaves it to whoever asks. Throws MalformedOid,
   * ObjectNotFound, and PreconditionFailed in a transaction. `watch`: lets the read of an object of very many links go on.
   */
  readObject(oid: string, condition?: Condition, watch?: SliceWatch): Awaitable<Buffer> {
    const parsed = checkedOid(oid)
    const read = (snapshot: Snapshot, catalog: Catalog): Awaitable<Buffer> => {
      return readObject(snapshot, catalog, parsed, this.scope, watch)
    }
    if (condition === undefined || !this.isStep) return this.scope.readAt(read, parsed, watch)
    const held = this.scope.change((unit) => checkCondition(unit, parsed, condition, 'read'))
    return held.then(() => this.scope.readAt(read, parsed, watch))
  }

  /** Throws PreconditionFailed where a condition is given and does not hold. `client`: as of `createObject`. */
  updateObject(
    oid: string,
    attributes: Attributes,
    className?: string,
    condition?: Condition,
    client?: TransactionClient,
  ): Promise<void> {
    const parsed = parseOid(oid)
    if (parsed === undefined) return Promise.reject(malformedOid(oid))
    const update = (unit: UnitOfWork): Promise<void> =>
      updateObject(unit, readUpdateObject(unit.commandCatalog, parsed, attributes, className))
    return this.scope.change(
      condition === undefined
        ? update
        : (unit) => checkCondition(unit, parsed, condition, 'update').then(() => update(unit)),
      this.optionsFor(client, parsed),
    )
  }

  /** Likewise. */
  deleteObject(oid: string, condition?: Condition, client?: TransactionClient): Promise<void> {
    const parsed = parseOid(oid)
    if (parsed === undefined) return Promise.reject(malformedOid(oid))
    const remove = (unit: UnitOfWork): Promise<void> => deleteObject(unit, { oid: parsed })
    return this.scope.change(
      condition === undefined
        ? remove
        : (unit) => checkCondition(unit, parsed, condition, 'delete').then(() => remove(unit)),
      this.optionsFor(client, parsed),
    )
  }

  /** What `deleteObject` would delete and clear, or its refusal; nothing is changed. */
  previewObjectDeletion(oid: string, condition?: Condition, client?: TransactionClient): Promise<DeletionReport> {
    const parsed = parseOid(oid)
    if (parsed === undefined) return Promise.reject(malformedOid(oid))
    const tried = async (unit: UnitOfWork): Promise<DeletionReport> => {
      const rehearsal = unit.rehearsal()
      if (condition !== undefined) await checkCondition(rehearsal, parsed, condition, 'delete')
      return tryDeletion(rehearsal, { oid: parsed })
    }
    return this.scope.change(tried, { ...this.optionsFor(client, parsed), objects: 0 })
  }

  /** By name. */
  async listIndexes(): Promise<IndexRecord[]> {
    return this.scope.readAt(listIndexRecords)
  }

  /** Throws IndexNotFound. */
  async readIndex(name: string): Promise<IndexRecord> {
    return this.scope.readAt((snapshot, catalog) => readIndexRecord(snapshot, catalog, name))
  }

  /** A step of a transaction, which sees what those before it did and is committed with them. */
  private get isStep(): boolean {
    return this.scope.between !== undefined
  }

  /** Of one object, whose change is short: whether the client has gone is asked only where there are rules. */
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

/** The operations of the interface, as a federated database has them, and as a transaction has them. */
export type Database = Pick<DatabaseOperations, keyof DatabaseOperations>

/** The database for one operation of a batch; `number` from 1, by which its OIDs stay the same when it is done again. */
export type TransactionStep = (number: number) => Database

export type TransactionBody<T> = (step: TransactionStep, isRehearsal: boolean, between: BetweenSteps) => Promise<T>

/** `position`: of several. */
async function createFrom(unit: UnitOfWork, creation: ObjectCreation, position?: number): Promise<Oid> {
  return createObject(unit, readCreateObject(unit.commandCatalog, creation.class, creation.attributes ?? {}), position)
}

const packedObjectsMax = 10_000
/** Of a load that is one commit. */
const linesOfTransactionMsMax = 50_000

async function createAll(
  unit: UnitOfWork,
  creations: readonly ObjectCreation[],
  between: BetweenSteps,
): Promise<Oid[]> {
  const { length } = creations
  // A receipt may have to be written beside them, for which they are unpacked in one piece.
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
    // Of values that take long others have turns in between in any case.
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
