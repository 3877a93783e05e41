/** Commits on PostgreSQL: one round trip each, tried again where that helps, and never done twice or lost unseen. */
import type { Commit, CommitOutcome, Expectation } from '../store.ts'
import { type CommitConnection, type Connections, pause } from './connections.ts'
import { codeOf, failureOf, storeUnavailable, thrownFor } from './failures.ts'
import { fencedCode } from './schema.ts'
import { sealedCommit } from './seal-commit.ts'

/** Deadlocks do not come from commits themselves, which lock in order, but may come from others in the database. */
const attemptsMax = 10

/** Throws StoreUnavailable when the database stays out of reach: then, and only then, the outcome may be unknown. */
export async function commitTo(connections: Connections, commit: Commit): Promise<CommitOutcome> {
  const values = sealedCommit(commit)
  const { location } = connections.address
  for (let attempt = 1; ; attempt++) {
    const connection = await connections.writer()
    connection.number++
    try {
      const failed = await send(connections, connection, values)
      connection.client.release()
      return failed === 0
        ? { isCommitted: true }
        : { isCommitted: false, failed: commit.expectations[failed - 1] as Expectation }
    } catch (error) {
      const failure = codeOf(error) === fencedCode ? 'fenced' : failureOf(error)
      connection.client.release(failure === 'lost' || failure === 'fenced')
      if (failure === 'lost' && (await isCommitted(connections, connection, error))) return { isCommitted: true }
      if (failure === 'refused' || attempt >= attemptsMax) throw thrownFor(location, error)
      await pause(attempt)
    }
  }
}

/** $1, $2 … of the function that commits. */
const parameters = Array.from({ length: 24 }, (_, i) => `$${i + 1}`).join(', ')

async function send(
  { address }: Connections,
  { client, slot, number }: CommitConnection,
  values: unknown[],
): Promise<number> {
  const { rows } = await client.query<[number]>({
    name: 'commit',
    rowMode: 'array',
    text: `SELECT ${address.schema}.commit(${parameters})`,
    values: [slot, number, ...values],
  })
  return rows[0]?.[0] as number
}

/**
 * Whether the commit last sent on a lost connection was done. The connection is fenced first: should its backend live
 * on, cut off from us, then its commit either has the row of the slot already, and is waited for, or fails at it.
 */
async function isCommitted(connections: Connections, lost: CommitConnection, error: unknown): Promise<boolean> {
  const { schema, location } = connections.address
  try {
    const fence = `UPDATE ${schema}.slot SET is_fenced = true WHERE slot = $1 RETURNING last`
    const { rows } = await connections.upkeep(fence, [lost.slot])
    if (rows.length > 0) return (rows[0] as { last: number }).last === lost.number
  } catch {
    // What is worth telling is why the connection was lost.
  }
  throw storeUnavailable(location, error, unknown)
}

const unknown = ' It is not known whether the change was made: look before you send it again.'
