/** One call of the commit function in one round trip, retried if that can help; a commit is never made twice, and its outcome never lost. */
import type { CommitOutcome } from '../store.ts'
import { runYieldingIfLong } from '../time-slice.ts'
import { Attempts } from './attempts.ts'
import { preparedStatement, rowsInBytes } from './binary-rows.ts'
import type { CommitCall } from './commit-call.ts'
import { fencedSqlState } from './commit-function.ts'
import { type CommitParameters, parameterNames } from './commit-parameters.ts'
import type { CommitConnection, Connections } from './connections.ts'
import { type CallLayout, encodeCall } from './encode-call.ts'
import { failureOf, outcomeUnknown, sqlState, statementTimedOut, toStoreError } from './failures.ts'
import type { Tables } from './tables.ts'

export interface CommitStrategy {
  readonly tables: Tables
  readonly layout: CallLayout
  /** Where the call is recorded as done. */
  proofOf(call: CommitCall): Proof
  /** Present if a commit may have two phases, on several nodes. */
  readonly nodes?: CommitNodes | undefined
}

export interface Proof {
  readonly table: string
  readonly placement: number
}

export interface CommitNodes {
  /** Awaited before a call that excludes all others. Throws an `Error` unless every node is reachable. */
  recoverEverywhere(): Promise<void>
  /** The result of the work, which may wait for what a failed commit has left. */
  recoveringUntil<T>(work: Promise<T>): Promise<T>
  /** Resolves when all changes of the last commit of a backend are visible. `backend`: its process ID. */
  settled(backend: number): Promise<void>
}

/** One of several commits waited too long for a lock, or cannot be sent: nothing was done, and each is retried alone. */
export class FailedTogether extends Error {}

/** Throws FailedTogether; StoreUnavailable if the database stays unreachable and nothing was committed, OutcomeUnknown if the call was sent. */
export async function commitTogether(
  connections: Connections,
  call: CommitCall,
  strategy: CommitStrategy,
): Promise<CommitOutcome[]> {
  const { nodes } = strategy
  const proof = strategy.proofOf(call)
  const parameters = await parametersOf(call, strategy)
  const { location, patienceMs } = connections.address
  const attempts = new Attempts(patienceMs)
  if (nodes !== undefined && call.isExclusive) await reachEveryNode(connections, nodes)
  for (;;) {
    const connection = await writerOf(connections)
    const { warnings } = connection
    connection.number++
    try {
      const failed = await send(connections, connection, proof, parameters)
      checkConfirmed(connection, warnings, nodes)
      connection.client.release()
      return call.outcomes(failed)
    } catch (error) {
      const failure = sqlState(error) === fencedSqlState ? 'unusable' : failureOf(error)
      // Citus commits the rows of a single node there first, and may be interrupted before it learns of it.
      const isUnknown = failure === 'lost' || (nodes !== undefined && failure === 'unavailable')
      connection.client.release(isUnknown || failure === 'unusable')
      const failed = isUnknown
        ? await resolveUnknownOutcome(connections, { connection, proof, nodes, error })
        : undefined
      if (failed !== undefined) return call.outcomes(failed)
      if (sqlState(error) === statementTimedOut && call.size > 1) throw new FailedTogether()
      if (!(await attempts.another(failure))) throw toStoreError(location, error)
    }
  }
}

/**
 * One call within the transaction of a lock on all commits, which it ends. Undefined if the connection was lost and nothing was committed. Throws
 * OutcomeUnknown; StoreUnavailable for a call of packed rows, which are not retained for another attempt.
 */
export async function commitUnderLock(
  connections: Connections,
  connection: CommitConnection,
  call: CommitCall,
  strategy: CommitStrategy,
): Promise<CommitOutcome[] | undefined> {
  const { nodes } = strategy
  const proof = strategy.proofOf(call)
  const { client, warnings } = connection
  connection.number++
  try {
    const failed = await send(connections, connection, proof, await parametersOf(call, strategy))
    await client.query('COMMIT')
    checkConfirmed(connection, warnings, nodes)
    client.release()
    return call.outcomes(failed)
  } catch (error) {
    client.release(true)
    const failed = await resolveUnknownOutcome(connections, { connection, proof, nodes, error })
    if (failed !== undefined) return call.outcomes(failed)
    if (call.isPacked) throw toStoreError(connections.address.location, error)
    return undefined
  }
}

