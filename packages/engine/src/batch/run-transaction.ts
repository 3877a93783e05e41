/** POST /v1/transaction: several operations as one commit (REST interface, section 7). */
import { catalogVersionKey } from '../bytes/key-space.ts'
import type { Database } from '../database.ts'
import { ChangeScope } from '../evolution/change-scope.ts'
import type { QueryResources } from '../query/query-resources.ts'
import { type Once, Receipt } from '../receipts/receipt.ts'
import { transact } from '../transaction/transact.ts'
import type { Transaction } from '../transaction/transaction.ts'
import { DatabaseTransaction } from './database-transaction.ts'

/** The database for one operation of a batch; `number` from 1, by which its OIDs stay the same when it is done again. */
export type TransactionStep = (number: number) => Database

/**
 * `body` does the operations. Where `isRehearsed`, it runs twice at each attempt: all operations first, of which the
 * result is kept, then those that are to be committed. Throws what the operations throw, and TransactionContention; with
 * `once`, what `Receipt.check` throws.
 */
export async function runTransaction<T>(
  body: (step: TransactionStep, isRehearsal: boolean) => Promise<T>,
  isRehearsed: boolean,
  resources: QueryResources,
  once?: Once<T>,
): Promise<T> {
  const { store, limits, catalogs, changes, session, containers } = resources
  const scopeResources = { limits, session, containers, clearInBackground: () => changes.clearInBackground() }
  const receipt = once === undefined ? undefined : new Receipt(once, limits)
  const attempt = async (transaction: Transaction): Promise<{ result: T; scope: ChangeScope }> => {
    await receipt?.check(transaction)
    const catalog = await catalogs.at(transaction.snapshot)
    const runIn = async (within: Transaction, isRehearsal: boolean): Promise<{ result: T; scope: ChangeScope }> => {
      const scope = new ChangeScope(within, catalog, scopeResources)
      const database = new DatabaseTransaction(scope, resources)
      const step: TransactionStep = (number) => {
        within.operation = number
        return database
      }
      return { result: await body(step, isRehearsal), scope }
    }
    if (!isRehearsed) {
      const done = await runIn(transaction, false)
      await receipt?.put(transaction, done.result)
      return done
    }
    const { result } = await runIn(transaction.rehearsal(), true)
    transaction.rewind()
    const { scope } = await runIn(transaction, false)
    await receipt?.put(transaction, result)
    return { result, scope }
  }
  const first = receipt === undefined ? [] : [catalogVersionKey, receipt.key]
  const outcome = await transact(store, limits.transactionAttemptsMax, attempt, first)
  for (const then of outcome.scope.afterCommit) then()
  return outcome.result
}
