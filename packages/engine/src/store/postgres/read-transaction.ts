/**
 * A read-only transaction for the snapshots opened in the same event loop turn: they see one point in time, and their concurrent reads are combined
 * into few statements over one connection. It ends with the last of them. If the table is distributed, each placement has its own point in time, and
 * the transaction may have branches over further connections: each placement is read over one.
 */
import type { PoolClient } from 'pg'
import type { Bytes, NamingEntries } from '../store.ts'
import { type PreparedStatement, RowsInBytes, rowsInBytes } from './binary-rows.ts'
import type { Connections } from './connections.ts'
import { FollowedFailure, LockingReadTimeout } from './failures.ts'
import type { PreparedTransactions } from './prepared-transactions.ts'
import { ReadBatch } from './read-batch.ts'
import { ReadBranches } from './read-branches.ts'
import { byPlacement, readKeys, readKeysOfPlacement, valuesFrom, valuesOfPlacement } from './read-keys.ts'
import { answerSequentially, type NamingPage, namingEntriesFrom, readNaming, takeTogether } from './read-naming.ts'
import { isPlain, type Page, type PlainPage, readNextPlacement, readPage, readPages } from './read-pages.ts'
import { rootPlacement, type Tables } from './tables.ts'

/** Limits how many snapshots share a connection, on which each statement waits for the preceding ones. */
const readersMax = 16

const pagesMax = 32

const begin = 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY'

/** The server's time limit for transactions that block commits exceeds that of this process by this much. */
const serverGraceMs = 1_000

type Row = readonly Buffer[]

/** Rows of key and value, or of keys only. `first`: index of the key column. */
export interface PageRows {
  readonly rows: RowsInBytes
  readonly first: number
}

interface PageRequest {
  readonly page: PlainPage
  resolve(rows: PageRows): void
  reject(error: unknown): void
}

interface NamingRequest {
  readonly page: NamingPage
  resolve(entries: NamingEntries): void
  reject(error: unknown): void
}

export interface TransactionKind {
  /** Whether statements should concern one node each, if possible. */
  readonly isDistributed: boolean
  readonly tables: Tables
  /** Time limit if the transaction blocks commits; Infinity for none. */
  readonly lockingMs: number | undefined
  /** If commits have two phases: prepared transactions are completed before they could be seen. */
  readonly prepared: PreparedTransactions | undefined
}

/** Limits concurrent short transactions, so that snapshots opened meanwhile gather in the next one. */
class Gathering {
  private inFlight = 0
  private readonly waiting: (() => void)[] = []

  /** Returns a function to call when the transaction has ended; after `stalledMs` it no longer delays other transactions. */
  async enter(): Promise<() => void> {
    await new Promise(setImmediate)
    if (this.inFlight < concurrentMax) this.inFlight++
    else await new Promise<void>((resolve) => this.waiting.push(resolve))
    let isLeft = false
    const leave = (): void => {
      clearTimeout(timer)
      if (isLeft) return
      isLeft = true
      const next = this.waiting.shift()
      if (next === undefined) this.inFlight--
      else next()
    }
    const timer = setTimeout(leave, stalledMs)
    return leave
  }
}

const concurrentMax = 2
const stalledMs = 5

export class ReadTransaction {
  private readonly connections: Connections
  private readonly kind: TransactionKind
  private readonly isNested: boolean
  private readonly gatheringOf: Gathering
  private leaveGathering: () => void = () => undefined
  private readonly readBatch = new ReadBatch()
  private pageRequests: PageRequest[] = []
  private readonly namingRequests: { readonly forward: NamingRequest[]; readonly reverse: NamingRequest[] } = {
    forward: [],
    reverse: [],
  }
  private client: Promise<PoolClient> | undefined
  private readonly branches = new ReadBranches(
    () => this.start(),
    () => this.beginFurther(),
  )
  /** Resolves when commits are blocked, if they must be. */
  private locked: Promise<unknown> | undefined
  private gathering: NodeJS.Immediate | undefined
  private readers = 0
  private inFlight = 0
  private hasStarted = false
  private isBroken = false
  private timer: NodeJS.Timeout | undefined
  /** The error of the first failed statement, which ends the transaction. */
  private failed: { readonly error: unknown } | undefined

