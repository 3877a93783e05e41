/** The connections of one store: separate pools for reads and commits, so that neither waits for something that only the other can release. */
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
 * Every access uses the primary key and finds each row once; a plan made while the table was small must not survive.
 * Escapes in statements and the commit function are standard, whatever a role or database sets.
 */
const session = `
  SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_bitmapscan = off;
  SET enable_memoize = off; SET jit = off; SET bytea_output = 'hex'; SET default_transaction_isolation = 'read committed';
  SET synchronous_commit = on; SET extra_float_digits = 1; SET standard_conforming_strings = on;
`

/** How the server plans prepared statements: Citus cannot plan one over several shards without the values of its parameters. */
export type PlanCacheMode = 'auto' | 'force_generic_plan'
const upkeepersMax = 2

/** The system checks an idle connection from then on: ten times, once a second, before it gives up. */
const keepAliveMs = 5_000
/** Time limit for the server to acknowledge the closing of connections. */
const closingMs = 2_000
/** After this time, a server that ran out of connections is expected to have them again. */
const scarceMs = 10_000

/** A standby, or a primary being promoted, may lack acknowledged commits: it is not even read from. */
async function checkWrites(client: pg.ClientBase, timeoutMs?: number): Promise<void> {
  const text = `SELECT (current_setting('transaction_read_only') = 'on')::int AS only_reads`
  const { rows } = await client.query({ text, ...withTimeout(timeoutMs) })
  if ((rows[0] as { only_reads: number }).only_reads === 1) {
    throw new Error('the server is read-only: it is a standby, or default_transaction_read_only is on')
  }
}

/** pg supports it, but does not declare it for a single query. */
function withTimeout(timeoutMs: number | undefined): { query_timeout?: number } {
  return timeoutMs === undefined ? {} : { query_timeout: timeoutMs }
}

/** A connection for commits, and the row that records the outcome of its last commit. */
export interface CommitConnection {
  readonly client: pg.PoolClient
  readonly slot: string
  number: number
  /** Number of warnings received: Citus warns if a node failed in the last phase of a commit. */
  readonly warnings: number
}

export class Connections {
  readonly address: PostgresAddress
  readonly writersMax: number
  private readonly readers: pg.Pool
  /** For commits, and for snapshots opened while another is held: these never wait for readers. */
  private readonly writers: pg.Pool
  /** For requests that other requests wait for: never blocked by them. */
  private readonly upkeepers: pg.Pool
  private readonly slots = new WeakMap<pg.ClientBase, CommitConnection>()
  private readonly planCacheMode: PlanCacheMode
  private readonly watch: AnswerWatch
  private readonly servers: Servers
  private sharing: Promise<void> | undefined
  /** The target size of each pool, and since when the server has refused to exceed the current one. */
  private readonly targets = new Map<pg.Pool, { readonly max: number; scarceSince: number }>()

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
   * `isNested`: requested by work that already holds a reader; if it waited for readers, all could wait for each
   * other. `end`: time of the last attempt, by `performance.now()`; by default `patienceMs` from now.
   */
  reader(isNested: boolean, end?: number): Promise<pg.PoolClient> {
    const attempts = end === undefined ? undefined : Attempts.until(end)
    const pool = isNested ? this.writers : this.readers
    return this.retryingConnect(pool, (client) => client, attempts)
  }

  /** A further reader for work that already has one, unless it may be needed: half of all are reserved for work without one. */
  spareReader(): Promise<pg.PoolClient> | undefined {
    const { totalCount, idleCount, waitingCount } = this.readers
    if (waitingCount > 0 || totalCount - idleCount >= this.address.connections / 2) return undefined
    return this.readers.connect()
  }

  writer(): Promise<CommitConnection> {
    return this.retryingConnect(this.writers, (client) => {
      const existing = this.slots.get(client)
      if (existing !== undefined) return existing
      const slot = randomBytes(8).readBigInt64BE().toString()
      const connection = { client, slot, number: 0, warnings: 0 }
      client.on('notice', ({ severity }) => {
        if (severity === 'WARNING') connection.warnings++
      })
      this.slots.set(client, connection)
      return connection
    })
  }

