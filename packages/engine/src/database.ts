/** The operations of the interface, as a federated database has them, and as a transaction has them. */
import type { IndexRecord } from './indexes/index-record.ts'
import type { Attributes } from './objects/apply-attributes.ts'
import type { QueryReply, QueryRequest } from './query/query-request.ts'
import type { DefineMode } from './schema/define-classes.ts'
import type { ClassRepresentation, NamespaceRepresentation } from './schema/representation.ts'
import type { Awaitable } from './store/store.ts'
import type { Oid } from './types/oid.ts'

export interface Database {
  /** POST (`create`) and PUT (`createOrExtend`) /v1/schema: class numbers in request order. */
  defineClasses(descriptions: unknown, mode: DefineMode): Promise<string[]>
  /** GET /v1/schema: by class number, without deleted ones. */
  listClasses(): Promise<ClassRepresentation[]>
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
   * Throws MalformedOid, ObjectNotFound.
   */
  readObject(oid: string): Awaitable<Buffer>
  /** PUT /v1/object/{oid}. */
  updateObject(oid: string, attributes: Attributes, className?: string): Promise<void>
  /** DELETE /v1/object/{oid}. */
  deleteObject(oid: string): Promise<void>
  /** POST /v1/query: statements of DO. Throws QuerySyntaxError, QueryError, LimitExceeded, and what changes throw. */
  query(request: QueryRequest): Promise<QueryReply>
  /** POST /v1/index. */
  createIndex(body: unknown, options?: { signal?: AbortSignal }): Promise<{ name: string }>
  /** GET /v1/index: by name. */
  listIndexes(): Promise<IndexRecord[]>
  /** GET /v1/index/{name}. Throws IndexNotFound. */
  readIndex(name: string): Promise<IndexRecord>
  /** DELETE /v1/index/{name}. */
  deleteIndex(name: string): Promise<void>
}