  constructor(connections: Connections, kind: TransactionKind, isNested: boolean, gatheringOf = new Gathering()) {
    this.connections = connections
    this.kind = kind
    this.isNested = isNested
    this.gatheringOf = gatheringOf
  }

  /** False once its point in time is fixed, or may be. */
  join(): boolean {
    if (this.hasStarted || this.isBroken || this.readers >= readersMax) return false
    this.readers++
    return true
  }

  /** The bytes belong to the caller. */
  read(keys: readonly Bytes[]): Promise<(Bytes | undefined)[]> {
    this.gather()
    return this.counted(this.readBatch.add(keys))
  }

  /** Rows of key and value, or of keys only, depending on the page. */
  readPage(page: Page): Promise<PageRows> {
    if (this.kind.isDistributed || !isPlain(page)) {
      const { firstPlacement, lastPlacement } = page.segment
      const placement = firstPlacement === lastPlacement ? firstPlacement : undefined
      return this.counted(this.pageOf(page, placement))
    }
    this.gather()
    return this.counted(
      new Promise((resolve, reject) => this.pageRequests.push({ page: page as PlainPage, resolve, reject })),
    )
  }

  /** Entries of a page and the objects they name; not on a distributed table, where these have other placements. */
  readNaming(page: NamingPage): Promise<NamingEntries> {
    this.gather()
    const requests = page.isReverse ? this.namingRequests.reverse : this.namingRequests.forward
    return this.counted(new Promise((resolve, reject) => requests.push({ page, resolve, reject })))
  }

  /** The first placement between two that may have rows; in reverse, the last. Later reads show no placements before it. */
  nextPlacement(first: number, last: number, isReverse: boolean): Promise<number | undefined> {
    const { schema } = this.connections.address
    return this.counted(
      this.send(readNextPlacement(schema, first, last, isReverse), undefined).then((rows) => {
        const stored = (rows as unknown as readonly (readonly [number])[])[0]?.[0]
        const candidates = [
          stored,
          this.branches.readElsewhere(first, last, isReverse),
          // The statement does not cover the root table.
          this.kind.tables.hasRoot && first === rootPlacement ? first : undefined,
        ]
        const found = candidates.filter((placement) => placement !== undefined)
        return found.length === 0 ? undefined : isReverse ? Math.max(...found) : Math.min(...found)
      }),
    )
  }

  /** `isBroken`: the connection cannot be reused. */
  leave(isBroken = false): void {
    this.readers--
    this.isBroken ||= isBroken
    this.endWhenUnused()
  }

  private async counted<T>(reading: Promise<T>): Promise<T> {
    this.inFlight++
    try {
      return await reading
    } finally {
      this.inFlight--
      this.endWhenUnused()
    }
  }

  /** Requests of one event loop turn share statements. */
  private gather(): void {
    this.gathering ??= setImmediate(() => {
      this.gathering = undefined
      while (!this.readBatch.isEmpty) this.sendKeys()
      while (this.pageRequests.length > 0) this.sendPages()
      const { forward, reverse } = this.namingRequests
      while (forward.length > 0) void this.sendNaming(takeTogether(forward), false)
      while (reverse.length > 0) void this.sendNaming(takeTogether(reverse), true)
    })
  }

  private sendKeys(): void {
    const { keys, resolve, reject } = this.readBatch.take()
    this.valuesOf(keys).then(resolve, reject)
  }

  private async valuesOf(keys: readonly Bytes[]): Promise<(Bytes | undefined)[]> {
    const { isDistributed, tables } = this.kind
    if (!isDistributed) return valuesFrom(keys.length, await this.send(readKeys(tables, keys), undefined))
    const values: (Bytes | undefined)[] = new Array(keys.length).fill(undefined)
    // One statement per placement, so that one node answers it.
    const reading = byPlacement(tables.keys, keys).map(async ({ placement, keys: placed, positions }) => {
      const found = valuesOfPlacement(
        placed,
        await this.send(readKeysOfPlacement(tables, placement, placed), placement),
      )
      for (const [i, position] of positions.entries()) values[position] = found[i]
    })
    await Promise.all(reading)
    return values
  }

