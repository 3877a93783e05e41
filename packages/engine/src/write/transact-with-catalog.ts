/** A transaction under the catalog of its snapshot, or under the one last known, which its commit then requires. */
import type { CatalogCache } from '../catalog/catalog-cache.ts'
import type { EngineLimits } from '../limits.ts'
import type { Receipt } from '../receipts/receipt.ts'
import type { Catalog } from '../schema/catalog.ts'
import { SnapshotInvalidated } from '../store/snapshot-invalidated.ts'
import type { Store } from '../store/store.ts'
import type { TransactOptions } from '../transaction/transact.ts'
import type { Transaction } from '../transaction/transaction.ts'

import type { ChangeListener, ChangeRecorder } from './change-set.ts'
import { transactRecorded } from './transact-recorded.ts'

export interface CatalogSource {
  readonly store: Store
  readonly limits: EngineLimits
  readonly catalogs: CatalogCache
  /** Told of each commit. */
  readonly onChanges?: ChangeListener | undefined
}

export interface CatalogTransactOptions<T> extends TransactOptions {
  /**
   * The body reads nothing before its commit that makes up for another trip: where reading the catalog's version is one, the
   * first attempt takes the catalog as it was last, and the receipt for absent. What fails under these assumptions may be right
   * without them, and is then tried again.
   */
  readonly mayAssume?: boolean
  /** Of a request that is carried out once; put into the commit. */
  readonly receipt?: Receipt<T> | undefined
}

/** Throws what `transact`, `body` and `Receipt.check` throw. `body` requires the catalog's version if it changes anything by it. */
export function transactWithCatalog<T>(
  { store, limits, catalogs, onChanges }: CatalogSource,
  body: (transaction: Transaction, catalog: Catalog, recorder: ChangeRecorder | undefined) => Promise<T>,
  { mayAssume = false, receipt, size = limits, ...options }: CatalogTransactOptions<T>,
): Promise<T> {
  const checked = async (transaction: Transaction, recorder: ChangeRecorder | undefined): Promise<T> => {
    await receipt?.check(transaction)
    return body(transaction, await catalogs.at(transaction.snapshot), recorder)
  }
  const assuming = async (
    transaction: Transaction,
    catalog: Catalog,
    recorder: ChangeRecorder | undefined,
  ): Promise<T> => {
    receipt?.assumeAbsent()
    try {
      return await body(transaction, catalog, recorder)
    } catch (error) {
      await receipt?.check(transaction.snapshot)
      if ((await catalogs.at(transaction.snapshot)) !== catalog) throw new SnapshotInvalidated()
      throw error
    }
  }
  const attempt = async (transaction: Transaction, recorder: ChangeRecorder | undefined): Promise<T> => {
    const isAssuming = mayAssume && !store.capabilities.hasSynchronousReads && !transaction.isRetry
    const assumed = isAssuming ? catalogs.latest : undefined
    const result = await (assumed === undefined
      ? checked(transaction, recorder)
      : assuming(transaction, assumed, recorder))
    await receipt?.put(transaction, result)
    return result
  }
  return transactRecorded(store, limits.transactionAttemptsMax, onChanges, attempt, { ...options, size })
}
