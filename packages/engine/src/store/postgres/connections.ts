/**
 * The connections of one store: separate pools for reads and commits, so that neither waits for something that only the
 * other can release.
 */
import { randomBytes } from 'node:crypto'
import type { Socket } from 'node:net'
import pg from 'pg'
import type { Awaitable } from '../store.ts'
import type { PostgresAddress } from './address.ts'
import { AnswerWatch } from './answer-watch.ts'
import { Attempts } from './attempts.ts'
import { valueTypes } from './binary-rows.ts'
import { failureOf, isOutOfConnections, Refusal, toStoreError } from './failures.ts'
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

/** A connection that nobody uses is checked by the system from then on: ten times, once a second, before it is given up. */
const keepAliveMs = 5_000
/** How long the server may take to agree when connections are closed. */
const closingMs = 2_000
/** After so long, a server that had no more connections to give is asked for one again. */
const scarceMs = 10_000

/** A standby, or a primary that is to be one, may lack what was acknowledged: it is not even read from. */
async function checkWrites(client: pg.ClientBase, timeoutMs?: number): Promise<void> {
  const text = `SELECT (current_setting('transaction_read_only') = 'on')::int AS only_reads`
  const { rows } = await client.query({ text, ...withTimeout(timeoutMs) })
  if ((rows[0] as { only_reads: number }).only_reads === 1) {
    throw new Error('the server is read-only: it is a standby, or default_transaction_read_only is on')
  }
}

/** pg knows it, but does not declare it for a single query. */
function withTimeout(timeoutMs: number | undefined): { query_timeout?: number } {
  return timeoutMs === undefined ? {} : { query_timeout: timeoutMs }
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
  private readonly watch: AnswerWatch
  private readonly servers: Servers
  private sharing: Promise<void> | undefined
  /** How many connections each is to have, and since when the server has had no more for it. */
  private readonly wanted = new Map<pg.Pool, { readonly max: number; scarceSince: number }>()

  constructor(address: PostgresAddress, planCacheMode: PlanCacheMode) {
    this.address = address
    this.watch = new AnswerWatch(address.statementMs)
    this.servers = new Servers(address, this.watch)
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
    const pool = isNested ? this.writers : this.readers
    return this.retryingConnect(pool, (client) => client, attempts)
  }

  /** One more for work that has one already, unless others may want it: half of all are left to those who have none. */
  spareReader(): Promise<pg.PoolClient> | undefined {
    const { totalCount, idleCount, waitingCount } = this.readers
    if (waitingCount > 0 || totalCount - idleCount >= this.address.connections / 2) return undefined
    return this.readers.connect()
  }

  writer(): Promise<CommitConnection> {
    return this.retryingConnect(this.writers, (client) => {
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
    return this.retryingConnect(this.upkeepers, async (client) => {
      const result = await this.run(client, text, values)
      client.release()
      return result
    })
  }

  /** As `upkeep`, within one transaction. */
  upkeepTransaction(work: (run: (text: string) => Promise<pg.QueryResult>) => Promise<void>): Promise<void> {
    return this.retryingConnect(this.upkeepers, async (client) => {
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

  /** Throws StoreUnavailable unless a connection that commits is to be had, and its server takes changes. */
  async checkWriter(): Promise<void> {
    await this.retryingConnect(this.writers, async (client) => {
      try {
        await checkWrites(client)
        client.release()
      } catch (error) {
        client.release(true)
        throw error
      }
    })
  }

  async end(): Promise<void> {
    const ended = Promise.all([this.readers.end(), this.writers.end(), this.upkeepers.end()])
    const timer = setTimeout(() => this.watch.close(), closingMs)
    await ended
    clearTimeout(timer)
    this.watch.close()
  }

  /** `work`: what the database's own statistics are to tell of the connections. */
  private pool(max: number, work: string): pg.Pool {
    const { applicationName, statementMs, patienceMs } = this.address
    const { servers } = this
    const { connectMs } = servers
    const pool = new pg.Pool({
      Client: servers.clientClass(),
      application_name: applicationName ?? `ashlar ${work}`,
      max,
      // What is sent does not wait for the answer to what was sent before.
      pipeline: true,
      types: valueTypes,
      keepAlive: true,
      keepAliveInitialDelayMillis: keepAliveMs,
      idleTimeoutMillis: 60_000,
      // Without patience too, a connection takes its time to be made.
      connectionTimeoutMillis: Math.max(patienceMs, connectMs),
      onConnect: async (client: pg.ClientBase) => {
        try {
          const set = `${session} SET statement_timeout = ${statementMs}; SET plan_cache_mode = ${this.planCacheMode};`
          await client.query({ text: set, ...withTimeout(connectMs) })
          await checkWrites(client, connectMs)
          servers.succeeded()
        } catch (error) {
          throw servers.isUnfit(client, error as Error)
        }
      },
    } as pg.PoolConfig)
    // One that breaks while nobody uses it is replaced by the next that is asked for.
    pool.on('error', () => undefined)
    // What is of no use any more is closed at once: its server may never agree to that.
    pool.on('release', (error, client) => {
      if (error) (client as unknown as { connection: { stream: Socket } }).connection.stream.destroy()
    })
    this.wanted.set(pool, { max, scarceSince: 0 })
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
    pool: pg.Pool,
    work: (client: pg.PoolClient) => Awaitable<T>,
    attempts = Attempts.fromNow(this.address.patienceMs),
  ): Promise<T> {
    let candidates = 0
    let failed: unknown
    for (;;) {
      try {
        this.askForMore(pool)
        return await work(await pool.connect())
      } catch (error) {
        if (isOutOfConnections(error)) await this.shareConnections(pool)
        // A server that does not encrypt is asked again without, and that is no second attempt.
        if (error instanceof CandidateRefused && ++candidates < this.servers.count) continue
        // Of several candidates, the one that could be used is worth telling about, not those that never can.
        if (!(error instanceof CandidateRefused)) failed = error
        if (await attempts.another(failureOf(error))) continue
        throw error instanceof Refusal ? error : toStoreError(this.address.location, failed ?? error)
      }
    }
  }

  /** Whoever asks for a connection from now on waits for one that there is. A pool that has none gets one of another's. */
  private async shareConnections(pool: pg.Pool): Promise<void> {
    if (pool.totalCount > 0) return this.limit(pool)
    this.sharing ??= this.closeOne().finally(() => {
      this.sharing = undefined
    })
    return this.sharing
  }

  private async closeOne(): Promise<void> {
    const [largest] = [...this.wanted.keys()].sort((one, other) => other.totalCount - one.totalCount)
    if (largest === undefined || largest.totalCount < 2) return
    // The others must not replace it.
    this.limit(largest)
    largest.options.max--
    try {
      const client = await largest.connect()
      client.release(true)
    } catch {
      // All of its connections are in use: whoever wants one asks again for as long as it has patience.
    }
  }

  private limit(pool: pg.Pool): void {
    const wanted = this.wanted.get(pool)
    if (wanted === undefined) return
    wanted.scarceSince = performance.now()
    pool.options.max = pool.totalCount
  }

  private askForMore(pool: pg.Pool): void {
    const wanted = this.wanted.get(pool)
    if (wanted === undefined || wanted.max === pool.options.max) return
    if (performance.now() >= wanted.scarceSince + scarceMs) pool.options.max = wanted.max
  }
}
