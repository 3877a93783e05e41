/** One call of the function that commits: one round trip, tried again where that helps, and never done twice or lost unseen. */
import type { CommitOutcome } from '../store.ts'
import { Attempts } from './attempts.ts'
import { fencedCode } from './commit-function.ts'
import type { CommitGroup, RowsOfCommit } from './commit-group.ts'
import type { CommitConnection, Connections } from './connections.ts'
import { codeOf, failureOf, outcomeUnknown, statementTimedOut, thrownFor } from './failures.ts'

/** One of several commits may have waited in vain for somebody else's lock: nothing was done, and each is to be tried alone. */
export class TookTooLong extends Error {}

/**
 * Throws TookTooLong; StoreUnavailable when the database stays out of reach and nothing was committed; OutcomeUnknown when it
 * stays out of reach and the call was sent, so that it may have been carried out.
 */
export async function commitTogether(
  connections: Connections,
  group: CommitGroup,
  rows: RowsOfCommit,
): Promise<CommitOutcome[]> {
  const values = group.sealed(rows)
  const { location, patienceMs } = connections.address
  const attempts = new Attempts(patienceMs)
  for (;;) {
    const connection = await connections.writer()
    connection.number++
    try {
      const failed = await send(connections, connection, values)
      connection.client.release()
      return group.outcomes(failed)
    } catch (error) {
      const failure = codeOf(error) === fencedCode ? 'unusable' : failureOf(error)
      connection.client.release(failure === 'lost' || failure === 'unusable')
      const failed = failure === 'lost' ? await foundOut(connections, connection, error) : undefined
      if (failed !== undefined) return group.outcomes(failed)
      if (codeOf(error) === statementTimedOut && group.size > 1) throw new TookTooLong()
      if (!(await attempts.another(failure))) throw thrownFor(location, error)
    }
  }
}

const parameterCount = 30
/** $1, $2 … of the function that commits. */
const parameters = Array.from({ length: parameterCount }, (_, i) => `$${i + 1}`).join(', ')

/** The positions of expectations that do not hold. */
async function send(
  { address }: Connections,
  { client, slot, number }: CommitConnection,
  values: unknown[],
): Promise<readonly number[]> {
  const { rows } = await client.query<[string]>({
    name: 'commit',
    rowMode: 'array',
    text: `SELECT array_to_string(${address.schema}.commit(${parameters}), ',')`,
    values: [slot, number, ...values],
  })
  return positionsIn(rows[0]?.[0])
}

function positionsIn(text: string | undefined): number[] {
  return text === undefined || text === '' ? [] : text.split(',').map(Number)
}

/**
 * What the call last sent on a lost connection has returned; undefined where it was not done. The connection is fenced first: should
 * its backend live on, cut off from us, then its call either has the row of the slot already, and is waited for, or fails at it.
 */
async function foundOut(
  connections: Connections,
  lost: CommitConnection,
  error: unknown,
): Promise<readonly number[] | undefined> {
  const { schema, location } = connections.address
  try {
    const fence = `UPDATE ${schema}.slot SET is_fenced = true WHERE slot = $1
      RETURNING last, array_to_string(failed, ',') AS failed`
    const { rows } = await connections.upkeep(fence, [lost.slot])
    const [row] = rows as { last: number; failed: string }[]
    if (row !== undefined) return row.last === lost.number ? positionsIn(row.failed) : undefined
  } catch {
    // What is worth telling is why the connection was lost.
  }
  throw outcomeUnknown(location, error)
}
