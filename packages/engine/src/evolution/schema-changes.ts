/** Changes of the catalog: classes defined or extended, indexes added and dropped. */
import type { CatalogCache } from '../catalog/catalog-cache.ts'
import { catalogVersionKey } from '../catalog/catalog-keys.ts'
import { changeCatalog } from '../catalog/change-catalog.ts'
import { AshlarError } from '../errors.ts'
import { buildIndexEntries } from '../indexes/build.ts'
import { clearDroppedIndexes } from '../indexes/clear-entries.ts'
import type { EngineLimits } from '../limits.ts'
import type { Catalog } from '../schema/catalog.ts'
import type { CatalogState, IndexDefinition } from '../schema/class-definition.ts'
import { readClassDescriptions } from '../schema/class-description.ts'
import { type DefineMode, defineClasses } from '../schema/define-classes.ts'
import { defineIndex, readIndexRequest, withIndexState, withoutIndex } from '../schema/index-definition.ts'
import { shownText } from '../schema/request-body.ts'
import type { Store } from '../store/store.ts'
import type { Session } from '../transaction/session.ts'
import { transact } from '../transaction/transact.ts'
import type { ClassNumber } from '../types/type-spec.ts'

export class SchemaChanges {
  private readonly store: Store
  private readonly session: Session
  private readonly catalogs: CatalogCache
  private readonly limits: EngineLimits
  private clearing: Promise<void> = Promise.resolve()

  constructor(store: Store, session: Session, catalogs: CatalogCache, limits: EngineLimits) {
    this.store = store
    this.session = session
    this.catalogs = catalogs
    this.limits = limits
  }

  /** POST and PUT /v1/schema: all classes or none. Returns a class number a description, in request order. */
  async define(body: unknown, mode: DefineMode): Promise<readonly ClassNumber[]> {
    const descriptions = readClassDescriptions(body)
    return this.change((catalog) => {
      const { state, classNumbers } = defineClasses(catalog, descriptions, mode, this.limits.classAttributesMax)
      return { state, result: classNumbers }
    })
  }

  /**
   * POST /v1/index: in the catalog first, so that writers keep it; then over the objects that exist; then ready.
   * Where that fails, or the signal aborts, no index is left. Throws what the body's checks throw, and UniqueViolation.
   */
  async createIndex(body: unknown, signal?: AbortSignal): Promise<IndexDefinition> {
    const request = readIndexRequest(body)
    const definition = await this.change((catalog) => {
      const { state, definition } = defineIndex(catalog, request, this.limits.indexKeyAttributesMax)
      return { state, result: definition }
    })
    try {
      const context = {
        store: this.store,
        batchObjects: this.limits.indexBuildBatchObjects,
        attemptsMax: this.limits.transactionAttemptsMax,
        catalogAt: (snapshot: Parameters<CatalogCache['at']>[0]) => this.catalogs.at(snapshot),
      }
      await buildIndexEntries(context, definition.number, signal)
      await this.change((catalog) => {
        if (catalog.indexByNumber(definition.number) === undefined) {
          throw new AshlarError('IndexNotFound', `Index '${definition.name}' was deleted while it was being built.`)
        }
        return { state: withIndexState(catalog.state, definition.number, 'ready'), result: undefined }
      })
    } catch (error) {
      await this.drop((index) => index.number === definition.number)
      throw error
    }
    return definition
  }

  /** DELETE /v1/index/{name}. Throws IndexNotFound. */
  async deleteIndex(name: string): Promise<void> {
    const dropped = await this.drop((index) => index.name === name)
    if (dropped === 0) throw new AshlarError('IndexNotFound', `There is no index '${shownText(name)}'.`)
  }

  /** What a stop left behind: indexes whose build did not end, and entries of dropped ones. */
  async recover(): Promise<void> {
    await this.drop((index) => index.state === 'building')
    this.clearInBackground()
  }

  /** Waits for work in the background. */
  async settle(): Promise<void> {
    await this.clearing
  }

  private async drop(isDropped: (index: IndexDefinition) => boolean): Promise<number> {
    const count = await this.change((catalog) => {
      const dropped = catalog.indexes.filter(isDropped)
      let { state } = catalog
      for (const index of dropped) state = withoutIndex(state, index.number)
      return { state, result: dropped.length }
    })
    if (count > 0) this.clearInBackground()
    return count
  }

  /** A failure is not lost: the garbage stays listed, and the next start or deletion goes on with it. */
  clearInBackground(): void {
    this.clearing = this.clearing.then(() => clearDroppedIndexes(this.store)).catch(() => undefined)
  }

  private change<T>(decide: (catalog: Catalog) => { state: CatalogState; result: T }): Promise<T> {
    return transact(this.store, this.limits.transactionAttemptsMax, async (transaction) => {
      const catalog = await this.catalogs.at(transaction.snapshot)
      const { state, result } = decide(catalog)
      if (state !== catalog.state) {
        transaction.expectRevision(catalogVersionKey, catalog.version)
        changeCatalog(transaction, catalog, state, this.session)
      }
      return result
    })
  }
}
