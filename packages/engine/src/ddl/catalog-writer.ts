/** Changes the catalog in single commits, and purges obsolete entries in the background. */

import { catalogVersionKey } from '../bytes/key-space.ts'
import { changeCatalog } from '../catalog/change-catalog.ts'
import { assert } from '../errors.ts'
import { purgeDroppedIndexes } from '../indexes/purge-entries.ts'
import { purgeDroppedAttributeLinks } from '../links/purge-dropped-attribute-links.ts'
import { buildCatalog } from '../schema/build-catalog.ts'
import type { Catalog } from '../schema/catalog.ts'
import type { CatalogState } from '../schema/class-definition.ts'
import { unfilledReferrers } from '../schema/referrer-indexes.ts'
import { anySize } from '../transaction/commit-size.ts'
import type { Transaction } from '../transaction/transaction.ts'
import type { ChangeRecorder } from '../write/change-set.ts'
import type { OpenDatabase } from '../write/open-database.ts'
import { transactWithCatalog } from '../write/transact-with-catalog.ts'

export class CatalogWriter {
  private readonly database: OpenDatabase
  private purging: Promise<void> = Promise.resolve()

  /** The writer that runs background work; this one by default. */
  private readonly main: CatalogWriter

  constructor(database: OpenDatabase, main?: CatalogWriter) {
    this.database = database
    this.main = main ?? this
  }

  /** Returns a writer for the same database with other request-specific parts: the listeners and the caller's restriction. */
  on(database: OpenDatabase): CatalogWriter {
    return new CatalogWriter(database, this.main)
  }

  /**
   * Commits the state returned by `decide` together with its writes to the transaction. After a concurrent change of the
   * catalog, `decide` runs again. Throws Forbidden if the caller may not make the change; rolling back an unfinished change is
   * always allowed.
   */
  change<T>(
    decide: (catalog: Catalog, transaction: Transaction) => Promise<{ state: CatalogState; result: T }>,
    isRollback = false,
  ): Promise<T> {
    const { catalogs, session, restriction } = this.database
    const attempt = async (transaction: Transaction, catalog: Catalog, recorder?: ChangeRecorder): Promise<T> => {
      const { state, result } = await decide(catalog, transaction)
      if (state !== catalog.state) {
        assert(
          unfilledReferrers(catalog.state, state).length === 0,
          'who refers is told from a transaction of objects on',
        )
        if (!isRollback) restriction?.checkSchema(catalog, state)
        transaction.requireRevision(catalogVersionKey, catalog.version)
        const version = await changeCatalog(transaction, catalog, state, session)
        recorder?.catalog(catalog.state, state)
        await catalogs.announce(buildCatalog(state, version))
      }
      return result
    }
    return transactWithCatalog(this.database, attempt, { size: anySize })
  }

  /** If purging fails, the catalog still lists the remaining entries, and the next start or deletion continues. */
  purgeInBackground(): void {
    if (this.main !== this) {
      this.main.purgeInBackground()
      return
    }
    const { store, onFault, mainThread } = this.database
    if (mainThread !== undefined) {
      mainThread.purge()
      return
    }
    const purge = async (): Promise<void> => {
      await purgeDroppedIndexes(store)
      await purgeDroppedAttributeLinks(store)
    }
    this.purging = this.purging.then(purge).catch(onFault)
  }

  /** Waits for the background work. */
  async drain(): Promise<void> {
    await this.main.purging
  }
}
