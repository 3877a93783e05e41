/** One federated database: every operation of the interface as a method. */

import { runTransaction, type TransactionStep } from './batch/run-transaction.ts'
import { CatalogCache } from './catalog/catalog-cache.ts'
import { catalogVersionKey } from './catalog/catalog-keys.ts'
import { initializeCatalog } from './catalog/change-catalog.ts'
import type { Database } from './database.ts'
import { SchemaChanges } from './evolution/schema-changes.ts'
import { type IndexRecord, listIndexRecords, readIndexRecord } from './indexes/index-record.ts'
import { defaultEngineLimits, type EngineLimits } from './limits.ts'
import { ObjectChanges } from './links/object-changes.ts'
import type { Attributes } from './objects/apply-attributes.ts'
import { createObject } from './objects/create.ts'
import { deleteObject } from './objects/delete.ts'
import { flushObjects } from './objects/flush.ts'
import { readObject } from './objects/read.ts'
import { updateObject } from './objects/update.ts'
import type { QueryReply, QueryRequest } from './query/query-request.ts'
import type { QueryResources } from './query/query-resources.ts'
import { runQuery } from './query/run-query.ts'
import { StatementPlans } from './query/statement-plans.ts'
import { Containers } from './records/containers.ts'
import type { Catalog } from './schema/catalog.ts'
import type { DefineMode } from './schema/define-classes.ts'
import {
  type ClassRepresentation,
  listNamespaces,
  type NamespaceRepresentation,
  readClass,
  readNamespace,
  representClass,
} from './schema/representation.ts'
import { when, withSnapshot } from './store/awaitable.ts'
import type { Awaitable, Snapshot, Store } from './store/store.ts'
import { openSession, type Session } from './transaction/session.ts'
import { transact } from './transaction/transact.ts'
import { checkedOid, type Oid } from './types/oid.ts'
import { type VerifyReport, verifyStore } from './verify/verify.ts'

export interface OpenOptions {
  readonly alias: string
  /** Belongs to the federated database from here on, and is closed with it. */
  readonly store: Store
  readonly limits?: Partial<EngineLimits>
  /** The directory below which IMPORT CSV may read; without one it is refused. */
  readonly importDir?: string
}

export interface Statistics {
  readonly classes: number
  readonly indexes: number
  readonly storeEntries: number
  readonly storeBytes: number
}

export class FederatedDatabase implements Database {
  readonly alias: string
  readonly store: Store
  readonly limits: EngineLimits
  private readonly session: Session
  private readonly catalogs = new CatalogCache()
  private readonly containers: Containers
  private readonly schema: SchemaChanges
  private readonly plans = new StatementPlans()
  private readonly importDirectory: string | undefined

  private constructor(options: OpenOptions, session: Session) {
    this.alias = options.alias
    this.store = options.store
    this.limits = { ...defaultEngineLimits, ...options.limits }
    this.session = session
    this.containers = new Containers(options.store)
    this.schema = new SchemaChanges(options.store, session, this.catalogs, this.limits)
    this.importDirectory = options.importDir
  }

  static async open(options: OpenOptions): Promise<FederatedDatabase> {
    const session = await openSession(options.store)
    await initializeCatalog(options.store, session)
    const fd = new FederatedDatabase(options, session)
    await fd.schema.recover()
    return fd
  }

  /** POST (`create`) and PUT (`createOrExtend`) /v1/schema: class numbers in request order. */
  async defineClasses(descriptions: unknown, mode: DefineMode): Promise<string[]> {
    return (await this.schema.define(descriptions, mode)).map(String)
  }

  /** GET /v1/schema: by class number, without deleted ones. */
  listClasses(): Promise<ClassRepresentation[]> {
    return this.readCatalog((catalog) => catalog.classes.map((cls) => representClass(cls, catalog)))
  }

  /** GET /v1/schema/{class}: full name or class number. Throws ClassNotFound. */
  readClass(nameOrNumber: string): Promise<ClassRepresentation> {
    return this.readCatalog((catalog) => readClass(catalog, nameOrNumber))
  }

  /** GET /v1/schema/namespace: null (the default namespace) first. */
  listNamespaces(): Promise<(string | null)[]> {
    return this.readCatalog(listNamespaces)
  }

  /** GET /v1/schema/namespace/{name}. Throws NamespaceNotFound. */
  readNamespace(name: string): Promise<NamespaceRepresentation> {
    return this.readCatalog((catalog) => readNamespace(catalog, name))
  }

  /** POST /v1/object. */
  createObject(className: string, attributes: Attributes): Promise<Oid> {
    return this.write((changes) => createObject(changes, className, attributes))
  }

