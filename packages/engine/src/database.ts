/** The operations of the interface, as a federated database has them, and as a transaction has them. */
import type { SchemaReport } from './ddl/schema-report.ts'
import type { IndexRecord } from './indexes/index-record.ts'
import type { Condition } from './objects/condition.ts'
import type { QueryReply, QueryRequest } from './query/query-request.ts'
import type { Once } from './receipts/receipt.ts'
import type { Attributes } from './requests/read-object-command.ts'
import type { AlterSettings, DefineMode } from './schema/commands.ts'
import type { ClassRepresentation, NamespaceRepresentation } from './schema/representation.ts'
import type { Awaitable } from './store/store.ts'
import type { Oid } from './types/oid.ts'

export interface CreateIndexOptions {
  /** Ends a build that is waited for, and leaves no index. */
  readonly signal?: AbortSignal
  /** `Prefer: respond-async`. */
  readonly isBackground?: boolean
  readonly once?: Once<{ readonly name: string }>
}

export interface Database {
  /** POST (`create`) and PUT (`createOrExtend`) /v1/schema: class numbers in request order. */
  defineClasses(descriptions: unknown, mode: DefineMode): Promise<string[]>
  /** The same with `?dryRun=true`. */
  planClasses(descriptions: unknown, mode: DefineMode): Promise<SchemaReport>
  /** PUT /v1/schema/{class}: the class number. */
  alterClass(
    nameOrNumber: string,
    body: unknown,
    settings?: Partial<AlterSettings>,
    once?: Once<string>,
  ): Promise<string>
  /** The same with `?dryRun=true`. */
  planAlteration(nameOrNumber: string, body: unknown, settings?: Partial<AlterSettings>): Promise<SchemaReport>
  /** DELETE /v1/schema/{class}. */
  deleteClass(nameOrNumber: string): Promise<void>
  /** The same with `?dryRun=true`. */
  planDeletion(nameOrNumber: string): Promise<SchemaReport>
  /** GET /v1/schema: by class number, without deleted ones. */
  listClasses(): Promise<readonly ClassRepresentation[]>
  /** The same as JSON text in UTF-8. */
  listClassesJson(): Promise<Buffer>
  /** GET /v1/schema/{class}: full name or class number. Throws ClassNotFound. */
  readClass(nameOrNumber: string): Promise<ClassRepresentation>
  /** GET /v1/schema/namespace: null (the default namespace) first. */
  listNamespaces(): Promise<(string | null)[]>
  /** GET /v1/schema/namespace/{name}. Throws NamespaceNotFound. */
  readNamespace(name: string): Promise<NamespaceRepresentation>
  /** POST /v1/object. */
  createObject(className: string, attributes: Attributes): Promise<Oid>
  /**
   * GET /v1/object/{oid}: the representation as JSON text in UTF-8; at once where the store answers at once.
   * `condition`: what a transaction is to hold until its commit; a single read leaves it to whoever asks. Throws MalformedOid,
   * ObjectNotFound, and PreconditionFailed in a transaction.
   */
  readObject(oid: string, condition?: Condition): Awaitable<Buffer>
  /** PUT /v1/object/{oid}. Throws PreconditionFailed where a condition is given and does not hold. */
  updateObject(oid: string, attributes: Attributes, className?: string, condition?: Condition): Promise<void>
  /** DELETE /v1/object/{oid}. */
  deleteObject(oid: string, condition?: Condition): Promise<void>
  /** POST /v1/query: statements of DO. Throws QuerySyntaxError, QueryError, LimitExceeded, and what changes throw. */
  query(request: QueryRequest): Promise<QueryReply>
  /** POST /v1/index. */
  createIndex(body: unknown, options?: CreateIndexOptions): Promise<{ name: string }>
  /** GET /v1/index: by name. */
  listIndexes(): Promise<IndexRecord[]>
  /** GET /v1/index/{name}. Throws IndexNotFound. */
  readIndex(name: string): Promise<IndexRecord>
  /** DELETE /v1/index/{name}. */
  deleteIndex(name: string): Promise<void>
}