  /** Runs maintenance statements of the store, which may safely run twice. */
  upkeep(text: string, values: readonly unknown[] = []): Promise<pg.QueryResult> {
    return this.retryingConnect(this.upkeepers, async (client) => {
      const result = await this.run(client, text, values)
      client.release()
      return result
    })
  }

  async isTrue(condition: string, value: string): Promise<boolean> {
    const { rows } = await this.upkeep(`SELECT (${condition})::int AS is_true`, [value])
    return (rows[0] as { is_true: number } | undefined)?.is_true === 1
  }

  /** Like `upkeep`, within one transaction. */
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

  /** Throws StoreUnavailable unless a connection for commits is available, and its server accepts changes. */
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

  /** `work`: the purpose of the connections, for the database's own statistics. */
  private pool(max: number, work: string): pg.Pool {
    const { applicationName, statementMs, patienceMs } = this.address
    const { servers } = this
    const { connectMs } = servers
    const pool = new pg.Pool({
      Client: servers.clientClass(),
      application_name: applicationName ?? `ashlar ${work}`,
      max,
      // Statements are sent without waiting for the answers to earlier ones.
      pipeline: true,
      types: valueTypes,
      keepAlive: true,
      keepAliveInitialDelayMillis: keepAliveMs,
      idleTimeoutMillis: 60_000,
      // Even without patience, connecting takes time.
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
    // A connection that breaks while idle is replaced at the next request.
    pool.on('error', () => undefined)
    // Closed immediately: the server may never acknowledge.
    pool.on('release', (error, client) => {
      if (error) (client as unknown as { connection: { stream: Socket } }).connection.stream.destroy()
    })
    this.targets.set(pool, { max, scarceSince: 0 })
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

  /** Waits for a free connection and for a database that is just recovering, with a limit. */
  private async retryingConnect<T>(
    pool: pg.Pool,
    work: (client: pg.PoolClient) => Awaitable<T>,
    attempts = Attempts.fromNow(this.address.patienceMs),
  ): Promise<T> {
    let candidates = 0
    let failed: unknown
    for (;;) {
      try {
        this.restoreLimit(pool)
        return await work(await pool.connect())
      } catch (error) {
        if (isOutOfConnections(error)) await this.shareConnections(pool)
        // The next candidate, such as the same server without encryption, does not count as another attempt.
        if (error instanceof CandidateRefused && ++candidates < this.servers.count) continue
        // Among several candidates, report the error of the usable one, not of an unusable one.
        if (!(error instanceof CandidateRefused)) failed = error
        if (await attempts.another(failureOf(error))) continue
        throw error instanceof Refusal ? error : toStoreError(this.address.location, failed ?? error)
      }
    }
  }

  /** Later requests wait for existing connections. An empty pool receives one of another's. */
  private async shareConnections(pool: pg.Pool): Promise<void> {
    if (pool.totalCount > 0) return this.limit(pool)
    this.sharing ??= this.closeOne().finally(() => {
      this.sharing = undefined
    })
    return this.sharing
  }

  private async closeOne(): Promise<void> {
    const [largest] = [...this.targets.keys()].sort((one, other) => other.totalCount - one.totalCount)
    if (largest === undefined || largest.totalCount < 2) return
    // Other requests must not replace it.
    this.limit(largest)
    largest.options.max--
    try {
      const client = await largest.connect()
      client.release(true)
    } catch {
      // All its connections are in use: requests retry until their patience ends.
    }
  }

  private limit(pool: pg.Pool): void {
    const target = this.targets.get(pool)
    if (target === undefined) return
    target.scarceSince = performance.now()
    pool.options.max = pool.totalCount
  }

  private restoreLimit(pool: pg.Pool): void {
    const target = this.targets.get(pool)
    if (target === undefined || target.max === pool.options.max) return
    if (performance.now() >= target.scarceSince + scarceMs) pool.options.max = target.max
  }
}
