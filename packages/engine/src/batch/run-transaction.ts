/** Runs several operations as one commit (contract 7). */
import { RequestMemory } from '../budget/request-memory.ts'
import { catalogVersionKey } from '../bytes/key-space.ts'
import { DatabaseOperations, type TransactionBody, type TransactionStep } from '../database-operations.ts'
import { type OpenCatalogTransaction, runInCatalogTransaction } from '../ddl/catalog-transaction.ts'
import { Numbering } from '../ddl/numbering.ts'
import type { QueryResources } from '../query/query-resources.ts'
import type { Once, Receipts } from '../receipts/receipt.ts'
import { objectKey } from '../records/object-key.ts'
import { betweenSteps, type TransactionClient } from '../transaction/between-steps.ts'
import type { Transaction } from '../transaction/transaction.ts'
import type { Oid } from '../types/oid.ts'
import type { CatalogTransactOptions } from '../write/transact-with-catalog.ts'
import { StepScope } from './step-scope.ts'

/**
 * `body` executes the operations. With `isRehearsed`, each attempt runs it twice: all operations first, then those to commit, whose result is
 * returned. Throws the errors of the operations, TransactionContention, and the reason of the client's signal; with `once`, the errors
 * of `Receipt.check`.
 */
export async function runTransaction<T>(
  body: TransactionBody<T>,
  isRehearsed: boolean,
  resources: QueryResources,
  idempotent: IdempotentTransaction<T> | undefined,
  client: TransactionClient,
): Promise<T> {
  const { signal, memoryHolder, isolation } = client
  const { database, writer } = resources
  const { limits } = database
  const isSerializable = (isolation ?? database.isolation) === 'serializable'
  const between = betweenSteps(limits.transactionMsMax, client)
  const memory = new RequestMemory(database.memory, limits, memoryHolder)
  const attempt = async (open: OpenCatalogTransaction, transaction: Transaction): Promise<T> => {
    const numbering = isRehearsed ? new Numbering() : undefined
    const runIn = (within: Transaction, isRehearsal: boolean): Promise<T> => {
      const own = open(within, numbering)
      const operations = new DatabaseOperations(new StepScope(own, resources, between, signal))
      const step: TransactionStep = (number) => {
        own.beginStep(number)
        return operations
      }
      return body(step, isRehearsal, between)
    }
    if (isRehearsed) {
      await runIn(transaction.rehearsal(), true)
      transaction.restartAllocations()
      memory.releaseAllBut(0)
    }
    return runIn(transaction, false)
  }
  try {
    const once = idempotent === undefined ? {} : onceOptions(idempotent, database.receipts)
    return await runInCatalogTransaction(database, writer, attempt, { signal, memory, isSerializable, ...once })
  } finally {
    memory.release()
  }
}

export interface IdempotentTransaction<T> {
  readonly once: Once<T>
  /** An object that is read in any case. */
  readonly oid?: Oid | undefined
}

function onceOptions<T>(
  { once, oid }: IdempotentTransaction<T>,
  receipts: Receipts,
): Pick<CatalogTransactOptions<T>, 'prefetchKeys' | 'mayAssumeLatestCatalog' | 'receipt'> {
  const receipt = receipts.of(once)
  return {
    prefetchKeys: [catalogVersionKey, receipt.key, ...(oid === undefined ? [] : [objectKey(oid)])],
    mayAssumeLatestCatalog: true,
    receipt,
  }
}
