/** Several operations as one commit (contract 7). */
import { RequestMemory } from '../budget/request-memory.ts'
import { catalogVersionKey } from '../bytes/key-space.ts'
import type { Database } from '../database.ts'
import { Numbering } from '../ddl/numbering.ts'
import { type OpenWriteSession, runInWriteSession } from '../ddl/write-session.ts'
import type { QueryResources } from '../query/query-resources.ts'
import type { Once } from '../receipts/receipt.ts'
import { objectKey } from '../records/object-key.ts'
import { type BetweenSteps, betweenSteps, type TransactionClient } from '../transaction/between-steps.ts'
import type { Transaction } from '../transaction/transaction.ts'
import type { Oid } from '../types/oid.ts'
import type { CatalogTransactOptions } from '../write/transact-with-catalog.ts'
import { DatabaseTransaction } from './database-transaction.ts'

/** The database for one operation of a batch; `number` from 1, by which its OIDs stay the same when it is done again. */
export type TransactionStep = (number: number) => Database

export type TransactionBody<T> = (step: TransactionStep, isRehearsal: boolean, between: BetweenSteps) => Promise<T>

/**
 * `body` does the operations. Where `isRehearsed`, it runs twice at each attempt: all operations first, then those that are to be
 * committed, of which the result is that of the transaction. Throws what the operations throw, TransactionContention, and the
 * reason of the client's signal; with `asked`, what `Receipt.check` throws.
 */
export async function runTransaction<T>(
  body: TransactionBody<T>,
  isRehearsed: boolean,
  resources: QueryResources,
  asked: OnceAsked<T> | undefined,
  client: TransactionClient,
): Promise<T> {
  const { signal } = client
  const { limits } = resources
  const between = betweenSteps(limits.transactionMsMax, client)
  const memory = new RequestMemory(resources.memory, limits)
  const attempt = async (open: OpenWriteSession, transaction: Transaction): Promise<T> => {
    const numbering = isRehearsed ? new Numbering() : undefined
    const runIn = (within: Transaction, isRehearsal: boolean): Promise<T> => {
      const database = new DatabaseTransaction(open(within, numbering), resources, between)
      const step: TransactionStep = (number) => {
        within.operation = number
        return database
      }
      return body(step, isRehearsal, between)
    }
    if (isRehearsed) {
      await runIn(transaction.rehearsal(), true)
      transaction.restartAllocations()
      memory.resetRequest(0)
    }
    return runIn(transaction, false)
  }
  try {
    const once = asked === undefined ? {} : onceOptions(asked, resources)
    return await runInWriteSession(resources, attempt, { signal, memory, ...once })
  } finally {
    memory.release()
  }
}

/** A transaction that is to be made once. */
export interface OnceAsked<T> {
  readonly once: Once<T>
  /** The object that is read in any case. */
  readonly oid?: Oid | undefined
}

function onceOptions<T>(
  { once, oid }: OnceAsked<T>,
  { receipts }: QueryResources,
): Pick<CatalogTransactOptions<T>, 'prefetchKeys' | 'mayAssume' | 'receipt'> {
  const receipt = receipts.of(once)
  return {
    prefetchKeys: [catalogVersionKey, receipt.key, ...(oid === undefined ? [] : [objectKey(oid)])],
    mayAssume: true,
    receipt,
  }
}
