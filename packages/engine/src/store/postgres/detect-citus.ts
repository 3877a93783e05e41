/** Detects Citus for the PostgreSQL driver: whether the address is a coordinator, and whether a table is distributed. */
import type { Connections } from './connections.ts'

/** Commits and schema changes share a lock table on the coordinator; through a worker it would be a different one. */
export async function checkCoordinator(connections: Connections): Promise<void> {
  const groups = 'pg_catalog.pg_dist_local_group'
  if (!(await connections.isTrue('SELECT to_regclass($1) IS NOT NULL', groups))) return
  const { rows } = await connections.upkeep(`SELECT groupid FROM ${groups}`)
  if ((rows[0] as { groupid: number } | undefined)?.groupid === 0) return
  throw new Error('the address names a worker of Citus; use the address of the coordinator')
}

export function hasCitus(connections: Connections): Promise<boolean> {
  return connections.isTrue('SELECT EXISTS (SELECT FROM pg_proc WHERE proname = $1)', 'create_distributed_table')
}

/** Distributed by Citus, or into partitions that may be on other nodes. */
export async function isTableDistributed(connections: Connections): Promise<boolean> {
  const table = `${connections.address.schema}.kv`
  if (await connections.isTrue(`SELECT relkind = 'p' FROM pg_class WHERE oid = $1::regclass`, table)) return true
  if (!(await connections.isTrue('SELECT to_regclass($1) IS NOT NULL', 'pg_catalog.pg_dist_partition'))) return false
  return connections.isTrue('SELECT EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = $1::regclass)', table)
}
