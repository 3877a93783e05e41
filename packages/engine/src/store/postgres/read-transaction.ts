/**
 * A read-only transaction for the snapshots that begin in the same turn: they see one point in time, and their
 * concurrent reads are combined into few statements over one connection. It ends with the last of them. If the table is
 * distributed, each placement has its own point in time, and the transaction may have branches over further
 * connections: each placement is read over one.
 */
import type { PoolClient } from 'pg'
import type { Bytes, NamingEntries } from '../store.ts'
import { type PreparedStatement, RowsInBytes, rowsInBytes } from './binary-rows.ts'
import type { Connections } from './connections.ts'
import { FollowedFailure, HeldTooLong } from './failures.ts'
import type { PreparedTransactions } from './prepared-transactions.ts'
import { ReadBatch } from './read-batch.ts'
import { ReadBranches } from './read-branches.ts'
import { byPlacement, readKeys, readKeysOfPlacement, valuesFrom, valuesOfPlacement } from './read-keys.ts'
import { answerInTurn, type NamingPage, namingEntriesFrom, readNaming, takeTogether } from './read-naming.ts'
import { isPlain, type Page, type PlainPage, readNextPlacement, readPage, readPages } from './read-pages.ts'
import { rootPlacement, type Tables } from './tables.ts'

/** A statement waits for those before it on its connection, so that not too many should share one. */
const readersMax = 16

/** Pages that go in one statement. */
const pagesMax = 32

const begin = 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY'

/** The server ends what keeps commits out so much later than we do. */
const serverGraceMs = 1_000

type Row = readonly Buffer[]

/** Rows of key and value, or of the key alone; `first`: the column of the key. */
export interface PageRows {
  readonly rows: RowsInBytes
  readonly first: number
}

interface AskedPage {
  readonly page: PlainPage
  resolve(rows: PageRows): void
  reject(error: unknown): void
}

interface AskedNaming {
  readonly page: NamingPage
  resolve(entries: NamingEntries): void
  reject(error: unknown): void
}

export interface TransactionKind {
  /** Statements are for one node each where that can be. */
  readonly isDistributed: boolean
  readonly tables: Tables
  /** It keeps commits out, for so long at most; Infinity: for as long as it takes. */
  readonly lockingMs: number | undefined
  /** Where commits have two phases: what a failure left between them is brought to an end before it could be seen. */
  readonly prepared: PreparedTransactions | undefined
}

/** While some short transactions are under way, those who come meanwhile gather in the next one. */
class Gathering {
  private underWay = 0
  private readonly waiting: (() => void)[] = []

  /** What it gives is called when the transaction has ended; after `stalledMs` it holds nobody up any more. */
  async enter(): Promise<() => void> {
    await new Promise(setImmediate)
    if (this.underWay < gatheredAtOnce) this.underWay++
    else await new Promise<void>((resolve) => this.waiting.push(resolve))
    let isLeft = false
    const leave = (): void => {
      clearTimeout(timer)
      if (isLeft) return
      isLeft = true
      const next = this.waiting.shift()
      if (next === undefined) this.underWay--
      else next()
    }
    const timer = setTimeout(leave, stalledMs)
    return leave
  }
}

const gatheredAtOnce = 2
const stalledMs = 5

export class ReadTransaction {
  private readonly connections: Connections
  private readonly kind: TransactionKind
  private readonly isNested: boolean
  private readonly gatheringOf: Gathering
  private leaveGathering: () => void = () => undefined
  private readonly readBatch = new ReadBatch()
  private askedPages: AskedPage[] = []
  private readonly askedNaming: { readonly forward: AskedNaming[]; readonly reverse: AskedNaming[] } = {
    forward: [],
    reverse: [],
  }
  private client: Promise<PoolClient> | undefined
  private readonly branches = new ReadBranches(
    () => this.begun(),
    () => this.beginFurther(),
  )
  /** Resolves when commits are kept out, if they have to be. */
  private locked: Promise<unknown> | undefined
  private gathering: NodeJS.Immediate | undefined
  private readers = 0
  private underWay = 0
  private isBegun = false
  private isBroken = false
  private timer: NodeJS.Timeout | undefined
  /** What the first statement that failed has failed with: the transaction is over then. */
  private failed: { readonly error: unknown } | undefined

  constructor(connections: Connections, kind: TransactionKind, isNested: boolean, gatheringOf = new Gathering()) {
    this.connections = connections
    this.kind = kind
    this.isNested = isNested
    this.gatheringOf = gatheringOf
  }

  /** False once its point in time is fixed, or may be. */
  join(): boolean {
    if (this.isBegun || this.isBroken || this.readers >= readersMax) return false
    this.readers++
    return true
  }

  /** The bytes belong to the caller. */
  read(keys: readonly Bytes[]): Promise<(Bytes | undefined)[]> {
    this.gather()
    return this.counted(this.readBatch.ask(keys))
  }

