/** Checks that connections are sessions of the server, not assigned by a pooler per transaction. */
import type pg from 'pg'
import { delayBeforeAttempt } from './attempts.ts'
import type { Connections } from './connections.ts'

/** A pooler may assign connections in any order; a few transactions reveal it. */
const rounds = 4

/**
 * Throws an `Error` for the operator if session state or prepared statements would leak between connections. While
 * one connection holds a transaction, another starts some: sessions keep distinct backends.
 */
export async function checkSessions(connections: Connections): Promise<void> {
  const one = await connections.reader(false)
  try {
    const other = await connections.reader(true)
    try {
      await compareBackends(one, other)
    } finally {
      other.release()
    }
  } finally {
    // Even without a second connection: the pool ends only after every release.
    one.release()
  }
}

async function compareBackends(one: pg.PoolClient, other: pg.PoolClient): Promise<void> {
  const backendsOfOne = new Set([await backendOf(one)])
  for (let round = 0; round < rounds; round++) {
    await begin(other)
    const backendOfOther = await backendOf(other)
    backendsOfOne.add(await backendOf(one))
    await other.query('COMMIT')
    if (backendsOfOne.size > 1 || backendsOfOne.has(backendOfOther)) throw new Error(refusal)
    await delayBeforeAttempt(round)
  }
}

const refusal =
  'the address belongs to a connection pooler in transaction or statement mode, and Ashlar needs sessions of its own; run the pooler in session mode, or use the address of the database itself'

/** A pooler that assigns connections per statement refuses transactions. */
async function begin(client: pg.PoolClient): Promise<void> {
  try {
    await client.query('BEGIN')
  } catch (error) {
    throw new Error(refusal, { cause: error })
  }
}

async function backendOf(client: pg.PoolClient): Promise<number> {
  const { rows } = await client.query('SELECT pg_backend_pid() AS backend')
  return (rows[0] as { backend: number }).backend
}
