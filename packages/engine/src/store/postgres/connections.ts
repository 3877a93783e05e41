/**
 * The connections of one store: separate pools for reads and commits, so that neither waits for something that only the
 * other can release.
 */
import { randomBytes } from 'node:crypto'
import pg from 'pg'
import type { PostgresAddress } from './address.ts'
import { Attempts } from './attempts.ts'
import { valueTypes } from './binary-rows.ts'
import { failureOf, Refusal, toStoreError } from './failures.ts'
import { CandidateRefused, Servers } from './servers.ts'

/**
 * Every access goes by the primary key, and finds each row once; a plan made while the table was small must not outlive that. Texts of statements, and of the
 * commit function, are read as they are meant, whatever a role or database sets.
 */
const session = `
  SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_bitmapscan = off;
  SET enable_memoize = off; SET jit = off; SET bytea_output = 'hex'; SET default_transaction_isolation = 'read committed';
  SET synchronous_commit = on; SET extra_float_digits = 1; SET standard_conforming_strings = on;
`

/** How the server plans prepared statements: Citus cannot plan one over several shards without the values of its parameters. */
export type PlanCacheMode = 'auto' | 'force_generic_plan'
const upkeepersMax = 2

/** A standby, or a primary that is to be one, may lack what was acknowledged: it is not even read from. */
async function checkWrites(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query(`SELECT (current_setting('transaction_read_only') = 'on')::int AS only_reads`)
  if ((rows[0] as { only_reads: number }).only_reads === 1) {
    throw new Error('the server is read-only: it is a standby, or default_transaction_read_only is on')
  }
}

/** A connection that commits, and the row by which the outcome of its last commit can be found out. */
export interface CommitConnection {
  readonly client: pg.PoolClient
  readonly slot: string
  /** Number of the last commit sent. */
  number: number
  /** So many came with answers: Citus warns where a node did not do what it was told to in the last phase of a commit. */
  readonly warnings: number
}

export class Connections {
  readonly address: PostgresAddress
  readonly writersMax: number
  private readonly readers: pg.Pool
  /** For snapshots asked for while another is held, and for commits: what the readers wait for never waits for readers. */
  private readonly writers: pg.Pool
  /** For what others wait for: never kept waiting by them. */
  private readonly upkeepers: pg.Pool
  private readonly slots = new WeakMap<pg.ClientBase, CommitConnection>()
  private readonly planCacheMode: PlanCacheMode
  private readonly servers: Servers

  constructor(address: PostgresAddress, planCacheMode: PlanCacheMode) {
    this.address = address
    this.servers = new Servers(address)
    this.planCacheMode = planCacheMode
    this.readers = this.pool(address.connections, 'reads')
    this.writersMax = Math.max(2, Math.ceil(address.connections / 2))
    this.writers = this.pool(this.writersMax, 'commits')
    this.upkeepers = this.pool(upkeepersMax, 'upkeep')
  }

  /**
   * `isNested`: asked for by work that holds a reader already; were it to wait for readers, all could wait for each other. `end`: after it no further attempt is made, by
   * `performance.now()`; `patienceMs` from now where it is left out.
   */
  reader(isNested: boolean, end?: number): Promise<pg.PoolClient> {
    const attempts = end === undefined ? undefined : Attempts.until(end)
    return this.retryingConnect(() => (isNested ? this.writers : this.readers).connect(), attempts)
  }

  /** One more for work that has one already, unless others may want it: half of all are left to those who have none. */
  spareReader(): Promise<pg.PoolClient> | undefined {
    const { totalCount, idleCount, waitingCount } = this.readers
    if (waitingCount > 0 || totalCount - idleCount >= this.address.connections / 2) return undefined
    return this.readers.connect()
  }

  writer(): Promise<CommitConnection> {
    return this.retryingConnect(async () => {
      const client = await this.writers.connect()
      const known = this.slots.get(client)
      if (known !== undefined) return known
      const slot = randomBytes(8).readBigInt64BE().toString()
      const connection = { client, slot, number: 0, warnings: 0 }
      client.on('notice', ({ severity }) => {
        if (severity === 'WARNING') connection.warnings++
      })
      this.slots.set(client, connection)
      return connection
    })
  }

  /** Runs statements of the store's own upkeep, which do no harm when they are run twice. */
  upkeep(text: string, values: readonly unknown[] = []): Promise<pg.QueryResult> {
    return this.retryingConnect(async () => {
      const client = await this.upkeepers.connect()
      const result = await this.run(client, text, values)
      client.release()
      return result
    })
  }

  /** As `upkeep`, within one transaction. */
  upkeepTransaction(work: (run: (text: string) => Promise<pg.QueryResult>) => Promise<void>): Promise<void> {
    return this.retryingConnect(async () => {
      const client = await this.upkeepers.connect()
      try {
        await client.query('BEGIN')
        await work((text) => client.query(text))
        await client.query('COMMIT')
        client.release()
      } catch (error) {
        client.release(true)
        throw error
      }
    })
  }

  async end(): Promise<void> {
    await Promise.all([this.readers.end(), this.writers.end(), this.upkeepers.end()])
  }

  /** `work`: what the database's own statistics are to tell of the connections. */
  private pool(max: number, work: string): pg.Pool {
    const { applicationName, statementMs, patienceMs } = this.address
    const { servers } = this
    const pool = new pg.Pool({
      Client: servers.clientClass(),
      application_name: applicationName ?? `ashlar ${work}`,
      max,
      // What is sent does not wait for the answer to what was sent before.
      pipeline: true,
      types: valueTypes,
      keepAlive: true,
      idleTimeoutMillis: 60_000,
      connectionTimeoutMillis: patienceMs,
      onConnect: async (client: pg.ClientBase) => {
        try {
          const set = `${session} SET statement_timeout = ${statementMs}; SET plan_cache_mode = ${this.planCacheMode};`
          await client.query(set)
          await checkWrites(client)
          servers.succeeded()
        } catch (error) {
          throw servers.isUnfit(client, error as Error)
        }
      },
    } as pg.PoolConfig)
    // One that breaks while nobody uses it is replaced by the next that is asked for.
    pool.on('error', () => undefined)
    return pool
  }

  /** Drops the connection when the statement fails. */
  private async run(client: pg.PoolClient, text: string, values: readonly unknown[]): Promise<pg.QueryResult> {
    try {
      return await client.query(text, [...values])
    } catch (error) {
      client.release(true)
      throw error
    }
  }

  /** Waits for a connection that is free and for a database that is just coming back, but not for ever. */
  private async retryingConnect<T>(
    work: () => Promise<T>,
    attempts = Attempts.fromNow(this.address.patienceMs),
  ): Promise<T> {
    let candidates = 0
    let failed: unknown
    for (;;) {
      try {
        return await work()
      } catch (error) {
        // A server that does not encrypt is asked again without, and that is no second attempt.
        if (error instanceof CandidateRefused && ++candidates < this.servers.count) continue
        // Of several candidates, the one that could be used is worth telling about, not those that never can.
        if (!(error instanceof CandidateRefused)) failed = error
        if (await attempts.another(failureOf(error))) continue
        throw error instanceof Refusal ? error : toStoreError(this.address.location, failed ?? error)
      }
    }
  }
}
