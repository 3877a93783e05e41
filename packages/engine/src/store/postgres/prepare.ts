/** What a database needs before it is a store: made when it is first opened, looked at each time. */

import { copyCommand } from '../storage-format.ts'
import type { RowsOfCommit } from './commit-group.ts'
import type { Connections } from './connections.ts'
import { codeOf } from './failures.ts'
import { definitions, oldestTablesVersion, tablesVersion } from './schema.ts'

export interface Prepared {
  /** The table is split over several nodes, each of which shows moments of its own. */
  readonly isDistributed: boolean
  readonly rowsOfCommit: RowsOfCommit
}

/** `warn` is told what works, but is probably not what the operator wants. Throws an `Error` for the operator. */
export async function prepare(connections: Connections, warn: (message: string) => void): Promise<Prepared> {
  const { schema, isDistributed: isWanted } = connections.address
  // A user without the right to define may still use what an administrator has defined.
  if (!(await isDefined(connections))) await define(connections)
  await checkVersion(connections, tablesVersion)
  const isDistributed = await isTableDistributed(connections)
  if (!isDistributed && !isWanted && (await hasCitus(connections))) {
    warn(
      'The database has the extension citus, but the table of this store is not distributed: all of it is on one node. To distribute it, copy it into a new schema with distribute=citus.',
    )
  }
  if (isWanted && !isDistributed) {
    throw new Error(
      'its table is there already, and is not distributed; copy it into a new schema with distribute=citus',
    )
  }
  await connections.upkeep(`DELETE FROM ${schema}.slot WHERE at < now() - interval '1 day'`)
  return { isDistributed, rowsOfCommit: await rowsOfCommit(connections, isDistributed) }
}

/** Looks only, also at tables of an earlier version. Throws an `Error` for the operator. */
export async function prepareToRead(connections: Connections): Promise<Prepared> {
  if (!(await isDefined(connections))) throw new Error('there is no store')
  await checkVersion(connections, oldestTablesVersion)
  const isDistributed = await isTableDistributed(connections)
  return { isDistributed, rowsOfCommit: await rowsOfCommit(connections, isDistributed) }
}

async function checkVersion(connections: Connections, oldest: number): Promise<void> {
  const { address } = connections
  const { rows } = await connections.upkeep(`SELECT version FROM ${address.schema}.storage`)
  const version = (rows[0] as { version: number } | undefined)?.version ?? 0
  if (version >= oldest && version <= tablesVersion) return
  const isNewer = version > tablesVersion
  const advice = isNewer ? 'use that version of Ashlar' : `bring it over with: ${copyCommand(address.location)}`
  throw new Error(
    `its tables have version ${version}, of ${isNewer ? 'a newer' : 'an earlier'} Ashlar (this one has version ${tablesVersion}); ${advice}`,
  )
}

async function isDefined(connections: Connections): Promise<boolean> {
  return isTrue(connections, 'SELECT to_regclass($1) IS NOT NULL', `${connections.address.schema}.storage`)
}

/** Those who start at once define one after the other; the lock ends with the transaction. */
async function define(connections: Connections): Promise<void> {
  const { schema, isDistributed } = connections.address
  if (isDistributed && !(await hasCitus(connections))) {
    throw new Error('the database has no extension citus; make it with CREATE EXTENSION citus, or leave out distribute')
  }
  try {
    await connections.upkeep(`
      BEGIN;
      SELECT pg_advisory_xact_lock(hashtext('ashlar'));
      CREATE SCHEMA IF NOT EXISTS ${schema};
      ${definitions(schema, isDistributed)}
      COMMIT;
    `)
  } catch (error) {
    if (codeOf(error) !== '42501') throw error
    throw new Error(`the user may not define the schema ${schema} and its tables`, { cause: error })
  }
}

function hasCitus(connections: Connections): Promise<boolean> {
  return isTrue(connections, 'SELECT EXISTS (SELECT FROM pg_proc WHERE proname = $1)', 'create_distributed_table')
}

/** By Citus, or into partitions that may be on other nodes. */
async function isTableDistributed(connections: Connections): Promise<boolean> {
  const table = `${connections.address.schema}.kv`
  if (await isTrue(connections, `SELECT relkind = 'p' FROM pg_class WHERE oid = $1::regclass`, table)) return true
  if (!(await isTrue(connections, 'SELECT to_regclass($1) IS NOT NULL', 'pg_catalog.pg_dist_partition'))) return false
  return isTrue(connections, 'SELECT EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = $1::regclass)', table)
}

/** A foreign table cannot make or lock a row by one statement. */
async function rowsOfCommit(connections: Connections, isDistributed: boolean): Promise<RowsOfCommit> {
  if (!isDistributed) return 'together'
  const isForeign = `SELECT EXISTS (SELECT FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
    WHERE inhparent = $1::regclass AND relkind = 'f')`
  return (await isTrue(connections, isForeign, `${connections.address.schema}.kv`)) ? 'one by one' : 'in runs'
}

async function isTrue(connections: Connections, text: string, value: string): Promise<boolean> {
  const { rows } = await connections.upkeep(`SELECT (${text})::int AS is_true`, [value])
  return (rows[0] as { is_true: number } | undefined)?.is_true === 1
}
