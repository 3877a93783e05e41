/**
 * Combines keys that are requested at the same time into one statement, which shows one point in time without a
 * transaction: of all data of a node or, if there are several nodes, of the placement that it reads.
 */
import type { PoolClient } from 'pg'
import type { Bytes } from '../store.ts'
import { Attempts } from './attempts.ts'
import type { PreparedStatement } from './binary-rows.ts'
import type { Connections } from './connections.ts'
import { allInUse, failureOf, toStoreError } from './failures.ts'
import type { PreparedTransactions } from './prepared-transactions.ts'
import { type KeysOfBatch, ReadBatch } from './read-batch.ts'
import { byPlacement, readKeys, readKeysOfPlacement, valuesFrom, valuesOfPlacement } from './read-keys.ts'
import { StatementSlots } from './statement-slots.ts'
import type { Tables } from './tables.ts'

/** While one statement runs, the next is in transit; later requests form the one after. */
const concurrentStatements = 2
/** Requests that expire within this time after a failed attempt are failed with it instead of retried. */
const endsTogetherMs = 250

export interface KeyReads {
  /**
   * Values in the order of the keys, as of a point in time not before the call: one for all keys or, if the table is distributed, one per placement;
   * `leftOut` instead of large values. The bytes may be shared and must not be written to. Throws StoreUnavailable.
   */
  read(keys: readonly Bytes[]): Promise<(Bytes | undefined)[]>
}

interface KeysStatement {
  query(tables: Tables, keys: readonly Bytes[]): PreparedStatement
  values(keys: readonly Bytes[], rows: readonly (readonly unknown[])[]): (Bytes | undefined)[]
}

const anyPlacement: KeysStatement = {
  query: (tables, keys) => readKeys(tables, keys, true),
  values: (keys, rows) => valuesFrom(keys.length, rows),
}

export class GroupReads implements KeyReads {
  private readonly connections: Connections
  private readonly tables: Tables
  private readonly statement: KeysStatement
  /** Shared, since otherwise each of many concurrent readers of a large object would get a copy. */
  private readonly batch = new ReadBatch(true)
  private readonly slots: StatementSlots
  private gathering: NodeJS.Immediate | undefined

  constructor(connections: Connections, tables: Tables, statement: KeysStatement = anyPlacement) {
    this.connections = connections
    this.tables = tables
    this.statement = statement
    this.slots = new StatementSlots(connections.address.connections / 2)
  }

  read(keys: readonly Bytes[]): Promise<(Bytes | undefined)[]> {
    // Requests of one event loop turn share a statement.
    this.gathering ??= setImmediate(() => {
      this.gathering = undefined
      this.sendSome()
    })
    return this.batch.add(keys, performance.now() + this.connections.address.patienceMs)
  }

  private sendSome(): void {
    while (!this.batch.isEmpty && this.slots.active < concurrentStatements) void this.sendOne()
    if (this.batch.isEmpty) return
    this.slots.whileWaiting(() => {
      this.batch.expire(allInUse(this.connections.address))
      this.sendSome()
    })
  }

  private async sendOne(): Promise<void> {
    const together = this.batch.take()
    try {
      together.resolve(await this.slots.run(() => this.readTogether(together)))
    } catch (error) {
      const now = performance.now()
      // Later requests are retried: their time limit is not over.
      if (now >= together.end) together.rejectUntil(now + endsTogetherMs, error)
      else together.reject(error)
    } finally {
      this.sendSome()
    }
  }

  private async readTogether({ keys, end }: KeysOfBatch): Promise<(Bytes | undefined)[]> {
    const { location, patienceMs } = this.connections.address
    const attempts = new Attempts(patienceMs)
    for (;;) {
      let client: PoolClient | undefined
      try {
        client = await this.connections.reader(false, end)
        const { rows } = await client.query<unknown[]>(this.statement.query(this.tables, keys))
        client.release()
        return this.statement.values(keys, rows)
      } catch (error) {
        client?.release(true)
        if (!(await attempts.another(failureOf(error)))) throw toStoreError(location, error)
      }
    }
  }
}

/** Sends a statement per placement: one node answers it, and a node that is down does not fail reads from other nodes. */
export class PlacedReads implements KeyReads {
  private readonly connections: Connections
  private readonly tables: Tables
  private readonly prepared: PreparedTransactions | undefined
  private readonly placements = new Map<number, GroupReads>()

  /** `prepared`: transactions known to be only partly visible are completed before reads. */
  constructor(connections: Connections, tables: Tables, prepared: PreparedTransactions | undefined) {
    this.connections = connections
    this.tables = tables
    this.prepared = prepared
  }

  async read(keys: readonly Bytes[]): Promise<(Bytes | undefined)[]> {
    // A node that is down fails its own reads only.
    if (this.prepared?.isUnsettled === true) await this.prepared.recover().catch(() => undefined)
    const values: (Bytes | undefined)[] = new Array(keys.length).fill(undefined)
    const reading = byPlacement(this.tables.keys, keys).map(async ({ placement, keys: placed, positions }) => {
      const found = await this.readsOf(placement).read(placed)
      for (const [i, position] of positions.entries()) values[position] = found[i]
    })
    await Promise.all(reading)
    return values
  }

  private readsOf(placement: number): GroupReads {
    let reads = this.placements.get(placement)
    if (reads === undefined) {
      const query = (tables: Tables, keys: readonly Bytes[]) => readKeysOfPlacement(tables, placement, keys, true)
      reads = new GroupReads(this.connections, this.tables, { query, values: valuesOfPlacement })
      this.placements.set(placement, reads)
    }
    return reads
  }
}
