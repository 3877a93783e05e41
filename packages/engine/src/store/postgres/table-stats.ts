/** How much the tables hold. */
import type { StoreStats } from '../store.ts'
import type { Connections } from './connections.ts'
import { thrownFor } from './failures.ts'

/** Up to so many entries are counted; of more, the database's own estimate is told. */
const countedEntriesMax = 100_000
/** A function of Citus. */
const sizeOnAllNodes = 'citus_total_relation_size'

/** Throws StoreUnavailable. */
export async function tableStats(connections: Connections): Promise<Omit<StoreStats, 'oldestSnapshotMs'>> {
  const { schema, location } = connections.address
  try {
    const sizes = await connections.upkeep(`SELECT (to_regproc($1) IS NOT NULL)::int AS is_there`, [sizeOnAllNodes])
    const isCitus = (sizes.rows[0] as { is_there: number }).is_there === 1
    const { rows } = await connections.upkeep(
      `SELECT (SELECT count(*) FROM (SELECT 1 FROM ${schema}.kv LIMIT ${countedEntriesMax + 1}) AS few) AS counted,
        (SELECT reltuples::int8 FROM pg_class WHERE oid = $1::regclass) AS estimated,
        ${isCitus ? sizeOnAllNodes : 'pg_total_relation_size'}($1::regclass) AS bytes`,
      [`${schema}.kv`],
    )
    const { counted, estimated, bytes } = rows[0] as { counted: number; estimated: number; bytes: number }
    return { entries: counted <= countedEntriesMax ? counted : Math.max(counted, estimated), bytes }
  } catch (error) {
    throw thrownFor(location, error)
  }
}
