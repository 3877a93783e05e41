/**
 * A read-only transaction on a distributed table, where only the data of one placement shows one point in time: each placement is read over one
 * connection for the whole transaction, and different placements may be read concurrently over several.
 */
import type { PreparedStatement, RowsInBytes } from '../postgres/binary-rows.ts'
import type { Connections } from '../postgres/connections.ts'
import { LockingReadTimeout } from '../postgres/failures.ts'
import { type Page, readPage } from '../postgres/read-pages.ts'
import { type Gathering, SharedTransaction, TransactionPool } from '../postgres/shared-transaction.ts'
import type { PageRows, SnapshotReads } from '../postgres/snapshot-reads.ts'
import type { Bytes } from '../store.ts'
import { eachPlacement } from './placed-reads.ts'
import { readKeysOfPlacement, readNextPlacement, valuesOfPlacement } from './placed-statements.ts'
import type { PreparedTransactions } from './prepared-transactions.ts'
import { type CitusTables, rootPlacement, tableOf } from './tables.ts'

/** Connections of one transaction, including the first. */
const branchesMax = 4
/** Statements that must wait on every existing connection before another is requested. */
const waitingMin = 2
/** The server's time limit for transactions that block commits exceeds that of this process by this much. */
const serverGraceMs = 1_000

export interface PlacedKind {
  readonly tables: CitusTables
  /** Time limit if the transaction blocks commits; Infinity for none. */
  readonly lockingMs: number | undefined
  /** Prepared transactions are completed before they could be seen. */
  readonly prepared: PreparedTransactions | undefined
}

export class PlacedTransaction implements SnapshotReads {
  private readonly connections: Connections
  private readonly kind: PlacedKind
  private readonly main: SharedTransaction
  private readonly further: SharedTransaction[] = []
  private readonly byPlacement = new Map<number, SharedTransaction>()
  /** Whether the main connection has read unknown placements; from then on it reads all placements not assigned to other connections. */
  private isMainBroad = false
  private timer: NodeJS.Timeout | undefined

  constructor(connections: Connections, kind: PlacedKind, isNested: boolean, gathering?: Gathering) {
    this.connections = connections
    this.kind = kind
    this.main = new SharedTransaction({
      ...(gathering && { gathering }),
      connect: async () => {
        await kind.prepared?.recoverUnsettled()
        return connections.reader(isNested)
      },
      started: (send) => this.blockCommits(send),
      // Commits stay blocked until the further connections have ended.
      beforeEnd: () => this.endFurther(),
    })
  }

  join(): boolean {
    return this.main.join()
  }

  leave(isBroken = false): void {
    this.main.leave(isBroken)
  }

  read(keys: readonly Bytes[]): Promise<(Bytes | undefined)[]> {
    const { tables } = this.kind
    return this.main.during(
      eachPlacement(tables, keys, async (placement, placed) => {
        const statement = readKeysOfPlacement(tables, placement, placed)
        return valuesOfPlacement(placed, await this.receive(statement, placement))
      }),
    )
  }

  readPage(page: Page): Promise<PageRows> {
    const { firstPlacement, lastPlacement } = page.segment
    const placement = firstPlacement === lastPlacement ? firstPlacement : undefined
    const statement = readPage(tableOf(this.kind.tables, firstPlacement), page)
    return this.main.during(this.receive(statement, placement).then((rows) => ({ rows, first: 0 })))
  }

  async nextPlacement(first: number, last: number, isReverse: boolean): Promise<number | undefined> {
    const { schema, hasRoot } = this.kind.tables
    const statement = readNextPlacement(schema, first, last, isReverse)
    const rows = await this.main.during(this.receive(statement, undefined))
    const candidates = rows.count === 0 ? [] : [rows.int4(0, 0)]
    for (const [placement, branch] of this.byPlacement) {
      if (branch !== this.main && placement >= first && placement <= last) candidates.push(placement)
    }
    // The statement does not cover the root table.
    if (hasRoot && first === rootPlacement) candidates.push(first)
    if (candidates.length === 0) return undefined
    return isReverse ? Math.max(...candidates) : Math.min(...candidates)
  }

  /** `placement`: the only one that is read; undefined if there may be several, none of which is read over another connection. */
  private receive(statement: PreparedStatement, placement: number | undefined): Promise<RowsInBytes> {
    if (placement === undefined) {
      this.isMainBroad = true
      return this.main.read(statement)
    }
    let branch = this.byPlacement.get(placement)
    if (branch === undefined) {
      branch = this.isMainBroad ? this.main : this.leastBusy()
      this.byPlacement.set(placement, branch)
    }
    return branch.read(statement)
  }

  private leastBusy(): SharedTransaction {
    let best = this.main
    for (const branch of this.further) if (branch.pending < best.pending) best = branch
    if (best.pending < waitingMin || this.further.length + 1 >= branchesMax) return best
    const spare = this.connections.spareReader()
    if (spare === undefined) return best
    const branch = new SharedTransaction({
      connect: async () => {
        const client = await spare
        // Commits must be blocked before it reads.
        await this.main.start().catch((error) => {
          client.release(true)
          throw error
        })
        return client
      },
    })
    branch.join()
    this.further.push(branch)
    return branch
  }

  private endFurther(): Promise<unknown> {
    clearTimeout(this.timer)
    this.byPlacement.clear()
    return Promise.all(this.further.splice(0).map((branch) => branch.end()))
  }

  /** The first read fixes the point in time: then no commit is in progress or hidden, and none begins before the end. */
  private async blockCommits(send: (text: string) => Promise<unknown>): Promise<void> {
    const { lockingMs, prepared, tables } = this.kind
    if (lockingMs === undefined) return
    await send(`LOCK TABLE ${tables.schema}.catalog_lock IN SHARE MODE`)
    await prepared?.recoverEverywhere()
    if (lockingMs === Number.POSITIVE_INFINITY) return
    // A client that does not read its reply must not block all commits. The server ends the transaction too, in case this process hangs.
    send(`SET LOCAL idle_in_transaction_session_timeout = ${lockingMs + serverGraceMs}`).catch(() => undefined)
    this.timer = setTimeout(() => {
      for (const transaction of [...this.further, this.main]) transaction.abort(new LockingReadTimeout(lockingMs))
    }, lockingMs)
  }
}

export function placedTransactions(connections: Connections, kind: PlacedKind): TransactionPool<PlacedTransaction> {
  return new TransactionPool((isNested, gathering) => new PlacedTransaction(connections, kind, isNested, gathering))
}
