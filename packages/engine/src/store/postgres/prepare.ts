/** Creates the schema of a store when it is first opened, and checks it each time. */
import { AshlarError } from '../../errors.ts'
import { appendedKeyBytes, appendedNumber } from '../append.ts'
import { copyCommand } from '../copy-command.ts'
import type { KeyPlacement } from '../key-placement.ts'
import { PlaceRefused } from '../place-refused.ts'
import { checkSessions } from './check-sessions.ts'
import type { RowsOfCommit } from './commit-call.ts'
import {
  commitFunction,
  commitFunctionMark,
  commitFunctionVersion,
  lastAssignedNumber,
  numbersOf,
  numbersOfCall,
} from './commit-function.ts'
import type { Connections } from './connections.ts'
import { codeOf } from './failures.ts'
import { definitions, oldestTablesVersion, tablesVersion } from './schema.ts'
import type { Tables } from './tables.ts'

export interface Prepared {
  /** The table is distributed over several nodes, which show different points in time. */
  readonly isDistributed: boolean
  readonly rowsOfCommit: RowsOfCommit
  /** Whether packed rows are sent without conversion. */
  readonly hasBulkCommits: boolean
  /** Whether Citus commits in two phases, and lets this user recover prepared transactions. */
  readonly canRecover: boolean
  readonly tables: Tables
  /** Whether the function supports appending, and this user may use its sequence: not on Citus. */
  readonly canAppend: boolean
}

/** `warn` receives warnings about a usable but probably unintended configuration. Throws an `Error` for the operator. */
export async function prepare(
  connections: Connections,
  keys: KeyPlacement,
  warn: (message: string) => void,
): Promise<Prepared> {
  const { isDistributed: isRequested } = connections.address
  await checkSessions(connections)
  await checkCoordinator(connections)
  // A user without the right to create objects may use the ones created by an administrator.
  if (!(await isDefined(connections))) await define(connections, keys)
  await checkVersion(connections, tablesVersion)
  const isDistributed = await isTableDistributed(connections)
  if (!isDistributed && !isRequested && (await hasCitus(connections))) {
    warn(
      'The database has the extension citus, but the table of this store is not distributed: all of it is on one node. To distribute it, copy it into a new schema with distribute=citus.',
    )
  }
  if (isRequested && !isDistributed) {
    throw new Error(
      'its table is there already, and is not distributed; copy it into a new schema with distribute=citus',
    )
  }
  if (isDistributed) await warnOfOneNode(connections, warn)
  const isRecovering = isDistributed && (await canRecover(connections, warn))
  const prepared = await preparedAs(connections, keys, isDistributed, isRecovering)
  const { tables } = prepared
  await removeOldProofs(connections, tables)
  await renewCommitFunction(connections, tables)
  if (isDistributed) return prepared
  return { ...prepared, hasBulkCommits: true, canAppend: await canAppend(connections, tables) }
}

/** Raises the sequence above the stored numbers, as after the table was moved here without its sequence. */
async function canAppend(connections: Connections, tables: Tables): Promise<boolean> {
  const { schema, keys } = tables
  if (!(await isTrue(connections, `has_sequence_privilege($1, 'USAGE')`, numbersOf(tables)))) return false
  const last = await connections.upkeep(
    `SELECT key FROM ${schema}.kv WHERE placement = ${keys.appendPlacement} AND length(key) = ${appendedKeyBytes} ORDER BY key DESC LIMIT 1`,
  )
  const [entry] = last.rows as { key: Buffer }[]
  if (entry === undefined) return true
  const assigned = await connections.upkeep(`SELECT ${lastAssignedNumber} AS number FROM ${numbersOf(tables)}`)
  const number = appendedNumber(entry.key)
  if (Number((assigned.rows[0] as { number: string }).number) >= number) return true
  // A multiple of the increment, greater than all stored numbers.
  const next = (Math.floor(number / numbersOfCall) + 1) * numbersOfCall
  await connections.upkeep(
    `SELECT setval('${numbersOf(tables)}', greatest(last_value, ${next})) FROM ${numbersOf(tables)}`,
  )
  return true
}

function readFunctionVersion({ schema }: Tables): string {
  const version = `coalesce(substring(prosrc FROM '${commitFunctionMark}(\\d+)')::int4, 1)`
  return `SELECT ${version} AS version FROM pg_proc WHERE oid = to_regproc('${schema}.commit')`
}

/** Replaces an older function; calls in progress continue with it. Keeps a later version. Throws an `Error` for the operator. */
async function renewCommitFunction(connections: Connections, tables: Tables): Promise<void> {
  const readVersion = readFunctionVersion(tables)
  const isOld = ({ rows }: { rows: unknown[] }): boolean => {
    const found = rows[0] as { version: number } | undefined
    return found !== undefined && found.version < commitFunctionVersion
  }
  if (!isOld(await connections.upkeep(readVersion))) return
  try {
    await connections.upkeepTransaction(async (run) => {
      await run(definitionLock)
      // Another process may have replaced it first, perhaps by a later version.
      if (isOld(await run(readVersion))) await run(commitFunction(tables))
    })
  } catch (error) {
    if (codeOf(error) !== insufficientPrivilege) throw error
    throw new Error(
      `its function ${tables.schema}.commit is of an earlier version of Ashlar, and this user may not replace it; its owner does by opening the store`,
    )
  }
}