  /** Several creations in one commit: all or none. */
  createObjects(requests: readonly { class: string; attributes: Attributes }[]): Promise<Oid[]> {
    return this.write(async (changes) => {
      const oids: Oid[] = []
      for (const request of requests) oids.push(await createObject(changes, request.class, request.attributes))
      return oids
    })
  }

  /**
   * GET /v1/object/{oid}: the representation as JSON text in UTF-8; at once where the store answers at once.
   * Throws MalformedOid, ObjectNotFound.
   */
  readObject(oid: string): Awaitable<Buffer> {
    const parsed = checkedOid(oid)
    return withSnapshot(this.store, (snapshot) => {
      return when(this.catalogs.at(snapshot), (catalog) => readObject(snapshot, catalog, parsed))
    })
  }

  /** PUT /v1/object/{oid}. */
  async updateObject(oid: string, attributes: Attributes, className?: string): Promise<void> {
    const parsed = checkedOid(oid)
    await this.write((changes) => updateObject(changes, parsed, attributes, className))
  }

  /** DELETE /v1/object/{oid}. */
  async deleteObject(oid: string): Promise<void> {
    const parsed = checkedOid(oid)
    await this.write((changes) => deleteObject(changes, parsed))
  }

  /** POST /v1/query: statements of DO. Throws QuerySyntaxError, QueryError, LimitExceeded, and what changes throw. */
  query(request: QueryRequest): Promise<QueryReply> {
    return runQuery(request, this.resources())
  }

  /**
   * POST /v1/transaction: what `body` does is committed together or not at all; where others were first, it is done
   * again. With `isRehearsed`, `body` runs twice: all of it first, its reply kept, and then the steps that are kept,
   * with the same OIDs.
   */
  transaction<T>(body: (step: TransactionStep, isRehearsal: boolean) => Promise<T>, isRehearsed: boolean): Promise<T> {
    return runTransaction(body, isRehearsed, this.resources())
  }

  /** POST /v1/index. */
  async createIndex(body: unknown, options: { signal?: AbortSignal } = {}): Promise<{ name: string }> {
    const { name } = await this.schema.createIndex(body, options.signal)
    return { name }
  }

  /** GET /v1/index: by name. */
  listIndexes(): Promise<IndexRecord[]> {
    return this.readWithCatalog(listIndexRecords)
  }

  /** GET /v1/index/{name}. Throws IndexNotFound. */
  readIndex(name: string): Promise<IndexRecord> {
    return this.readWithCatalog((snapshot, catalog) => readIndexRecord(snapshot, catalog, name))
  }

  /** DELETE /v1/index/{name}. */
  deleteIndex(name: string): Promise<void> {
    return this.schema.deleteIndex(name)
  }

  /** Checks that every index entry has its object, every link its mirror, and the reverse. */
  async verify(): Promise<VerifyReport> {
    await this.schema.settle()
    return withSnapshot(this.store, async (snapshot) => verifyStore(snapshot, await this.catalogs.at(snapshot)))
  }

  async statistics(): Promise<Statistics> {
    const stats = await this.store.stats()
    const counts = await this.readCatalog(({ classes, indexes }) => {
      return { classes: classes.length, indexes: indexes.length }
    })
    return { ...counts, storeEntries: stats.entries, storeBytes: stats.bytes }
  }

  async close(): Promise<void> {
    await this.schema.settle()
    await this.store.close()
  }

  private write<T>(body: (changes: ObjectChanges) => Promise<T>): Promise<T> {
    return transact(this.store, this.limits.transactionAttemptsMax, async (transaction) => {
      const catalog = await this.catalogs.at(transaction.snapshot)
      transaction.expectRevision(catalogVersionKey, catalog.version)
      const changes = new ObjectChanges(transaction, catalog, this.containers, this.session)
      const result = await body(changes)
      await flushObjects(changes)
      return result
    })
  }

  private readCatalog<T>(read: (catalog: Catalog) => T): Promise<T> {
    return this.readWithCatalog(async (_snapshot, catalog) => read(catalog))
  }

  private async readWithCatalog<T>(read: (snapshot: Snapshot, catalog: Catalog) => Promise<T>): Promise<T> {
    return withSnapshot(this.store, async (snapshot) => read(snapshot, await this.catalogs.at(snapshot)))
  }

  private resources(): QueryResources {
    const { store, limits, catalogs, containers, session, schema, plans, importDirectory } = this
    return { store, limits, catalogs, containers, session, schema, plans, importDirectory }
  }
}
