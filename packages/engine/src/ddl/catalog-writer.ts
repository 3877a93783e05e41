/** Changes the catalog, one commit each, and purges in the background what such changes leave behind. */

import { catalogVersionKey } from '../bytes/key-space.ts'
import type { CatalogCache } from '../catalog/catalog-cache.ts'
import { changeCatalog } from '../catalog/change-catalog.ts'
import { purgeDroppedIndexes } from '../indexes/purge-entries.ts'
import type { EngineLimits } from '../limits.ts'
import { purgeDroppedAttributeLinks } from '../links/purge-dropped-attribute-links.ts'
import { buildCatalog } from '../schema/build-catalog.ts'
import type { Catalog } from '../schema/catalog.ts'
import type { CatalogState } from '../schema/class-definition.ts'
import type { Awaitable, Store } from '../store/store.ts'
import type { StoreSession } from '../transaction/store-session.ts'
import { anySize, type Transaction } from '../transaction/transaction.ts'
import type { ChangeListener, ChangeRecorder } from '../write/change-set.ts'
import { transactWithCatalog } from '../write/transact-with-catalog.ts'

export class CatalogWriter {
  readonly store: Store
  readonly session: StoreSession
  readonly catalogs: CatalogCache
  readonly limits: EngineLimits
  /** Called with failures of background work, which no request could be told of. */
  readonly onFault: (error: unknown) => void
  readonly onChanges: ChangeListener | undefined
  private purging: Promise<void> = Promise.resolve()

  constructor(
    store: Store,
    session: StoreSession,
    catalogs: CatalogCache,
    limits: EngineLimits,
    onFault: (error: unknown) => void,
    onChanges?: ChangeListener,
  ) {
    this.store = store
    this.session = session
    this.catalogs = catalogs
    this.limits = limits
    this.onFault = onFault
    this.onChanges = onChanges
  }

  /**
   * Commits the state that `decide` returns, with what else it has put into the transaction. If others change the catalog first, `decide`
   * is called again with theirs.
   */
  change<T>(
    decide: (catalog: Catalog, transaction: Transaction) => Awaitable<{ state: CatalogState; result: T }>,
  ): Promise<T> {
    const attempt = async (transaction: Transaction, catalog: Catalog, recorder?: ChangeRecorder): Promise<T> => {
      const { state, result } = await decide(catalog, transaction)
      if (state !== catalog.state) {
        transaction.requireRevision(catalogVersionKey, catalog.version)
        const version = await changeCatalog(transaction, catalog, state, this.session)
        recorder?.catalog(catalog.state, state, version)
        await this.catalogs.announce(buildCatalog(state, version))
      }
      return result
    }
    return transactWithCatalog(this, attempt, { size: anySize })
  }

  /** If purging fails, what remains stays listed in the catalog; the next start or deletion continues with it. */
  purgeInBackground(): void {
    const purge = async (): Promise<void> => {
      await purgeDroppedIndexes(this.store)
      await purgeDroppedAttributeLinks(this.store)
    }
    this.purging = this.purging.then(purge).catch(this.onFault)
  }

  /** Waits for the background work. */
  async drain(): Promise<void> {
    await this.purging
  }
}
