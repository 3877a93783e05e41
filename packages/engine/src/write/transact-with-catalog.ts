/** Runs a transaction under the catalog of its snapshot, or optimistically under the latest known one, and reports its changes after the commit. */
import type { Receipt } from '../receipts/receipt.ts'
import type { Catalog } from '../schema/catalog.ts'
import { SnapshotInvalidated } from '../store/snapshot-invalidated.ts'
import { type TransactOptions, transact } from '../transaction/transact.ts'
import type { Transaction } from '../transaction/transaction.ts'
import { ChangeRecorder } from './change-set.ts'
import type { OpenDatabase } from './open-database.ts'

export interface CatalogTransactOptions<T> extends Omit<TransactOptions, 'onCommitted'> {
  /**
   * Allows optimistic attempts, for a body that needs no other read before its commit: if reading the catalog's version takes a
   * round trip, the first attempt assumes that the latest catalog known to this process is current and that there is no
   * receipt. A failure under these assumptions may be wrong, so it is retried without them.
   */
  readonly mayAssumeLatestCatalog?: boolean
  /** The receipt of a request that must run only once; written by the commit. */
  readonly receipt?: Receipt<T> | undefined
}

/** `recorder`: of this attempt; undefined if there is no listener. */
type Body<T> = (transaction: Transaction, catalog: Catalog, recorder: ChangeRecorder | undefined) => Promise<T>

/**
 * `body` must require the catalog's version if its changes depend on it, and record its changes; only the recorder of the
 * committed attempt is used. Throws the errors of `transact`, `body` and `Receipt.check`.
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
  // No spread: on the path of small changes it would cost more than most other steps.
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

/** An attempt that makes assumptions or has a receipt. */
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
