/** Statements of a start: they create the tables of a store, and check them, whichever driver they are for. */
import { copyCommand } from '../copy-command.ts'
import { PlaceRefused } from '../place-refused.ts'
import { checkSessions } from './check-sessions.ts'
import { commitFunctionMark, commitFunctionVersion } from './commit-function.ts'
import type { Connections } from './connections.ts'
import { checkCoordinator } from './detect-citus.ts'
import { sqlState } from './failures.ts'
import { oldestTablesVersion, tablesVersion } from './schema.ts'

/** Serializes definitions; released at the end of the transaction. */
const definitionLock = `SELECT pg_advisory_xact_lock(hashtext('ashlar'))`
const insufficientPrivilege = '42501'

/** `advice`: of how the user gets the right to define tables. Throws an `Error` for the operator. */
export async function prepareTables(connections: Connections, definitions: string, advice = ''): Promise<void> {
  await checkSessions(connections)
  await checkCoordinator(connections)
  // A user without the right to create objects may use the ones created by an administrator.
  if (!(await isDefined(connections))) await define(connections, definitions, advice)
  await checkVersion(connections, tablesVersion)
}

/** For a store that is only read, possibly of an earlier version. Throws an `Error` for the operator. */
export async function checkTables(connections: Connections): Promise<void> {
  if (!(await isDefined(connections))) throw new PlaceRefused('wrongPlace', 'there is no store')
  await checkVersion(connections, oldestTablesVersion)
}

export function isDefined(connections: Connections): Promise<boolean> {
  return connections.isTrue('SELECT to_regclass($1) IS NOT NULL', `${connections.address.schema}.storage`)
}

/** Concurrent first starts are serialized; the lock ends with the transaction. */
async function define(connections: Connections, definitions: string, advice: string): Promise<void> {
  const { schema } = connections.address
  try {
    await connections.upkeepTransaction(async (run) => {
      await run(definitionLock)
      // Another process may have been first, and a table that is already distributed must not be distributed again.
      const { rows } = await run(`SELECT (to_regclass('${schema}.storage') IS NOT NULL)::int AS is_there`)
      if ((rows[0] as { is_there: number }).is_there === 1) return
      await run(`CREATE SCHEMA IF NOT EXISTS ${schema}; ${definitions}`)
    })
  } catch (error) {
    if (sqlState(error) !== insufficientPrivilege) throw error
    throw new Error(`the user may not define the schema ${schema} and its tables${advice}`, { cause: error })
  }
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

/** Replaces an older function; calls in progress continue with it. Keeps a later version. Throws an `Error` for the operator. */
export async function renewCommitFunction(connections: Connections, definition: string): Promise<void> {
  const { schema } = connections.address
  const version = `coalesce(substring(prosrc FROM '${commitFunctionMark}(\\d+)')::int4, 1)`
  const readVersion = `SELECT ${version} AS version FROM pg_proc WHERE oid = to_regproc('${schema}.commit')`
  const isOld = ({ rows }: { rows: unknown[] }): boolean => {
    const found = rows[0] as { version: number } | undefined
    return found !== undefined && found.version < commitFunctionVersion
  }
  if (!isOld(await connections.upkeep(readVersion))) return
  try {
    await connections.upkeepTransaction(async (run) => {
      await run(definitionLock)
      // Another process may have replaced it first, perhaps by a later version.
      if (isOld(await run(readVersion))) await run(definition)
    })
  } catch (error) {
    if (sqlState(error) !== insufficientPrivilege) throw error
    throw new Error(
      `its function ${schema}.commit is of an earlier version of Ashlar, and this user may not replace it; its owner does by opening the store`,
    )
  }
}

/** Removes proofs of commits whose connections have certainly ended. */
export async function removeOldProofs(connections: Connections, table: string): Promise<void> {
  await connections.upkeep(`DELETE FROM ${table} WHERE at < now() - interval '1 day'`)
}