/** Serializes definitions; released at the end of the transaction. */
const definitionLock = `SELECT pg_advisory_xact_lock(hashtext('ashlar'))`
const insufficientPrivilege = '42501'

/** A node that is down does not prevent the start: old proofs are harmless, and are removed at a later one. */
async function removeOldProofs(connections: Connections, { schema, hasRoot }: Tables): Promise<void> {
  const old = `at < now() - interval '1 day'`
  if (!hasRoot) {
    await connections.upkeep(`DELETE FROM ${schema}.slot WHERE ${old}`)
    return
  }
  await connections.upkeep(`DELETE FROM ${schema}.slot_root WHERE ${old}`)
  await connections.upkeep(`DELETE FROM ${schema}.slot WHERE ${old}`).catch((error) => {
    if (!(error instanceof AshlarError)) throw error
  })
}

async function preparedAs(
  connections: Connections,
  keys: KeyPlacement,
  isDistributed: boolean,
  canRecover: boolean,
): Promise<Prepared> {
  const { schema } = connections.address
  const hasRoot = await isTrue(connections, 'SELECT to_regclass($1) IS NOT NULL', `${schema}.kv_root`)
  const tables = { schema, hasRoot, keys }
  const rows = await rowsOfCommit(connections, isDistributed)
  return { isDistributed, rowsOfCommit: rows, hasBulkCommits: false, canRecover, tables, canAppend: false }
}

/** Only reads, also tables of an earlier version. Throws an `Error` for the operator. */
export async function prepareToRead(connections: Connections, keys: KeyPlacement): Promise<Prepared> {
  if (!(await isDefined(connections))) throw new PlaceRefused('wrongPlace', 'there is no store')
  await checkVersion(connections, oldestTablesVersion)
  const isDistributed = await isTableDistributed(connections)
  return preparedAs(connections, keys, isDistributed, false)
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

/** Concurrent first starts are serialized; the lock ends with the transaction. */
async function define(connections: Connections, keys: KeyPlacement): Promise<void> {
  const { schema, isDistributed } = connections.address
  if (isDistributed && !(await hasCitus(connections))) {
    throw new Error('the database has no extension citus; make it with CREATE EXTENSION citus, or leave out distribute')
  }
  try {
    await connections.upkeepTransaction(async (run) => {
      await run(definitionLock)
      // Another process may have been first, and a table that is already distributed must not be distributed again.
      const { rows } = await run(`SELECT (to_regclass('${schema}.storage') IS NOT NULL)::int AS is_there`)
      if ((rows[0] as { is_there: number }).is_there === 1) return
      await run(`CREATE SCHEMA IF NOT EXISTS ${schema}; ${definitions({ schema, hasRoot: isDistributed, keys })}`)
    })
  } catch (error) {
    if (codeOf(error) !== insufficientPrivilege) throw error
    const more = isDistributed
      ? '; on Citus, its role is made on the coordinator, in this database, once all nodes are added'
      : ''
    throw new Error(`the user may not define the schema ${schema} and its tables${more}`, { cause: error })
  }
}

/** Commits and schema changes share a lock table on the coordinator; through a worker it would be a different one. */
async function checkCoordinator(connections: Connections): Promise<void> {
  const groups = 'pg_catalog.pg_dist_local_group'
  if (!(await isTrue(connections, 'SELECT to_regclass($1) IS NOT NULL', groups))) return
  const { rows } = await connections.upkeep(`SELECT groupid FROM ${groups}`)
  if ((rows[0] as { groupid: number } | undefined)?.groupid === 0) return
  throw new Error('the address names a worker of Citus; use the address of the coordinator')
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
  if (!(await isTrue(connections, 'SELECT to_regclass($1) IS NOT NULL', 'pg_dist_placement'))) return
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

function hasCitus(connections: Connections): Promise<boolean> {
  return isTrue(connections, 'SELECT EXISTS (SELECT FROM pg_proc WHERE proname = $1)', 'create_distributed_table')
}

/** Distributed by Citus, or into partitions that may be on other nodes. */
async function isTableDistributed(connections: Connections): Promise<boolean> {
  const table = `${connections.address.schema}.kv`
  if (await isTrue(connections, `SELECT relkind = 'p' FROM pg_class WHERE oid = $1::regclass`, table)) return true
  if (!(await isTrue(connections, 'SELECT to_regclass($1) IS NOT NULL', 'pg_catalog.pg_dist_partition'))) return false
  return isTrue(connections, 'SELECT EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = $1::regclass)', table)
}

/** A foreign table cannot create or lock a row by one statement. */
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
