/** The operations of the interface, as a federated database has them, and as a transaction has them. */
import type { BulkSettings, LineLoad } from './bulk/bulk-load.ts'
import type { CancelSignal } from './cancel-signal.ts'
import type { SchemaReport } from './ddl/schema-report.ts'
import type { Export, ExportRequest } from './export/export-objects.ts'
import type { IndexRecord } from './indexes/index-record.ts'
import type { Condition } from './objects/condition.ts'
import type { QueryReply, QueryRequest } from './query/query-request.ts'
import type { Effect } from './query/statements/statement-kind.ts'
import type { Once } from './receipts/receipt.ts'
import type { Attributes } from './requests/read-object-command.ts'
import type { AlterSettings, DefineMode, DefineSettings } from './schema/commands.ts'
import type { ClassRepresentation, NamespaceRepresentation } from './schema/representation.ts'
import type { Awaitable } from './store/store.ts'
import type { SliceWatch } from './store/time-slice.ts'
import type { BetweenSteps, TransactionClient } from './transaction/between-steps.ts'
import type { Oid } from './types/oid.ts'
import type { ChangeListener } from './write/change-set.ts'

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

export interface Database {
  /** Class descriptions as JSON; their class numbers, in the same order. */
  defineClasses(descriptions: unknown, mode: DefineMode, settings?: Partial<DefineSettings>): Promise<string[]>
  /** What `defineClasses` would change; nothing is changed. */
  previewClasses(descriptions: unknown, mode: DefineMode, settings?: Partial<DefineSettings>): Promise<SchemaReport>
  /** The change of a class as JSON; the class number. */
  alterClass(
    nameOrNumber: string,
    body: unknown,
    settings?: Partial<AlterSettings>,
    once?: Once<string>,
  ): Promise<string>
  /** What `alterClass` would change, touch and lose; nothing is changed. */
  previewAlteration(nameOrNumber: string, body: unknown, settings?: Partial<AlterSettings>): Promise<SchemaReport>
  /** By full name or class number. */
  deleteClass(nameOrNumber: string): Promise<void>
  /** What `deleteClass` would change and lose; nothing is changed. */
  previewDeletion(nameOrNumber: string): Promise<SchemaReport>
  /** By class number, without deleted ones. */
  listClasses(): Promise<readonly ClassRepresentation[]>
  /** The same as JSON text in UTF-8. */
  listClassesJson(): Promise<Buffer>
  /** By full name or class number. Throws ClassNotFound. */
  readClass(nameOrNumber: string): Promise<ClassRepresentation>
  /** null (the default namespace) first. */
  listNamespaces(): Promise<(string | null)[]>
  /** Throws NamespaceNotFound. */
  readNamespace(name: string): Promise<NamespaceRepresentation>
  /** `client`: where it goes while rules of a caller are asked, nothing is changed. Throws its signal's reason. */
  createObject(className: string, attributes: Attributes, client?: TransactionClient): Promise<Oid>
  /**
   * Several creations in one commit: all or none; their OIDs, in the same order. An error that is about one of them has places that begin with
   * its position. Throws what `createObject` does, LimitExceeded also for too many (`changedObjectsMax`) and where they take too long
   * (`transactionMsMax`), and the reason of the client's signal.
   */
  createObjects(creations: readonly ObjectCreation[], client?: TransactionClient): Promise<Oid[]>
  /** Before the first line of a load: whether objects can be found by that index. Throws IndexNotFound, ValueNotAllowed. */
  checkUpsertIndex(name: string): Promise<void>
  /** A load of many lines, in batches of which each is a commit. What its `flush` does ends with the client's signal. */
  beginLoad(settings: BulkSettings, client?: TransactionClient): LineLoad
  /**
   * The representation as JSON text in UTF-8; at once where the store answers at once.
   * `condition`: what a transaction is to hold until its commit; a single read leaves it to whoever asks. Throws MalformedOid,
   * ObjectNotFound, and PreconditionFailed in a transaction. `watch`: lets the read of an object of very many links go on.
   */
  readObject(oid: string, condition?: Condition, watch?: SliceWatch): Awaitable<Buffer>
  /** Throws PreconditionFailed where a condition is given and does not hold. `client`: as of `createObject`. */
  updateObject(
    oid: string,
    attributes: Attributes,
    className?: string,
    condition?: Condition,
    client?: TransactionClient,
  ): Promise<void>
  /** Likewise. */
  deleteObject(oid: string, condition?: Condition, client?: TransactionClient): Promise<void>
  /** Statements of DO. Throws QuerySyntaxError, QueryError, LimitExceeded, and what changes throw. */
  query(request: QueryRequest): Awaitable<QueryReply>
  /** An index description as JSON. */
  createIndex(body: unknown, options?: CreateIndexOptions): Promise<{ name: string }>
  /** By name. */
  listIndexes(): Promise<IndexRecord[]>
  /** Throws IndexNotFound. */
  readIndex(name: string): Promise<IndexRecord>
  /** Throws IndexNotFound. */
  deleteIndex(name: string): Promise<void>
}

/** The database for one operation of a batch; `number` from 1, by which its OIDs stay the same when it is done again. */
export type TransactionStep = (number: number) => Database

export type TransactionBody<T> = (step: TransactionStep, isRehearsal: boolean, between: BetweenSteps) => Promise<T>

/** A federated database as a caller uses it: its operations alone, once, and several as one. */
export interface CallerDatabase extends Database {
  /** All that the caller sees of the objects, the classes and the indexes, as one snapshot has it. Throws ClassNotFound, ClassNotReferenceable, MalformedOid. */
  export(request: ExportRequest): Promise<Export>
  /** Whether the query would read, change objects or change the schema; it is not run. Of a long text, later. Throws QuerySyntaxError, LimitExceeded, the signal's reason. */
  classify(request: QueryRequest): Awaitable<Effect>
  /** All that it would do, `read` always. Throws what `classify` does. */
  effects(request: QueryRequest): Awaitable<ReadonlySet<Effect>>
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
    client?: TransactionClient,
  ): Promise<T>
  /**
   * Work that does no more when it is done twice: its receipt is a commit of its own, after it. `isKept`: whether the result
   * is one to be kept. Throws AlreadyDone, and what else `Receipt.check` throws.
   */
  runOnce<T>(once: Once<T>, work: () => Promise<T>, isKept: (result: T) => boolean): Promise<T>
  /**
   * The same for one request, of whose own commits `listener` is told after whoever is told of all. What goes on in the background after
   * the request is not its own.
   */
  observedBy(listener: ChangeListener): CallerDatabase
}
