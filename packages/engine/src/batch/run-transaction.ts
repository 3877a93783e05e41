/** POST /v1/transaction: several operations as one commit (REST interface, section 7). */
import type { Database } from '../database.ts'
import { ChangeScope } from '../evolution/change-scope.ts'
import type { QueryResources } from '../query/query-resources.ts'
import { transact } from '../transaction/transact.ts'
import type { Transaction } from '../transaction/transaction.ts'
import { DatabaseTransaction } from './database-transaction.ts'

/** The database for one operation of a batch; `number` from 1, by which its OIDs stay the same when it is done again. */
export type TransactionStep = (number: number) => Database

/**
 * `body` does the operations. Where `isRehearsed`, it runs twice at each attempt: all operations first, of which the
 * result is kept, then those that are to be committed. Throws what the operations throw, and TransactionContention.
 */
export async function runTransaction<T>(
  body: (step: TransactionStep, isRehearsal: boolean) => Promise<T>,
  isRehearsed: boolean,
  resources: QueryResources,
): Promise<T> {
  const { store, limits, catalogs, changes, session, containers } = resources
  const scopeResources = { limits, session, containers, clearInBackground: () => changes.clearInBackground() }
  const outcome = await transact(store, limits.transactionAttemptsMax, async (transaction) => {
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
    if (!isRehearsed) return runIn(transaction, false)
    const { result } = await runIn(transaction.rehearsal(), true)
    transaction.rewind()
    const { scope } = await runIn(transaction, false)
    return { result, scope }
  })
  for (const then of outcome.scope.afterCommit) then()
  return outcome.result
}