  /** Rows of key and value; of the key alone where only that is asked for. */
  readPage(page: Page): Promise<PageRows> {
    if (this.kind.isDistributed || !isPlain(page)) {
      const { firstPlacement, lastPlacement } = page.segment
      const placement = firstPlacement === lastPlacement ? firstPlacement : undefined
      return this.counted(this.pageOf(page, placement))
    }
    this.gather()
    return this.counted(
      new Promise((resolve, reject) => this.askedPages.push({ page: page as PlainPage, resolve, reject })),
    )
  }

  /** Entries of a page, and what they name. Not where the table is distributed: these lie in other placements. */
  readNaming(page: NamingPage): Promise<NamingEntries> {
    this.gather()
    const asked = page.isReverse ? this.askedNaming.reverse : this.askedNaming.forward
    return this.counted(new Promise((resolve, reject) => asked.push({ page, resolve, reject })))
  }

  /** The first placement between two that may hold anything, or the last. Later reads show no more placements than that. */
  nextPlacement(first: number, last: number, isReverse: boolean): Promise<number | undefined> {
    const { schema } = this.connections.address
    return this.counted(
      this.send(readNextPlacement(schema, first, last, isReverse), undefined).then((rows) => {
        const held = (rows as unknown as readonly (readonly [number])[])[0]?.[0]
        const others = [held, this.branches.readElsewhere(first, last, isReverse), firstOf(this.kind.tables, first)]
        const found = others.filter((placement) => placement !== undefined)
        return found.length === 0 ? undefined : isReverse ? Math.max(...found) : Math.min(...found)
      }),
    )
  }

  /** `isBroken`: its connection cannot be used any more. */
  leave(isBroken = false): void {
    this.readers--
    this.isBroken ||= isBroken
    this.endWhenUnused()
  }

  private async counted<T>(reading: Promise<T>): Promise<T> {
    this.underWay++
    try {
      return await reading
    } finally {
      this.underWay--
      this.endWhenUnused()
    }
  }

