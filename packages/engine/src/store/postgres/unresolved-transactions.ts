/** Prepared transactions that hold locks on the tables of the store and are not being resolved: they block other transactions. */
import { unresolvedAfterMs } from '../../limits.ts'
import type { UnresolvedTransactions } from '../store.ts'
import type { Connections } from './connections.ts'
import { toStoreError } from './failures.ts'

/**
 * Recent transactions, which belong to commits in progress, are not counted. `onNodes`: reads the ages of those that the statement finds on each
 * reachable node; Citus stores shards in a schema of the same name. Undefined if there are none. Throws StoreUnavailable.
 */
export async function unresolvedTransactions(
  connections: Connections,
  onNodes: (statement: string) => { readonly text: string; readonly values?: readonly unknown[] } = (text) => ({
    text,
  }),
): Promise<UnresolvedTransactions | undefined> {
  const { schema, location } = connections.address
  // In pg_locks a prepared transaction has no process; the lock on its transaction ID identifies its other locks.
  const { text, values } =
    onNodes(`SELECT (extract(epoch FROM clock_timestamp() - prepared) * 1000)::float8 AS ms FROM pg_prepared_xacts AS one
    WHERE database = current_database() AND prepared < clock_timestamp() - interval '${unresolvedAfterMs} ms'
      AND EXISTS (SELECT FROM pg_locks AS own JOIN pg_locks AS held USING (virtualtransaction) JOIN pg_class AS locked ON locked.oid = held.relation
        WHERE own.locktype = 'transactionid' AND own.transactionid = one.transaction AND own.pid IS NULL AND held.pid IS NULL
          AND locked.relnamespace = to_regnamespace('${schema}'))`)
  try {
    const { rows } = await connections.upkeep(text, values)
    if (rows.length === 0) return undefined
    const ages = (rows as readonly { readonly ms: number }[]).map(({ ms }) => ms)
    return { count: ages.length, oldestMs: Math.round(Math.max(...ages)) }
  } catch (error) {
    throw toStoreError(location, error)
  }
}
