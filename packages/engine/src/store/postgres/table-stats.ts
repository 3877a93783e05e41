/** How much the tables hold. */
import type { StoreStats } from '../store.ts'
import type { Connections } from './connections.ts'
import { thrownFor } from './failures.ts'

/** Up to so many entries are counted; of more, the database's own estimate is told. */
const countedEntriesMax = 100_000
/**
 * `isDistributed`: by Citus; its own function tells the size on all nodes, and knows only tables that it distributes.
 * Throws StoreUnavailable.
 */
export async function tableStats(
  connections: Connections,
  isDistributed: boolean,
): Promise<Omit<StoreStats, 'oldestSnapshotMs'>> {
  const { schema, location } = connections.address
  try {
    const { rows } = await connections.upkeep(
      `SELECT (SELECT count(*) FROM (SELECT 1 FROM ${schema}.kv LIMIT ${countedEntriesMax + 1}) AS few) AS counted,
        (SELECT reltuples::int8 FROM pg_class WHERE oid = $1::regclass) AS estimated,
        ${isDistributed ? 'citus_total_relation_size' : 'pg_total_relation_size'}($1::regclass) AS bytes`,
      [`${schema}.kv`],
    )
    const { counted, estimated, bytes } = rows[0] as { counted: number; estimated: number; bytes: number }
    return { entries: counted <= countedEntriesMax ? counted : Math.max(counted, estimated), bytes }
  } catch (error) {
    throw thrownFor(location, error)
  }
}
