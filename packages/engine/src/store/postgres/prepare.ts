/** Creates the tables of a store when it is first opened, and checks them each time. */
import { appendedKeyBytes, appendedNumber } from '../append.ts'
import { commitFunction, lastAssignedNumber, numbersOf, numbersOfCall } from './commit-function.ts'
import type { Connections } from './connections.ts'
import { hasCitus, isTableDistributed } from './detect-citus.ts'
import { definitions } from './schema.ts'
import type { Tables } from './tables.ts'
import { checkTables, prepareTables, removeOldProofs, renewCommitFunction } from './upkeep.ts'

/** `canAppend`: whether this user may use the sequence of numbers. */
type Preparation = { readonly canAppend: boolean } | 'distributed'

/** `warn` receives warnings about a usable but probably unintended configuration. Throws an `Error` for the operator. */
export async function prepare(
  connections: Connections,
  tables: Tables,
  warn: (message: string) => void,
): Promise<Preparation> {
  await prepareTables(connections, definitions(tables))
  if (await isTableDistributed(connections)) return 'distributed'
  if (await hasCitus(connections)) {
    warn(
      'The database has the extension citus, but the table of this store is not distributed: all of it is on one node. To distribute it, copy it into a new schema with distribute=citus.',
    )
  }
  await removeOldProofs(connections, `${tables.schema}.slot`)
  await renewCommitFunction(connections, commitFunction(tables))
  return { canAppend: await canAppend(connections, tables) }
}

/** Only reads, also tables of an earlier version. Throws an `Error` for the operator. */
export async function prepareToRead(connections: Connections): Promise<Preparation> {
  await checkTables(connections)
  return (await isTableDistributed(connections)) ? 'distributed' : { canAppend: false }
}

/** Raises the sequence above the stored numbers, as after the table was moved here without its sequence. */
async function canAppend(connections: Connections, tables: Tables): Promise<boolean> {
  const { schema, keys } = tables
  if (!(await connections.isTrue(`has_sequence_privilege($1, 'USAGE')`, numbersOf(schema)))) return false
  const last = await connections.upkeep(
    `SELECT key FROM ${schema}.kv WHERE placement = ${keys.appendPlacement} AND length(key) = ${appendedKeyBytes} ORDER BY key DESC LIMIT 1`,
  )
  const [entry] = last.rows as { key: Buffer }[]
  if (entry === undefined) return true
  const assigned = await connections.upkeep(`SELECT ${lastAssignedNumber} AS number FROM ${numbersOf(schema)}`)
  const number = appendedNumber(entry.key)
  if (Number((assigned.rows[0] as { number: string }).number) >= number) return true
  // A multiple of the increment, greater than all stored numbers.
  const next = (Math.floor(number / numbersOfCall) + 1) * numbersOfCall
  await connections.upkeep(
    `SELECT setval('${numbersOf(schema)}', greatest(last_value, ${next})) FROM ${numbersOf(schema)}`,
  )
  return true
}
