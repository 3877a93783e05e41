/** A change of the catalog as one commit, and what such changes leave to be cleared in the background. */

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
  /** Told what fails in the background, where no request could be. */
  readonly onFault: (error: unknown) => void
  private clearing: Promise<void> = Promise.resolve()

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
   * `decide` may be asked several times: where others changed the catalog first, it decides again. `also`: puts what else
   * belongs into the commit.
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

  /** A failure is not lost: the garbage stays listed, and the next start or deletion goes on with it. */
  purgeInBackground(): void {
    const clear = async (): Promise<void> => {
      await clearDroppedIndexes(this.store)
      await purgeDroppedAttributeLinks(this.store)
    }
    this.clearing = this.clearing.then(clear).catch(this.onFault)
  }

  /** Waits for work in the background. */
  async drain(): Promise<void> {
    await this.clearing
  }
}
