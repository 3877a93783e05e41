/** Creates and distributes the tables of a store when it is first opened, and checks them each time. */
import { AshlarError } from '../../errors.ts'
import type { KeyPlacement } from '../key-placement.ts'
import type { Connections } from '../postgres/connections.ts'
import { hasCitus, isTableDistributed } from '../postgres/detect-citus.ts'
import { checkTables, isDefined, prepareTables, removeOldProofs, renewCommitFunction } from '../postgres/upkeep.ts'
import { citusCommitFunction } from './commit-sql.ts'
import { citusDefinitions } from './schema.ts'
import type { CitusTables } from './tables.ts'

export interface CitusPreparation {
  readonly tables: CitusTables
  /** Whether Citus commits in two phases, and lets this user recover prepared transactions. */
  readonly canRecover: boolean
  /** Whether partitions are foreign tables, which cannot lock or change several rows by one statement. */
  readonly isForeign: boolean
}

const roleAdvice = '; on Citus, its role is made on the coordinator, in this database, once all nodes are added'

/** `warn` receives warnings about a usable but probably unintended configuration. Throws an `Error` for the operator. */
export async function prepare(
  connections: Connections,
  keys: KeyPlacement,
  warn: (message: string) => void,
): Promise<CitusPreparation> {
  const { schema } = connections.address
  const tables: CitusTables = { schema, hasRoot: true, keys }
  if (!(await isDefined(connections)) && !(await hasCitus(connections))) {
    throw new Error('the database has no extension citus; make it with CREATE EXTENSION citus, or leave out distribute')
  }
  await prepareTables(connections, citusDefinitions(tables), roleAdvice)
  await checkDistributed(connections)
  await warnOfOneNode(connections, warn)
  const preparation = {
    tables,
    canRecover: await canRecover(connections, warn),
    isForeign: await isForeign(connections),
  }
  await removeOldProofs(connections, `${schema}.slot_root`)
  // A node that is down does not prevent the start: old proofs are harmless, and are removed at a later one.
  await removeOldProofs(connections, `${schema}.slot`).catch((error) => {
    if (!(error instanceof AshlarError)) throw error
  })
  await renewCommitFunction(connections, citusCommitFunction(tables))
  return preparation
}

/** Only reads, also tables of an earlier version. Throws an `Error` for the operator. */
export async function prepareToRead(connections: Connections, keys: KeyPlacement): Promise<CitusPreparation> {
  const { schema } = connections.address
  await checkTables(connections)
  await checkDistributed(connections)
  const hasRoot = await connections.isTrue('SELECT to_regclass($1) IS NOT NULL', `${schema}.kv_root`)
  return { tables: { schema, hasRoot, keys }, canRecover: false, isForeign: false }
}

async function checkDistributed(connections: Connections): Promise<void> {
  if (await isTableDistributed(connections)) return
  throw new Error('its table is there already, and is not distributed; copy it into a new schema with distribute=citus')
}

async function canRecover(connections: Connections, warn: (message: string) => void): Promise<boolean> {
  const recovers = `to_regprocedure('recover_prepared_transactions()')`
  const { rows } = await connections.upkeep(
    `SELECT (${recovers} IS NOT NULL)::int AS is_there, coalesce(has_function_privilege(${recovers}, 'EXECUTE'), false)::int AS is_allowed`,
  )
  const { is_there, is_allowed } = rows[0] as { is_there: number; is_allowed: number }
  if (is_there === 0) return false
  if (is_allowed === 1) return true
  warn(
    'The user may not recover prepared transactions: when a node fails during a commit, reads may show a part of it until Citus recovers it (citus.recover_2pc_interval). To change that, an administrator runs: GRANT EXECUTE ON FUNCTION recover_prepared_transactions() TO the user.',
  )
  return false
}

/** Citus places the shards of a table with existing ones, and on the coordinator if there are no workers at its creation. */
async function warnOfOneNode(connections: Connections, warn: (message: string) => void): Promise<void> {
  if (!(await connections.isTrue('SELECT to_regclass($1) IS NOT NULL', 'pg_dist_placement'))) return
  const table = `'${connections.address.schema}.kv'::regclass`
  const { rows } = await connections.upkeep(
    `SELECT (SELECT count(*) FROM pg_dist_node WHERE groupid <> 0 AND isactive AND noderole = 'primary') AS workers,
        count(DISTINCT groupid) AS nodes, count(DISTINCT shardid) AS shards
      FROM pg_dist_placement JOIN pg_dist_shard USING (shardid) WHERE logicalrelid = ${table}`,
  )
  const { workers, nodes, shards } = rows[0] as { workers: number; nodes: number; shards: number }
  if (workers > 0 && nodes !== 1) return
  const found = workers === 0 ? 'The coordinator of Citus has no workers' : `Citus has ${workers} workers`
  const adds = workers === 0 ? "adds workers with SELECT citus_add_node('host', port) and then " : ''
  warn(
    `${found}, and all ${shards} shards of this store are on one node. To spread them, an administrator ${adds}runs, in this database, SELECT rebalance_table_shards().`,
  )
}

function isForeign(connections: Connections): Promise<boolean> {
  const partitions = `SELECT EXISTS (SELECT FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
    WHERE inhparent = $1::regclass AND relkind = 'f')`
  return connections.isTrue(partitions, `${connections.address.schema}.kv`)
}