  private sendPages(): void {
    const requests = this.pageRequests.splice(0, pagesMax)
    const { schema } = this.connections.address
    const [only] = requests
    if (only !== undefined && requests.length === 1) {
      this.pageOf(only.page, undefined).then(only.resolve, only.reject)
      return
    }
    const pages = readPages(
      schema,
      requests.map(({ page }) => page),
    )
    this.receive(pages, undefined).then(
      (rows) => {
        const byPage = requests.map(() => new RowsInBytes())
        for (let row = 0; row < rows.count; row++) byPage[rows.int8(row, 0) - 1]?.addFrom(rows, row)
        for (const [i, { resolve }] of requests.entries()) resolve({ rows: byPage[i] as RowsInBytes, first: 1 })
      },
      (error) => {
        for (const { reject } of requests) reject(error)
      },
    )
  }

  private async pageOf(page: Page, placement: number | undefined): Promise<PageRows> {
    return { rows: await this.receive(readPage(this.kind.tables, page), placement), first: 0 }
  }

  private async sendNaming(requests: readonly NamingRequest[], isReverse: boolean): Promise<void> {
    const { tables } = this.kind
    const pages = requests.map(({ page }) => page)
    let answers: (() => void)[]
    try {
      const rows = await this.receive(readNaming(tables, pages, isReverse), undefined)
      const { entries } = namingEntriesFrom(tables, pages.length, isReverse, rows)
      answers = requests.map((one, i) => () => one.resolve(entries[i] as NamingEntries))
    } catch (error) {
      answers = requests.map((one) => () => one.reject(error))
    }
    await answerSequentially(answers)
  }

  /** `placement`: the only one that is read, if known. */
  private async send(query: PreparedStatement, placement: number | undefined): Promise<readonly Row[]> {
    const { rows } = await this.run(placement, (client) => client.query<unknown[]>(query))
    return rows as unknown as Row[]
  }

  private receive(query: PreparedStatement, placement: number | undefined): Promise<RowsInBytes> {
    return this.run(placement, (client) => rowsInBytes(client, query))
  }

  private run<T>(placement: number | undefined, query: (client: PoolClient) => Promise<T>): Promise<T> {
    return this.branches.run(placement, async (client) => {
      if (this.failed !== undefined) throw new FollowedFailure(this.failed.error)
      return this.within(query(client))
    })
  }

  /** Later statements fail because of the first failure, and report that one. */
  private async within<T>(statement: Promise<T>): Promise<T> {
    let answer: T
    try {
      answer = await statement
    } catch (error) {
      if (this.failed !== undefined) throw new FollowedFailure(this.failed.error)
      this.failed = { error }
      this.isBroken = true
      throw error
    }
    if (this.failed !== undefined) throw new FollowedFailure(this.failed.error)
    return answer
  }

  /** Snapshots of the same turn, and those opened while waiting for a connection, are included. */
  private start(): Promise<PoolClient> {
    // A transaction that exceeded its time limit must not begin again: nothing would end it then.
    if (this.failed !== undefined && this.client === undefined) {
      return Promise.reject(new FollowedFailure(this.failed.error))
    }
    this.client ??= this.begin()
    return this.client
  }

  private async begin(): Promise<PoolClient> {
    const { lockingMs, prepared } = this.kind
    this.leaveGathering = await this.gatheringOf.enter()
    const client = await this.firstConnection()
    // If one of these fails, so do the following reads.
    this.within(client.query(begin)).catch(() => undefined)
    // The first read fixes the point in time: then no commit is in progress, and none begins before the end.
    if (lockingMs !== undefined) {
      const lock = `LOCK TABLE ${this.connections.address.schema}.catalog_lock IN SHARE MODE`
      this.locked = this.within(client.query(lock))
      if (prepared === undefined) this.locked.catch(() => undefined)
      else await this.recovered(client, this.locked, prepared)
      if (lockingMs !== Number.POSITIVE_INFINITY) this.endAfter(lockingMs, client, this.locked)
    }
    return client
  }

