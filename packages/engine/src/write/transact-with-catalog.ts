/** A transaction under the catalog of its snapshot, or under the one last known; what it changes is told to a listener once it is committed. */
import type { Receipt } from '../receipts/receipt.ts'
import type { Catalog } from '../schema/catalog.ts'
import { SnapshotInvalidated } from '../store/snapshot-invalidated.ts'
import { type TransactOptions, transact } from '../transaction/transact.ts'
import type { Transaction } from '../transaction/transaction.ts'
import { ChangeRecorder } from './change-set.ts'
import type { OpenDatabase } from './open-database.ts'

export interface CatalogTransactOptions<T> extends Omit<TransactOptions, 'onCommitted'> {
  /**
   * The body reads nothing before its commit that makes up for another trip: where reading the catalog's version is one, the
   * first attempt assumes that the catalog is the latest that this process knows, and that there is no receipt. What fails under these assumptions may be right
   * without them, and is then tried again.
   */
  readonly mayAssumeLatestCatalog?: boolean
  /** Of a request that is carried out once; put into the commit. */
  readonly receipt?: Receipt<T> | undefined
}

/** `recorder`: of the attempt; undefined where nobody listens. */
type Body<T> = (transaction: Transaction, catalog: Catalog, recorder: ChangeRecorder | undefined) => Promise<T>

/**
 * `body` requires the catalog's version if it changes anything by it, and records what it changes; of several attempts, that of the one which
 * is committed counts. Throws what `transact`, `body` and `Receipt.check` throw.
 */
export function transactWithCatalog<T>(
  database: OpenDatabase,
  body: Body<T>,
  options: CatalogTransactOptions<T>,
): Promise<T> {
  const { store, limits, catalogs, onChanges, onCommitted: wake, mainThread } = database
  const {
    mayAssumeLatestCatalog = false,
    receipt,
    prefetchKeys,
    mayShare,
    signal,
    memory,
    releasesMemory,
    isSerializable,
    size = limits,
  } = options
  const isPlain = receipt === undefined && (!mayAssumeLatestCatalog || store.capabilities.hasSynchronousReads)
  let recorder: ChangeRecorder | undefined
  const attempt = async (transaction: Transaction): Promise<T> => {
    const own = onChanges === undefined ? undefined : new ChangeRecorder()
    recorder = own
    if (mainThread !== undefined) transaction.summarize = () => own?.changes
    const run = (catalog: Catalog): Promise<T> => {
      transaction.logEpoch = store.capabilities.canAppend ? (catalog.state.counters.changeLog ?? 0) : 0
      return body(transaction, catalog, own)
    }
    if (!isPlain) return attemptAssuming(database, transaction, run, options)
    return await run(await catalogs.at(transaction.snapshot))
  }
  const onCommitted = (): void => {
    const changes = recorder?.changes
    if (changes !== undefined) onChanges?.(changes)
    wake?.()
  }
  // Written out: on the way of each small change, a spread costs more than most of what else is done for it.
  const { transactionAttemptsMax } = limits
  return transact(store, transactionAttemptsMax, attempt, {
    prefetchKeys,
    mayShare,
    signal,
    memory,
    releasesMemory,
    isSerializable,
    size,
    onCommitted,
  })
}

/** An attempt that may assume, or has a receipt. */
async function attemptAssuming<T>(
  { store, catalogs }: OpenDatabase,
  transaction: Transaction,
  body: (catalog: Catalog) => Promise<T>,
  { mayAssumeLatestCatalog, receipt }: CatalogTransactOptions<T>,
): Promise<T> {
  const isAssuming = mayAssumeLatestCatalog === true && !store.capabilities.hasSynchronousReads && !transaction.isRetry
  const assumed = isAssuming ? catalogs.latest : undefined
  let result: T
  if (assumed === undefined) {
    await receipt?.check(transaction)
    result = await body(await catalogs.at(transaction.snapshot))
  } else {
    receipt?.assumeAbsent()
    try {
      result = await body(assumed)
    } catch (error) {
      await receipt?.check(transaction.snapshot)
      if ((await catalogs.at(transaction.snapshot)) !== assumed) throw new SnapshotInvalidated()
      throw error
    }
  }
  await receipt?.put(transaction, result)
  return result
}
