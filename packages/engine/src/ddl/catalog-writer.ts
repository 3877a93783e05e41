/** Changes the catalog, one commit each, and purges in the background what such changes leave behind. */

import { catalogVersionKey } from '../bytes/key-space.ts'
import type { CatalogCache } from '../catalog/catalog-cache.ts'
import { changeCatalog } from '../catalog/change-catalog.ts'
import { clearDroppedIndexes } from '../indexes/clear-entries.ts'
import type { EngineLimits } from '../limits.ts'
import { purgeDroppedAttributeLinks } from '../links/purge-dropped-attribute-links.ts'
import type { Catalog } from '../schema/catalog.ts'
import type { CatalogState } from '../schema/class-definition.ts'
import type { Store } from '../store/store.ts'
import type { Session } from '../transaction/session.ts'
import { transact } from '../transaction/transact.ts'
import { anySize, type Transaction } from '../transaction/transaction.ts'

export class CatalogWriter {
  readonly store: Store
  readonly session: Session
  readonly catalogs: CatalogCache
  readonly limits: EngineLimits
  /** Called with failures of background work, which no request could be told of. */
  readonly onFault: (error: unknown) => void
  private purging: Promise<void> = Promise.resolve()

  constructor(
    store: Store,
    session: Session,
    catalogs: CatalogCache,
    limits: EngineLimits,
    onFault: (error: unknown) => void,
  ) {
    this.store = store
    this.session = session
    this.catalogs = catalogs
    this.limits = limits
    this.onFault = onFault
  }

  /**
   * Commits the state that `decide` returns. If others change the catalog first, `decide` is called again with theirs. `also` adds
   * to the same commit.
   */
  change<T>(
    decide: (catalog: Catalog) => { state: CatalogState; result: T },
    also?: (transaction: Transaction, result: T) => Promise<void> | undefined,
  ): Promise<T> {
    const attempt = async (transaction: Transaction): Promise<T> => {
      const catalog = await this.catalogs.at(transaction.snapshot)
      const { state, result } = decide(catalog)
      if (state !== catalog.state) {
        transaction.expectRevision(catalogVersionKey, catalog.version)
        await changeCatalog(transaction, catalog, state, this.session)
      }
      await also?.(transaction, result)
      return result
    }
    return transact(this.store, this.limits.transactionAttemptsMax, attempt, { size: anySize })
  }

  /** If purging fails, the garbage stays listed in the catalog; the next start or deletion continues with it. */
  purgeInBackground(): void {
    const purge = async (): Promise<void> => {
      await clearDroppedIndexes(this.store)
      await purgeDroppedAttributeLinks(this.store)
    }
    this.purging = this.purging.then(purge).catch(this.onFault)
  }

  /** Waits for the background work. */
  async drain(): Promise<void> {
    await this.purging
  }
}
