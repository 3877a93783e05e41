/** A shared read-only transaction whose concurrent reads are combined into few statements. */
import type { Bytes, NamingEntries } from '../store.ts'
import { RowsInBytes } from './binary-rows.ts'
import type { Connections } from './connections.ts'
import { firstKeyRequests, joinKeys, type KeyRequest, keyRequest } from './key-requests.ts'
import { readKeys, valuesFrom } from './read-keys.ts'
import {
  answerSequentially,
  firstNamingRequests,
  type NamingPage,
  namingEntriesFrom,
  readNaming,
} from './read-naming.ts'
import { isPlain, type Page, type PlainPage, readPage, readPages } from './read-pages.ts'
import { type Gathering, SharedTransaction, TransactionPool } from './shared-transaction.ts'
import type { PageRows, SnapshotReads } from './snapshot-reads.ts'
import type { Tables } from './tables.ts'

const pagesMax = 32

interface PageRequest<P extends Page, R> {
  readonly page: P
  resolve(answer: R): void
  reject(error: unknown): void
}

type PlainRequest = PageRequest<PlainPage, PageRows>
type NamingRequest = PageRequest<NamingPage, NamingEntries>

class ReadTransaction implements SnapshotReads {
  private readonly tables: Tables
  private readonly transaction: SharedTransaction
  private keyRequests: KeyRequest[] = []
  private pageRequests: PlainRequest[] = []
  private namingRequests: NamingRequest[] = []
  private gathering: NodeJS.Immediate | undefined

  constructor(connections: Connections, tables: Tables, isNested: boolean, gathering: Gathering) {
    this.tables = tables
    this.transaction = new SharedTransaction({ gathering, connect: () => connections.reader(isNested) })
  }

  join(): boolean {
    return this.transaction.join()
  }

  leave(isBroken?: boolean): void {
    this.transaction.leave(isBroken)
  }

  read(keys: readonly Bytes[]): Promise<(Bytes | undefined)[]> {
    return this.gathered((answer) => this.keyRequests.push(keyRequest(keys, Number.POSITIVE_INFINITY, answer)))
  }

  readPage(page: Page): Promise<PageRows> {
    if (isPlain(page)) return this.gathered((answer) => this.pageRequests.push({ page, ...answer }))
    return this.pageOf(page)
  }

  readNaming(page: NamingPage): Promise<NamingEntries> {
    return this.gathered((answer) => this.namingRequests.push({ page, ...answer }))
  }

  /** Requests of one event loop turn share statements. */
  private gathered<R>(
    request: (answer: { resolve(answer: R): void; reject(error: unknown): void }) => void,
  ): Promise<R> {
    this.gathering ??= setImmediate(() => {
      this.gathering = undefined
      this.sendAll()
    })
    return this.transaction.during(new Promise<R>((resolve, reject) => request({ resolve, reject })))
  }

  private sendAll(): void {
    while (this.keyRequests.length > 0) {
      const requests = firstKeyRequests(this.keyRequests)
      this.keyRequests = this.keyRequests.slice(requests.length)
      answered(requests, this.sendKeys(requests))
    }
    while (this.pageRequests.length > 0) {
      const requests = this.pageRequests.splice(0, pagesMax)
      answered(requests, this.sendPages(requests))
    }
    while (this.namingRequests.length > 0) {
      const requests = firstNamingRequests(this.namingRequests)
      this.namingRequests = this.namingRequests.slice(requests.length)
      answered(requests, this.sendNaming(requests))
    }
  }

  private async sendKeys(requests: readonly KeyRequest[]): Promise<void> {
    const joined = joinKeys(requests, false)
    const { keys } = joined
    joined.resolve(valuesFrom(keys.length, await this.transaction.read(readKeys(this.tables, keys))))
  }

  private async sendPages(requests: readonly PlainRequest[]): Promise<void> {
    const [only] = requests
    if (only !== undefined && requests.length === 1) return only.resolve(await this.pageOf(only.page))
    const pages = requests.map(({ page }) => page)
    const rows = await this.transaction.read(readPages(this.tables.schema, pages))
    const byPage = requests.map(() => new RowsInBytes())
    for (let row = 0; row < rows.count; row++) byPage[rows.int4(row, 0) - 1]?.addFrom(rows, row)
    for (const [i, { resolve }] of requests.entries()) resolve({ rows: byPage[i] as RowsInBytes, first: 1 })
  }

  private async sendNaming(requests: readonly NamingRequest[]): Promise<void> {
    const pages = requests.map(({ page }) => page)
    const { entries } = namingEntriesFrom(
      this.tables,
      pages,
      await this.transaction.read(readNaming(this.tables, pages)),
    )
    await answerSequentially(
      requests.map(
        ({ resolve }, i) =>
          () =>
            resolve(entries[i] as NamingEntries),
      ),
    )
  }

  private async pageOf(page: Page): Promise<PageRows> {
    return { rows: await this.transaction.read(readPage(`${this.tables.schema}.kv`, page)), first: 0 }
  }
}

/** If the work fails, so do the requests. */
function answered(requests: readonly { reject(error: unknown): void }[], work: Promise<void>): void {
  work.catch((error) => {
    for (const { reject } of requests) reject(error)
  })
}

export function readTransactions(connections: Connections, tables: Tables): TransactionPool<SnapshotReads> {
  return new TransactionPool((isNested, gathering) => new ReadTransaction(connections, tables, isNested, gathering))
}
