/**
 * A transaction that only reads, for the snapshots that begin in the same turn: they see one moment, and what they ask for
 * at once goes in few statements over one connection. It ends with the last of them.
 */
import type { PoolClient, QueryArrayConfig } from 'pg'
import type { Bytes } from '../store.ts'
import { AskedKeys } from './asked-keys.ts'
import type { Connections } from './connections.ts'
import { FollowedFailure } from './failures.ts'
import { readKeys, valuesFrom } from './read-keys.ts'
import { isPlain, type Page, type PlainPage, readPage, readPages } from './read-pages.ts'

/** A statement waits for those before it on its connection, so that not too many should share one. */
const readersMax = 16

/** Pages that go in one statement. */
const pagesMax = 32

export type Row = readonly Buffer[]

interface AskedPage {
  readonly page: PlainPage
  resolve(rows: readonly Row[]): void
  reject(error: unknown): void
}

export interface TransactionKind {
  /** Statements are for one node each where that can be. */
  readonly isDistributed: boolean
  /** It keeps commits out. */
  readonly isLocking: boolean
}

export class ReadTransaction {
  private readonly connections: Connections
  private readonly kind: TransactionKind
  private readonly isNested: boolean
  private readonly askedKeys = new AskedKeys()
  private askedPages: AskedPage[] = []
  private client: Promise<PoolClient> | undefined
  private gathering: NodeJS.Immediate | undefined
  private readers = 0
  private underWay = 0
  private isBegun = false
  private isBroken = false
  /** What the first statement that failed has failed with: the transaction is over then. */
  private failed: { readonly error: unknown } | undefined

  constructor(connections: Connections, kind: TransactionKind, isNested: boolean) {
    this.connections = connections
    this.kind = kind
    this.isNested = isNested
  }

  /** False once its moment is fixed, or may be. */
  join(): boolean {
    if (this.isBegun || this.isBroken || this.readers >= readersMax) return false
    this.readers++
    return true
  }

  /** The bytes belong to the caller. */
  read(keys: readonly Bytes[]): Promise<(Bytes | undefined)[]> {
    if (this.kind.isDistributed) return this.counted(Promise.all(keys.map((key) => this.readOne(key))))
    this.gather()
    return this.counted(this.askedKeys.ask(keys))
  }

  /** Rows of key and value; of the key alone where only that is asked for. */
  readPage(page: Page): Promise<readonly Row[]> {
    if (this.kind.isDistributed || !isPlain(page))
      return this.counted(this.send(readPage(this.connections.address.schema, page)))
    this.gather()
    return this.counted(
      new Promise((resolve, reject) => this.askedPages.push({ page: page as PlainPage, resolve, reject })),
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
      while (!this.askedKeys.isEmpty) this.sendKeys()
      while (this.askedPages.length > 0) this.sendPages()
    })
  }

  /** By its placement alone, so that one node answers. */
  private async readOne(key: Bytes): Promise<Bytes | undefined> {
    const [row] = await this.send(readKeys(this.connections.address.schema, [key]))
    return row?.[1]
  }

  private sendKeys(): void {
    const { keys, resolve, reject } = this.askedKeys.take()
    this.send(readKeys(this.connections.address.schema, keys)).then((rows) => {
      resolve(valuesFrom(keys.length, rows))
    }, reject)
  }

  private sendPages(): void {
    const asked = this.askedPages.splice(0, pagesMax)
    const { schema } = this.connections.address
    const [only] = asked
    if (only !== undefined && asked.length === 1) {
      this.send(readPage(schema, only.page)).then(only.resolve, only.reject)
      return
    }
    const pages = readPages(
      schema,
      asked.map(({ page }) => page),
    )
    this.send(pages).then(
      (rows) => {
        const byPage: Row[][] = asked.map(() => [])
        for (const [position, key, value] of rows as unknown as readonly (readonly [number, Buffer, Buffer])[])
          byPage[position - 1]?.push([key, value])
        for (const [i, { resolve }] of asked.entries()) resolve(byPage[i] as Row[])
      },
      (error) => {
        for (const { reject } of asked) reject(error)
      },
    )
  }

  private async send(query: QueryArrayConfig<unknown[]>): Promise<readonly Row[]> {
    const client = await this.begun()
    const { rows } = await this.within(client.query<unknown[]>(query))
    return rows as unknown as Row[]
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
    this.client ??= this.begin()
    return this.client
  }

  private async begin(): Promise<PoolClient> {
    await new Promise(setImmediate)
    const client = await this.connections.reader(this.isNested).finally(() => {
      // Also where there is none: whoever comes later tries anew.
      this.isBegun = true
    })
    // When one of these fails, so do the reads behind it.
    this.within(client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')).catch(() => undefined)
    // The moment comes with the first statement that reads: by then no commit is under way, and none begins before the end.
    if (this.kind.isLocking) {
      const lock = `LOCK TABLE ${this.connections.address.schema}.catalog_lock IN SHARE MODE`
      this.within(client.query(lock)).catch(() => undefined)
    }
    return client
  }

  /** What is asked for before the last has left is answered. */
  private endWhenUnused(): void {
    if (this.readers > 0 || this.underWay > 0 || this.client === undefined) return
    const { client, isBroken } = this
    this.client = undefined
    client.then((used) => (isBroken ? used.release(true) : endTransaction(used))).catch(() => undefined)
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

/** Hands out the transaction that is about to begin. */
export class ReadTransactions {
  private readonly connections: Connections
  private readonly kind: TransactionKind
  private readonly next: { plain: ReadTransaction | undefined; nested: ReadTransaction | undefined } = {
    plain: undefined,
    nested: undefined,
  }

  constructor(connections: Connections, kind: TransactionKind) {
    this.connections = connections
    this.kind = kind
  }

  /** The caller leaves it when it is done. */
  join(isNested: boolean): ReadTransaction {
    const kind = isNested ? 'nested' : 'plain'
    const next = this.next[kind]
    if (next?.join() === true) return next
    const fresh = new ReadTransaction(this.connections, this.kind, isNested)
    fresh.join()
    this.next[kind] = fresh
    return fresh
  }
}