  private async firstConnection(): Promise<PoolClient> {
    const { prepared } = this.kind
    // A node that is down fails its own reads only.
    if (prepared?.isUnsettled === true) await prepared.recover().catch(() => undefined)
    try {
      return await this.connections.reader(this.isNested)
    } catch (error) {
      this.leaveGathering()
      throw error
    } finally {
      // Also without a connection, so that later snapshots try again.
      this.hasStarted = true
    }
  }

  /** Only if placements have separate points in time; if commits are blocked, these are equal. */
  private beginFurther(): Promise<PoolClient> | undefined {
    if (!this.kind.isDistributed) return undefined
    const spare = this.connections.spareReader()
    return spare?.then(async (client) => {
      await this.start()
      await this.locked?.catch(() => undefined)
      this.within(client.query(begin)).catch(() => undefined)
      return client
    })
  }

  /** A client that does not read its reply must not block all commits. The server ends the transaction too, in case this process hangs. */
  private endAfter(lockingMs: number, client: PoolClient, locked: Promise<unknown>): void {
    this.within(client.query(`SET LOCAL idle_in_transaction_session_timeout = ${lockingMs + serverGraceMs}`)).catch(
      () => undefined,
    )
    const startTimer = () => {
      // It may have failed and ended before it acquired the lock.
      if (this.client === undefined) return
      this.timer = setTimeout(() => {
        this.failed ??= { error: new LockingReadTimeout(lockingMs) }
        this.leaveGathering()
        this.isBroken = true
        this.client = undefined
        client.release(true)
        for (const one of this.branches.takeFurther()) one.then((used) => used.release(true)).catch(() => undefined)
      }, lockingMs)
    }
    locked.then(startTimer, () => undefined)
  }

  /** Waits for the lock, then completes all prepared transactions, so that no commit is in progress or hidden. */
  private async recovered(client: PoolClient, locked: Promise<unknown>, prepared: PreparedTransactions): Promise<void> {
    try {
      await locked
      await prepared.recoverEverywhere()
    } catch (error) {
      client.release(true)
      throw error
    }
  }

  /** Ends the transaction after the last snapshot has left and all its reads are answered. */
  private endWhenUnused(): void {
    if (this.readers > 0 || this.inFlight > 0 || this.client === undefined) return
    const { client, isBroken } = this
    this.client = undefined
    const leaveGathering = (): void => this.leaveGathering()
    client.then(leaveGathering, leaveGathering)
    clearTimeout(this.timer)
    const end = (used: PoolClient): Promise<void> | void => (isBroken ? used.release(true) : endTransaction(used))
    // Commits stay blocked until the further connections have ended.
    const further = this.branches.takeFurther().map((one) => one.then(end).catch(() => undefined))
    void Promise.all(further).then(() => client.then(end).catch(() => undefined))
  }
}

async function endTransaction(client: PoolClient): Promise<void> {
  try {
    await client.query('COMMIT')
    client.release()
  } catch {
    client.release(true)
  }
}

export class ReadTransactions {
  private readonly connections: Connections
  private readonly kind: TransactionKind
  /** Transactions whose users wait for nested ones must not delay these. */
  private readonly gatherings = { plain: new Gathering(), nested: new Gathering() }
  private readonly next: { plain: ReadTransaction | undefined; nested: ReadTransaction | undefined } = {
    plain: undefined,
    nested: undefined,
  }

  constructor(connections: Connections, kind: TransactionKind) {
    this.connections = connections
    this.kind = kind
  }

  /** The caller must leave it. `isAlone`: a separate transaction, which reads and failures of other snapshots cannot end. */
  join(isNested: boolean, isAlone: boolean): ReadTransaction {
    if (isAlone) return this.newTransaction(isNested)
    const kind = isNested ? 'nested' : 'plain'
    const next = this.next[kind]
    if (next?.join() === true) return next
    const newTransaction = this.newTransaction(isNested)
    this.next[kind] = newTransaction
    return newTransaction
  }

  private newTransaction(isNested: boolean): ReadTransaction {
    const gathering = this.gatherings[isNested ? 'nested' : 'plain']
    const newTransaction = new ReadTransaction(this.connections, this.kind, isNested, gathering)
    newTransaction.join()
    return newTransaction
  }
}
