/**
 * The number up to which all appended entries are visible. A commit takes its number while it holds a lock on
 * `catalog_lock`, which it acquires at its beginning and releases only after its changes are visible. Once
 * all transactions that held that lock after a number was assigned have released it, everything up to that number is
 * therefore visible. Transactions of other programs in the same database do not matter, however long they take.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { SettledNumbers } from '../store.ts'
import { lastAssignedNumber, numbersOf } from './commit-function.ts'
import type { Connections } from './connections.ts'
import { toStoreError } from './failures.ts'

/** Number of checks for commits in progress before the earlier result is returned. */
const attemptsMax = 8
const attemptDelayMs = 2
/** Maximum number of unsettled numbers tracked. */
const pendingMax = 64

interface Pending {
  readonly number: number
  /** Commits that may have one of the numbers up to this one. */
  readonly holders: ReadonlySet<string>
}

export class SettledNumbersReader {
  private readonly connections: Connections
  private pending: Pending[] = []
  private settled = 0

  constructor(connections: Connections) {
    this.connections = connections
  }

  /** Throws StoreUnavailable. */
  async read(): Promise<SettledNumbers> {
    try {
      const assigned = await this.lastAssigned()
      for (let attempt = 1; ; attempt++) {
        const holders = await this.holders()
        for (const { number, holders: others } of this.pending) {
          if (number > this.settled && isDisjoint(others, holders)) this.settled = number
        }
        if (attempt === 1 && assigned > this.settled) {
          if (holders.size === 0) this.settled = assigned
          else this.pending.push({ number: assigned, holders })
        }
        this.pending = this.pending.filter(({ number }) => number > this.settled).slice(-pendingMax)
        if (this.settled >= assigned || attempt === attemptsMax) return { settled: this.settled, assigned }
        await sleep(attemptDelayMs)
      }
    } catch (error) {
      throw toStoreError(this.connections.address.location, error)
    }
  }

  private get schema(): string {
    return this.connections.address.schema
  }

  /** Calls that begin later get greater numbers. */
  private async lastAssigned(): Promise<number> {
    const text = `SELECT ${lastAssignedNumber} AS number FROM ${numbersOf(this.schema)}`
    const { rows } = await this.connections.upkeep(text)
    return Number((rows[0] as { number: string }).number)
  }

  private async holders(): Promise<Set<string>> {
    const lock = `'${this.schema}.catalog_lock'::regclass`
    const database = '(SELECT oid FROM pg_database WHERE datname = current_database())'
    const text = `SELECT virtualtransaction AS holder FROM pg_locks
      WHERE locktype = 'relation' AND relation = ${lock} AND database = ${database} AND granted`
    const { rows } = await this.connections.upkeep(text)
    return new Set((rows as { holder: string }[]).map(({ holder }) => holder))
  }
}

function isDisjoint(ones: ReadonlySet<string>, others: ReadonlySet<string>): boolean {
  for (const one of ones) if (others.has(one)) return false
  return true
}
