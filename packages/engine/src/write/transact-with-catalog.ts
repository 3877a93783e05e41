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

type Body<T> = (transaction: Transaction, catalog: Catalog, recorder: ChangeRecorder | undefined) => Promise<T>

/** Throws what `transact`, `body` and `Receipt.check` throw. `body` requires the catalog's version if it changes anything by it. */
export function transactWithCatalog<T>(
  source: CatalogSource,
  body: Body<T>,
  options: CatalogTransactOptions<T>,
): Promise<T> {
  const { store, limits, onChanges } = source
  const { mayAssume = false, receipt, prefetchKeys, signal, memory, size = limits, onCommitted } = options
  const isPlain = receipt === undefined && (!mayAssume || store.capabilities.hasSynchronousReads)
  return transactRecorded(
    store,
    limits.transactionAttemptsMax,
    onChanges,
    isPlain ? underCatalog(source, body) : withReceipt(source, body, options),
    // Written out: on the way of each small change, a spread costs more than most of what else is done for it.
    { prefetchKeys, signal, memory, size, onCommitted },
  )
}

type Attempt<T> = (transaction: Transaction, recorder?: ChangeRecorder) => Promise<T>

/** Without a wait where the catalog is known. */
function underCatalog<T>({ catalogs }: CatalogSource, body: Body<T>): Attempt<T> {
  return (transaction, recorder) => {
    const catalog = catalogs.at(transaction.snapshot)
    if (catalog instanceof Promise) return catalog.then((loaded) => body(transaction, loaded, recorder))
    return body(transaction, catalog, recorder)
  }
}

function withReceipt<T>(
  source: CatalogSource,
  body: Body<T>,
  { mayAssume, receipt }: CatalogTransactOptions<T>,
): Attempt<T> {
  const { store, catalogs } = source
  const read = underCatalog(source, body)
  const checked: Attempt<T> = async (transaction, recorder) => {
    await receipt?.check(transaction)
    return read(transaction, recorder)
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
  return async (transaction, recorder) => {
    const isAssuming = mayAssume === true && !store.capabilities.hasSynchronousReads && !transaction.isRetry
    const assumed = isAssuming ? catalogs.latest : undefined
    const result = await (assumed === undefined
      ? checked(transaction, recorder)
      : assuming(transaction, assumed, recorder))
    await receipt?.put(transaction, result)
    return result
  }
}