async function parametersOf(call: CommitCall, { layout }: CommitStrategy): Promise<CommitParameters> {
  try {
    return await runYieldingIfLong(encodeCall(call, layout))
  } catch (error) {
    if (call.size > 1) throw new FailedTogether(undefined, { cause: error })
    throw error
  }
}

/**
 * The lock alone recovers only transactions of reachable nodes: one that is away might come back during the call, and hide a decision from a change
 * that excludes all other calls. Throws StoreUnavailable.
 */
async function reachEveryNode({ address }: Connections, nodes: CommitNodes): Promise<void> {
  const attempts = new Attempts(address.patienceMs)
  for (;;) {
    try {
      return await nodes.recoverEverywhere()
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
  { placement }: Proof,
  parameters: CommitParameters,
): Promise<readonly number[]> {
  const all = { ...parameters, proof: placement, slot: connection.slot, number: connection.number }
  const text = `SELECT array_to_string(${address.schema}.commit(${placeholders}), ',')`
  const values = parameterNames.map((name) => all[name])
  const rows = await rowsInBytes(connection.client, preparedStatement('commit', text, values))
  const failed = rows.bytes(0, 0)?.toString() ?? ''
  return failed === '' ? [] : failed.split(',').map(Number)
}

/** Citus reports by a warning that a node did not confirm, and other failures as errors. */
function checkConfirmed(connection: CommitConnection, warnings: number, nodes: CommitNodes | undefined): void {
  if (nodes !== undefined && connection.warnings > warnings) {
    throw new Error('a node of the database did not confirm a commit')
  }
}

interface Lost {
  readonly connection: CommitConnection
  readonly proof: Proof
  readonly nodes: CommitNodes | undefined
  readonly error: unknown
}

/**
 * The result of the last call on a lost connection; undefined if it was not executed. The connection is fenced first: if its backend is alive, but
 * disconnected from this process, its call either has the row of the slot already, and is waited for, or will fail at it. On several nodes the row may
 * be part of a prepared transaction that needs recovery, and the result is returned only once the changes are visible on every node.
 */
async function resolveUnknownOutcome(
  connections: Connections,
  { connection, proof, nodes, error }: Lost,
): Promise<readonly number[] | undefined> {
  let row: SlotRow
  try {
    const fencing = fence(connections, proof, connection.slot)
    row = await (nodes?.recoveringUntil(fencing) ?? fencing)
  } catch {
    // The cause of the lost connection is the error worth reporting.
    throw outcomeUnknown(connections.address.location, error)
  }
  if (row.last !== connection.number) return undefined
  const { processID } = connection.client as { processID?: number }
  if (processID !== undefined) await nodes?.settled(processID)
  return row.failed
}

interface SlotRow {
  /** Number of the last completed call; 0 with none. */
  readonly last: number
  readonly failed: readonly number[]
}

/** One of the two statements finds the row; both fail only if a call creates it between them, and are then repeated. */
async function fence(connections: Connections, { table, placement }: Proof, slot: string): Promise<SlotRow> {
  // Citus accepts only immutable functions here, which excludes conversions to text.
  const returning = 'RETURNING last, failed'
  for (;;) {
    const update = `UPDATE ${table} SET is_fenced = true WHERE placement = $1 AND slot = $2 ${returning}`
    const updated = await connections.upkeep(update, [placement, slot])
    if (updated.rows.length > 0) return updated.rows[0] as SlotRow
    const insert = `INSERT INTO ${table} VALUES ($1, $2, 0, '{}', true, now()) ON CONFLICT DO NOTHING ${returning}`
    const inserted = await connections.upkeep(insert, [placement, slot])
    if (inserted.rows.length > 0) return inserted.rows[0] as SlotRow
  }
}
