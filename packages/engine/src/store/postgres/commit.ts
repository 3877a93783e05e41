/** One call of the commit function in one round trip, retried if that can help; a commit is never made twice, and its outcome never lost. */
import type { CommitOutcome } from '../store.ts'
import { runYieldingIfLong } from '../time-slice.ts'
import { Attempts } from './attempts.ts'
import { preparedStatement } from './binary-rows.ts'
import type { CommitCall, RowsOfCommit } from './commit-call.ts'
import { fencedSqlState } from './commit-function.ts'
import { type CommitParameters, parameterNames, procedureFlags } from './commit-parameters.ts'
import type { CommitConnection, Connections } from './connections.ts'
import { codeOf, failureOf, outcomeUnknown, statementTimedOut, toStoreError } from './failures.ts'
import type { PreparedTransactions } from './prepared-transactions.ts'
import { type Tables, tableOf } from './tables.ts'

export interface CommitStrategy {
  readonly rows: RowsOfCommit
  /** Whether packed rows are sent as they are; not on Citus. */
  readonly hasBulkCommits: boolean
  readonly tables: Tables
  /** Absent if commits never have two phases. */
  readonly prepared: PreparedTransactions | undefined
}

/** One of several commits waited too long for a lock, or cannot be sent: nothing was done, and each is retried alone. */
export class FailedTogether extends Error {}

/** Throws FailedTogether; StoreUnavailable if the database stays unreachable and nothing was committed, OutcomeUnknown if the call was sent. */
export async function commitTogether(
  connections: Connections,
  call: CommitCall,
  { rows, tables, prepared }: CommitStrategy,
): Promise<CommitOutcome[]> {
  const proof = rows === 'together' ? 0 : call.proofPlacement
  const parameters = await parametersOf(call, rows)
  if (prepared !== undefined && (call.isExclusive || call.hasRanges))
    parameters.steps = (parameters.steps as number) | procedureFlags.recover
  const { location, patienceMs } = connections.address
  const attempts = new Attempts(patienceMs)
  if (prepared !== undefined && call.isExclusive) await reachEveryNode(connections, prepared)
  for (;;) {
    const connection = await writerOf(connections)
    connection.number++
    try {
      const failed = await send(
        connections,
        connection,
        { ...parameters, proof, slot: connection.slot, number: connection.number },
        prepared,
      )
      connection.client.release()
      return call.outcomes(failed)
    } catch (error) {
      const failure = codeOf(error) === fencedSqlState ? 'unusable' : failureOf(error)
      // Citus commits the rows of a single node there first, and may be interrupted before it learns of it.
      const isUnknown = failure === 'lost' || (prepared !== undefined && failure === 'unavailable')
      connection.client.release(isUnknown || failure === 'unusable')
      const failed = isUnknown
        ? await resolveUnknownOutcome(connections, { connection, proof, tables, prepared, error })
        : undefined
      if (failed !== undefined) return call.outcomes(failed)
      if (codeOf(error) === statementTimedOut && call.size > 1) throw new FailedTogether()
      if (!(await attempts.another(failure))) throw toStoreError(location, error)
    }
  }
}

/**
 * One call within the transaction of a lock on all commits, which it ends. Undefined if the connection was lost and nothing was committed. Throws
 * OutcomeUnknown; StoreUnavailable for a large call, whose rows are not retained for another attempt.
 */
export async function commitUnderLock(
  connections: Connections,
  connection: CommitConnection,
  call: CommitCall,
  { rows, tables, prepared }: CommitStrategy,
): Promise<CommitOutcome[] | undefined> {
  const proof = rows === 'together' ? 0 : call.proofPlacement
  const { client, slot, warnings } = connection
  connection.number++
  try {
    const parameters = await parametersOf(call, rows)
    if (prepared !== undefined && call.hasRanges)
      parameters.steps = (parameters.steps as number) | procedureFlags.recover
    const failed = await send(
      connections,
      connection,
      { ...parameters, proof, slot, number: connection.number },
      undefined,
    )
    await client.query('COMMIT')
    if (prepared !== undefined && connection.warnings > warnings) throw new Error(unconfirmed)
    client.release()
    return call.outcomes(failed)
  } catch (error) {
    client.release(true)
    const failed = await resolveUnknownOutcome(connections, { connection, proof, tables, prepared, error })
    if (failed !== undefined) return call.outcomes(failed)
    if (call.isLarge) throw toStoreError(connections.address.location, error)
    return undefined
  }
}

