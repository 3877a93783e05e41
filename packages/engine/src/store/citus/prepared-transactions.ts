/**
 * Transactions that Citus has prepared on its nodes and not committed there yet. Citus commits changes on several nodes in two phases. If a node, the
 * coordinator or a connection fails between them, the commit is decided, but part of it is not visible until it is recovered: by Citus itself once a
 * minute, here as soon as it is noticed.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { QueryResult } from 'pg'
import { describeSqlFailure } from '../postgres/failures.ts'

/** Interval of recovery for transactions of other processes, such as one killed together with a node. */
const recoveryIntervalMs = 5_000
const retryMs = 50

export type Upkeep = (text: string, values?: readonly unknown[]) => Promise<QueryResult>

export interface RecoveryOptions {
  readonly upkeep: Upkeep
  /** How long a commit waits until all of its parts are visible before it is acknowledged nevertheless. */
  readonly patienceMs: number
  readonly warn: (message: string) => void
}

export class PreparedTransactions {
  private readonly options: RecoveryOptions
  private recovery: Promise<void> | undefined
  /** Backends whose last commit is made, but not yet visible everywhere. */
  private readonly unsettled = new Set<number>()
  private readonly timer: NodeJS.Timeout
  private isClosed = false

  constructor(options: RecoveryOptions) {
    this.options = options
    this.timer = setInterval(() => {
      // If the database is unreachable, requests report it.
      this.recover().catch(() => undefined)
    }, recoveryIntervalMs)
    this.timer.unref()
  }

  /** Recovers before a read if a commit is known to be only partly visible. A node that is down fails its own reads only. */
  async recoverUnsettled(): Promise<void> {
    if (this.unsettled.size > 0) await this.recover().catch(() => undefined)
  }

  /** Completes transactions without a live backend, on all reachable nodes. Concurrent callers share the work. */
  recover(): Promise<void> {
    this.recovery ??= this.recoverOnce().finally(() => {
      this.recovery = undefined
    })
    return this.recovery
  }

  /** Like `recover`, but throws an `Error` unless every node is reachable, so that no decision remains hidden. */
  async recoverEverywhere(): Promise<void> {
    await this.recoverOnce()
    const { rows } = await this.options.upkeep(
      `SELECT count(*) AS away FROM run_command_on_all_nodes('SELECT 1') WHERE NOT success`,
    )
    if ((rows[0] as { away: number }).away > 0) throw new Error('a node of the database cannot be reached')
  }

  /** Recovers until `work` is done, which may wait for locks of a prepared transaction. */
  async recoveringUntil<T>(work: Promise<T>): Promise<T> {
    let isDone = false
    const done = work.finally(() => {
      isDone = true
    })
    done.catch(() => undefined)
    while (!isDone) {
      // If this fails, so does the work, which reports the reason.
      await this.recover().catch(() => undefined)
      await Promise.race([delay(retryMs), done.catch(() => undefined)])
    }
    return done
  }

  /**
   * Resolves when all changes of the last commit of a backend are visible on every node; after `patienceMs` it warns, resolves, and continues in the
   * background. `backend`: its process ID on the coordinator, which is part of the names of prepared transactions.
   */
  async settled(backend: number): Promise<void> {
    this.unsettled.add(backend)
    const end = performance.now() + this.options.patienceMs
    let reason = 'a node of the database cannot be reached'
    while (performance.now() < end) {
      try {
        await this.recover()
        if (await this.isSettled(backend)) return void this.unsettled.delete(backend)
      } catch (error) {
        reason = describeSqlFailure(error)
      }
      await delay(retryMs)
    }
    this.options.warn(
      `A commit is durable, but not yet visible on every node: reads may show a part of it until the node is back (${reason}).`,
    )
    void this.settleInBackground(backend)
  }

  close(): void {
    this.isClosed = true
    clearInterval(this.timer)
  }

  private async settleInBackground(backend: number): Promise<void> {
    while (!this.isClosed) {
      await delay(retryMs, undefined, { ref: false })
      try {
        await this.recover()
        if (!(await this.isSettled(backend))) continue
        this.unsettled.delete(backend)
        return this.options.warn('The commit that was only partly visible is visible on every node now.')
      } catch {
        // Retries until the node is back.
      }
    }
  }

  private async isSettled(backend: number): Promise<boolean> {
    const { rows } = await this.options.upkeep(
      `SELECT count(*) AS open FROM run_command_on_all_nodes($1) WHERE NOT success OR result <> '0'`,
      [
        `SELECT count(*) FROM pg_prepared_xacts WHERE database = current_database() AND gid ~ '^citus_[0-9]+_${backend}_'`,
      ],
    )
    return (rows[0] as { open: number }).open === 0
  }

  private async recoverOnce(): Promise<void> {
    const { rows } = await this.options.upkeep('SELECT recover_prepared_transactions() AS recovered')
    const { recovered } = rows[0] as { recovered: number }
    if (recovered === 0) return
    this.options.warn(`Citus had left ${recovered} prepared transactions after a failure; they have been recovered.`)
  }
}