  /** What is asked for in the same turn goes together. */
  private gather(): void {
    this.gathering ??= setImmediate(() => {
      this.gathering = undefined
      while (!this.readBatch.isEmpty) this.sendKeys()
      while (this.askedPages.length > 0) this.sendPages()
      const { forward, reverse } = this.askedNaming
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
    // By one placement each, so that one node answers.
    const reading = byPlacement(tables.keys, keys).map(async ({ placement, keys: own, positions }) => {
      const found = valuesOfPlacement(own, await this.send(readKeysOfPlacement(tables, placement, own), placement))
      for (const [i, position] of positions.entries()) values[position] = found[i]
    })
    await Promise.all(reading)
    return values
  }

  private sendPages(): void {
    const asked = this.askedPages.splice(0, pagesMax)
    const { schema } = this.connections.address
    const [only] = asked
    if (only !== undefined && asked.length === 1) {
      this.pageOf(only.page, undefined).then(only.resolve, only.reject)
      return
    }
    const pages = readPages(
      schema,
      asked.map(({ page }) => page),
    )
    this.receive(pages, undefined).then(
      (rows) => {
        const byPage = asked.map(() => new RowsInBytes())
        for (let row = 0; row < rows.count; row++) byPage[rows.int8(row, 0) - 1]?.addFrom(rows, row)
        for (const [i, { resolve }] of asked.entries()) resolve({ rows: byPage[i] as RowsInBytes, first: 1 })
      },
      (error) => {
        for (const { reject } of asked) reject(error)
      },
    )
  }

  private async pageOf(page: Page, placement: number | undefined): Promise<PageRows> {
    return { rows: await this.receive(readPage(this.kind.tables, page), placement), first: 0 }
  }

  private async sendNaming(asked: readonly AskedNaming[], isReverse: boolean): Promise<void> {
    const { tables } = this.kind
    const pages = asked.map(({ page }) => page)
    let answers: (() => void)[]
    try {
      const rows = await this.receive(readNaming(tables, pages, isReverse), undefined)
      const { entries } = namingEntriesFrom(tables, pages.length, isReverse, rows)
      answers = asked.map((one, i) => () => one.resolve(entries[i] as NamingEntries))
    } catch (error) {
      answers = asked.map((one) => () => one.reject(error))
    }
    await answerInTurn(answers)
  }

  /** `placement`: the only one that is read. */
  private async send(query: PreparedStatement, placement: number | undefined): Promise<readonly Row[]> {
    const { rows } = await this.run(placement, (client) => client.query<unknown[]>(query))
    return rows as unknown as Row[]
  }

  /** As `send`. */
  private receive(query: PreparedStatement, placement: number | undefined): Promise<RowsInBytes> {
    return this.run(placement, (client) => rowsInBytes(client, query))
  }

  private run<T>(placement: number | undefined, ask: (client: PoolClient) => Promise<T>): Promise<T> {
    return this.branches.run(placement, async (client) => {
      if (this.failed !== undefined) throw new FollowedFailure(this.failed.error)
      return this.within(ask(client))
    })
  }

  /** Fails with what the first statement failed with: what those behind it are told is of no use to anybody. */
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

  /** Whoever comes in the same turn, and while a connection is waited for, is taken along. */
  private begun(): Promise<PoolClient> {
    // What has ended because it took too long does not begin anew: nobody would end it then.
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
    // When one of these fails, so do the reads behind it.
    this.within(client.query(begin)).catch(() => undefined)
    // The point in time comes with the first statement that reads: by then no commit is under way, and none begins before the end.
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
    // The node that is away fails by itself whoever reads from it.
    if (prepared?.isUnsettled === true) await prepared.recover().catch(() => undefined)
    try {
      return await this.connections.reader(this.isNested)
    } catch (error) {
      this.leaveGathering()
      throw error
    } finally {
      // Also where there is none: whoever comes later tries anew.
      this.isBegun = true
    }
  }

  /** Only where placements have points in time of their own; with commits kept out, these are all the same one. */
  private beginFurther(): Promise<PoolClient> | undefined {
    if (!this.kind.isDistributed) return undefined
    const spare = this.connections.spareReader()
    return spare?.then(async (client) => {
      await this.begun()
      await this.locked?.catch(() => undefined)
      this.within(client.query(begin)).catch(() => undefined)
      return client
    })
  }

  /** A client that does not read its reply must not keep all commits waiting. The server ends it too, should this process hang. */
  private endAfter(lockingMs: number, client: PoolClient, locked: Promise<unknown>): void {
    this.within(client.query(`SET LOCAL idle_in_transaction_session_timeout = ${lockingMs + serverGraceMs}`)).catch(
      () => undefined,
    )
    const begun = () => {
      // It may have failed and ended before it had the lock.
      if (this.client === undefined) return
      this.timer = setTimeout(() => {
        this.failed ??= { error: new HeldTooLong(lockingMs) }
        this.leaveGathering()
        this.isBroken = true
        this.client = undefined
        client.release(true)
        for (const one of this.branches.takeFurther()) one.then((used) => used.release(true)).catch(() => undefined)
      }, lockingMs)
    }
    locked.then(begun, () => undefined)
  }

  /** No commit is under way then, and none is hidden. */
  private async recovered(client: PoolClient, locked: Promise<unknown>, prepared: PreparedTransactions): Promise<void> {
    try {
      await locked
      await prepared.recoverEverywhere()
    } catch (error) {
      client.release(true)
      throw error
    }
  }

  /** What is asked for before the last has left is answered. */
  private endWhenUnused(): void {
    if (this.readers > 0 || this.underWay > 0 || this.client === undefined) return
    const { client, isBroken } = this
    this.client = undefined
    const leaveGathering = (): void => this.leaveGathering()
    client.then(leaveGathering, leaveGathering)
    clearTimeout(this.timer)
    const end = (used: PoolClient): Promise<void> | void => (isBroken ? used.release(true) : endTransaction(used))
    // Commits are kept out until the further connections have ended.
    const further = this.branches.takeFurther().map((one) => one.then(end).catch(() => undefined))
    void Promise.all(further).then(() => client.then(end).catch(() => undefined))
  }
}

/** The statement that looks for placements does not know what is in the other table. */
function firstOf({ hasRoot }: Tables, first: number): number | undefined {
  return hasRoot && first === rootPlacement ? first : undefined
}

async function endTransaction(client: PoolClient): Promise<void> {
  try {
    await client.query('COMMIT')
    client.release()
  } catch {
    client.release(true)
  }
}

/** Hands out the transaction that is about to begin. */
export class ReadTransactions {
  private readonly connections: Connections
  private readonly kind: TransactionKind
  /** What is held by those who wait for nested ones must not keep these waiting. */
  private readonly gatherings = { plain: new Gathering(), nested: new Gathering() }
  private readonly next: { plain: ReadTransaction | undefined; nested: ReadTransaction | undefined } = {
    plain: undefined,
    nested: undefined,
  }

  constructor(connections: Connections, kind: TransactionKind) {
    this.connections = connections
    this.kind = kind
  }

  /** The caller leaves it when it is done. `isAlone`: what others read, and what fails them, must not end it. */
  join(isNested: boolean, isAlone: boolean): ReadTransaction {
    if (isAlone) return this.fresh(isNested)
    const kind = isNested ? 'nested' : 'plain'
    const next = this.next[kind]
    if (next?.join() === true) return next
    const fresh = this.fresh(isNested)
    this.next[kind] = fresh
    return fresh
  }

  private fresh(isNested: boolean): ReadTransaction {
    const gathering = this.gatherings[isNested ? 'nested' : 'plain']
    const fresh = new ReadTransaction(this.connections, this.kind, isNested, gathering)
    fresh.join()
    return fresh
  }
}