async function parametersOf(call: CommitCall, rows: RowsOfCommit): Promise<CommitParameters> {
  try {
    return await runYieldingIfLong(call.toParameters(rows))
  } catch (error) {
    if (call.size > 1) throw new FailedTogether(undefined, { cause: error })
    throw error
  }
}

/**
 * The lock alone recovers only transactions of reachable nodes: one that is away might come back during the call, and hide a decision from a change
 * that excludes all other calls. Throws StoreUnavailable.
 */
async function reachEveryNode({ address }: Connections, prepared: PreparedTransactions): Promise<void> {
  const attempts = new Attempts(address.patienceMs)
  for (;;) {
    try {
      return await prepared.recoverEverywhere()
    } catch (error) {
      if (!(await attempts.another(failureOf(error)))) throw toStoreError(address.location, error)
    }
  }
}

async function writerOf(connections: Connections): Promise<CommitConnection> {
  try {
    return await connections.writer()
  } catch (error) {
    throw toStoreError(connections.address.location, error)
  }
}

/** $1, $2 … of the function that commits. */
const placeholders = parameterNames.map((_, i) => `$${i + 1}`).join(', ')

async function send(
  { address }: Connections,
  connection: CommitConnection,
  parameters: Record<(typeof parameterNames)[number], unknown>,
  prepared: PreparedTransactions | undefined,
): Promise<readonly number[]> {
  const warningsBefore = connection.warnings
  const text = `SELECT array_to_string(${address.schema}.commit(${placeholders}), ',')`
  const values = parameterNames.map((name) => parameters[name])
  const { rows } = await connection.client.query<unknown[]>(preparedStatement('commit', text, values))
  if (prepared !== undefined && connection.warnings > warningsBefore) throw new Error(unconfirmed)
  const failed = (rows[0]?.[0] ?? '') as string
  return failed === '' ? [] : failed.split(',').map(Number)
}

/** The cause of a warning; Citus reports other failures as errors. */
const unconfirmed = 'a node of the database did not confirm a commit'

interface Lost {
  readonly connection: CommitConnection
  readonly proof: number
  readonly prepared: PreparedTransactions | undefined
  readonly tables: Tables
  readonly error: unknown
}

/**
 * The result of the last call on a lost connection; undefined if it was not executed. The connection is fenced first: if its backend is alive, but
 * disconnected from this process, its call either has the row of the slot already, and is waited for, or will fail at it. On Citus the row may be
 * part of a prepared transaction that needs recovery, and the result is returned only once the changes are visible on every node.
 */
async function resolveUnknownOutcome(
  connections: Connections,
  { connection, proof, tables, prepared, error }: Lost,
): Promise<readonly number[] | undefined> {
  let row: SlotRow
  try {
    const fencing = fence(connections, tableOf(tables, proof, 'slot'), proof, connection.slot)
    row = await (prepared === undefined ? fencing : prepared.recoveringUntil(fencing))
  } catch {
    // The cause of the lost connection is the error worth reporting.
    throw outcomeUnknown(connections.address.location, error)
  }
  if (row.last !== connection.number) return undefined
  const { processID } = connection.client as { processID?: number }
  if (prepared !== undefined && processID !== undefined) await prepared.settled(processID)
  return row.failed
}

interface SlotRow {
  /** Number of the last completed call; 0 with none. */
  readonly last: number
  readonly failed: readonly number[]
}

/** One of the two statements finds the row; both fail only if a call creates it between them, and are then repeated. */
async function fence(connections: Connections, table: string, proof: number, slot: string): Promise<SlotRow> {
  // Citus accepts only immutable functions here, which excludes conversions to text.
  const returning = 'RETURNING last, failed'
  for (;;) {
    const update = `UPDATE ${table} SET is_fenced = true WHERE placement = $1 AND slot = $2 ${returning}`
    const updated = await connections.upkeep(update, [proof, slot])
    if (updated.rows.length > 0) return updated.rows[0] as SlotRow
    const insert = `INSERT INTO ${table} VALUES ($1, $2, 0, '{}', true, now()) ON CONFLICT DO NOTHING ${returning}`
    const inserted = await connections.upkeep(insert, [proof, slot])
    if (inserted.rows.length > 0) return inserted.rows[0] as SlotRow
  }
}
