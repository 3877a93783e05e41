/** The size of the tables. */
import type { StoreStats } from '../store.ts'
import type { Connections } from './connections.ts'
import { toStoreError } from './failures.ts'

/** Up to this number, entries are counted; beyond it, the database's estimate is used. */
const countedEntriesMax = 100_000
/** `names`: of the tables with entries, without the schema. `sizeFunction`: returns the size of one. Throws StoreUnavailable. */
export async function tableStats(
  connections: Connections,
  names: readonly string[] = ['kv'],
  sizeFunction = 'pg_total_relation_size',
): Promise<StoreStats> {
  const { schema, location } = connections.address
  const counted = names.map((name) => `SELECT 1 FROM ${schema}.${name} LIMIT ${countedEntriesMax + 1}`)
  try {
    const { rows } = await connections.upkeep(
      `SELECT (${counted.map((few) => `(SELECT count(*) FROM (${few}) AS few)`).join(' + ')}) AS counted,
        (SELECT sum(reltuples)::int8 FROM pg_class WHERE oid = ANY ($1::regclass[])) AS estimated,
        ${names.map((name) => `${sizeFunction}('${schema}.${name}'::regclass)`).join(' + ')} AS bytes`,
      [names.map((name) => `${schema}.${name}`)],
    )
    const stats = rows[0] as { counted: number; estimated: number; bytes: number }
    return {
      entries: stats.counted <= countedEntriesMax ? stats.counted : Math.max(stats.counted, stats.estimated),
      bytes: stats.bytes,
      usedBytes: stats.bytes,
    }
  } catch (error) {
    throw toStoreError(location, error)
  }
}
